/**
 * The client's tokens against a server whose responses a test delays: one refresh for all waiting requests, and no refresh that
 * undoes a later sign-in or sign-out.
 */
import { createServer } from 'node:http';
import t, { type Test } from 'tap';
import { createClient, type SavedSession, type SessionState } from '../../client/client.ts';

const HOLDER: SavedSession = { refreshToken: 'r1', user: { id: 'u1' } };

/** Accepts the newest token only; counts requests, and renews when allowed. */
async function stage(t: Test) {
  const requested: string[] = [];
  /** Requests that came without a credential. */
  const anonymous: string[] = [];
  let newest = 0;
  let gate: Promise<void> = Promise.resolve();
  let response: () => { status: number; body: unknown } = () => ({ status: 200, body: tokens() });
  const tokens = () => ({
    accessToken: `a${++newest}`,
    expiresIn: 600,
    refreshToken: `r${newest + 1}`,
    user: { id: 'u1' },
  });
  const server = createServer(async (request, reply) => {
    let text = '';
    for await (const chunk of request) text += chunk;
    const { url = '' } = request;
    if (!url.startsWith('/auth/') && request.headers.authorization === undefined) anonymous.push(url);
    const send = (status: number, body: unknown) => reply.writeHead(status).end(JSON.stringify(body));
    if (url === '/auth/refresh') {
      requested.push(JSON.parse(text).refreshToken);
      await gate;
      const { status, body } = response();
      send(status, body);
    } else if (url === '/auth/reauthenticate') send(401, { status: 401, code: 'invalid-credentials', title: 'Wrong' });
    else if (url.startsWith('/auth/')) send(200, tokens());
    else if (request.headers.authorization === `Bearer a${newest}`) send(200, { id: 'x' });
    else send(401, { status: 401, code: 'invalid-token', title: 'No' });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.teardown(() => server.close());
  const address = server.address();
  return {
    url: `http://127.0.0.1:${typeof address === 'object' ? address?.port : 0}`,
    requested,
    anonymous,
    /** Rejects all earlier tokens from now on. */
    outdate: () => {
      newest += 1;
    },
    responseWith: (status: number, body: unknown) => {
      response = () => ({ status, body });
    },
    hold() {
      const { promise, resolve } = Promise.withResolvers<void>();
      gate = promise;
      return resolve;
    },
    async refreshing() {
      while (requested.length === 0) await new Promise((resolve) => setImmediate(resolve));
    },
  };
}

const kept = (saved: SavedSession | null) => ({
  saved,
  load(): SavedSession | null {
    return this.saved;
  },
  save(next: SavedSession | null): void {
    this.saved = next;
  },
});

t.test('Requests that are rejected together wait for one refresh.', async (t) => {
  const server = await stage(t);
  const todos = createClient(server.url, { session: kept(HOLDER) }).collection('todos');
  await Promise.all([1, 2, 3].map(() => todos.get('x')));
  t.strictSame(server.requested, ['r1']);
  server.outdate();
  await Promise.all(Array.from({ length: 12 }, () => todos.get('x')));
  t.equal(server.requested.length, 2);
});

t.test('A token that is rejected twice is not refreshed a second time.', async (t) => {
  const server = await stage(t);
  server.responseWith(200, { accessToken: 'nonsense', expiresIn: 600, refreshToken: 'r2', user: { id: 'u1' } });
  const todos = createClient(server.url, { session: kept(HOLDER) }).collection('todos');
  await t.rejects(todos.get('x'), { code: 'invalid-token' });
  t.equal(server.requested.length, 2, 'one initially, one after the rejection');
});

t.test('A wrong password is sent once: a second attempt would count as another guess.', async (t) => {
  const server = await stage(t);
  const client = createClient(server.url, { session: kept(HOLDER) });
  await t.rejects(client.request('POST', '/auth/reauthenticate', { body: { password: 'x' } }), {
    code: 'invalid-credentials',
  });
  t.strictSame(server.requested, ['r1'], 'the token is not renewed for it');
});

t.test('A refresh that ends late does not undo a sign-in.', async (t) => {
  const server = await stage(t);
  const store = kept(HOLDER);
  const client = createClient(server.url, { session: store });
  const release = server.hold();
  const late = client.collection('todos').get('x');
  await server.refreshing();
  await client.signIn('ann', 'a long enough secret');
  const signedIn = store.saved;
  server.responseWith(401, { status: 401, code: 'invalid-token', title: 'Ended' });
  release();
  await late;
  t.equal(client.user?.id, 'u1', 'the previous session may end, this one continues');
  t.equal(store.saved, signedIn);
});

t.test('Pages that share a store use the newest refresh token.', async (t) => {
  const server = await stage(t);
  const store = kept(HOLDER);
  const [one, other] = [createClient(server.url, { session: store }), createClient(server.url, { session: store })];
  await one.collection('todos').get('x');
  await other.collection('todos').get('x');
  t.strictSame(server.requested, ['r1', 'r2'], 'a token of the past would end the session');
  store.save(null);
  server.outdate();
  await t.rejects(other.collection('todos').get('x'), { code: 'invalid-token' });
  t.equal(other.user, null, 'who signs out on one page is signed out on the other');
});

t.test('A session that the server ended is deleted, but not one whose server is unreachable.', async (t) => {
  const server = await stage(t);
  const client = createClient(server.url, { session: kept(HOLDER) });
  server.responseWith(502, 'a page of a proxy');
  await t.rejects(client.collection('todos').get('x'), { code: 'invalid-response', status: 502 });
  t.equal(client.user?.id, 'u1');
  server.responseWith(401, { status: 401, code: 'invalid-token', title: 'Ended' });
  await t.rejects(client.collection('todos').get('x'), { code: 'invalid-token' });
  t.equal(client.user, null);
});

t.test(
  'After a session ended elsewhere nothing is sent without a credential until the next sign-in or sign-out.',
  async (t) => {
    const server = await stage(t);
    const reported: SessionState[] = [];
    const client = createClient(server.url, { session: kept(HOLDER), onSession: (state) => reported.push(state) });
    const todos = client.collection('todos');
    await todos.get('x');
    server.outdate();
    server.responseWith(401, { status: 401, code: 'invalid-token', title: 'Ended' });
    const writes: (() => Promise<unknown>)[] = [
      () => todos.create({ id: 'x' }),
      () => todos.patch('x', {}),
      () => todos.remove('x'),
    ];
    for (const write of writes) {
      await t.rejects(write, { code: 'invalid-token' });
    }
    t.match(reported, [{ user: null, problem: { code: 'invalid-token' } }], 'notified once');
    t.equal(server.requested.length, 2, 'a session that has ended is not refreshed again');
    t.strictSame(server.anonymous, []);
    await client.signOut();
    await t.rejects(todos.get('x'), { code: 'invalid-token' });
    t.strictSame(server.anonymous, ['/api/todos/x'], 'requests after signing out are anonymous');
    await client.signIn('ann', 'a long enough secret');
    await todos.get('x');
    t.match(reported.slice(1), [
      { user: null, problem: null },
      { user: { id: 'u1' }, problem: null },
    ]);
  },
);

t.test('A request that waits for a refresh is not sent if the user signs out meanwhile.', async (t) => {
  const server = await stage(t);
  const client = createClient(server.url, { session: kept(HOLDER) });
  const release = server.hold();
  const late = client.collection('todos').create({ id: 'x' });
  await server.refreshing();
  const out = client.signOut();
  release();
  await out;
  // The sign-out waits for the same refresh, and may come after the request.
  await late.catch((error: unknown) => t.match(error, { status: 401 }));
  t.strictSame(server.anonymous, []);
});

t.test('A session that another page ended also ends here.', async (t) => {
  const server = await stage(t);
  const store = kept(HOLDER);
  const reported: SessionState[] = [];
  const client = createClient(server.url, { session: store, onSession: (state) => reported.push(state) });
  await client.collection('todos').get('x');
  store.save(null);
  server.outdate();
  for (const _ of [1, 2]) await t.rejects(client.collection('todos').get('x'), { code: 'invalid-token' });
  t.match(reported, [{ user: null, problem: { message: /another page/ } }]);
  t.strictSame(server.anonymous, []);
});
