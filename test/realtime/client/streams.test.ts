/** Server-Sent Events on the URL of a list: the same subscription, resuming with Last-Event-ID, tickets. */
import t from 'tap';
import { buildTestApp } from '../../helpers/app.ts';
import { markLog } from '../../helpers/events/log-rows.ts';
import { openStream } from '../../helpers/live/event-stream.ts';
import { until } from '../../helpers/until.ts';
import { type Account, ask, signInAdmin, signUp } from '../../helpers/users.ts';

t.test('lists as event streams', async (t) => {
  const { app, services } = await buildTestApp(t);
  const url = await app.listen({ host: '127.0.0.1', port: 0 });
  const create = (body: object) => app.inject({ method: 'POST', url: '/api/todos', payload: body });
  const patch = (id: string, body: object) => app.inject({ method: 'PATCH', url: `/api/todos/${id}`, payload: body });
  await create([
    { id: 'a', title: 'A', done: false },
    { id: 'b', title: 'B', done: true },
  ]);

  await t.test('a list continues as a stream', async (t) => {
    const stream = await openStream(t, `${url}/api/todos?done=false&sort=-title`);
    t.equal(stream.response.status, 200);
    t.match(stream.response.headers.get('content-type'), /^text\/event-stream/);
    t.ok(stream.response.headers.get('x-request-id'));
    t.match(stream.response.headers.get('cache-control'), 'no-transform', 'proxies do not hold it back to compress it');
    const live = await stream.event('live');
    t.equal(live.id, live.data['position']);
    t.match(
      stream.events.map(({ event }) => event),
      ['subscribed', 'snapshot', 'live'],
    );
    t.match(stream.events[1]?.data, { documents: [{ id: 'a' }], sortKey: [['A', 'a']], last: true });
    t.equal(stream.events[1]?.id, stream.events[1]?.data['position']);
    await create({ id: 'c', title: 'C', done: false });
    const change = await stream.event('change');
    t.match(change.data, { op: 'enter', documentId: 'c', document: { title: 'C' }, sortKey: ['C', 'c'] });
    t.equal(change.id, change.data['event']);
    t.notOk('id' in change.data);
    stream.close();
    const cut = await openStream(t, `${url}/api/todos?done=false&sort=-title&fields=title,-id`);
    await cut.event('live');
    t.strictSame(cut.events[1]?.data['documents'], [
      { id: 'c', title: 'C' },
      { id: 'a', title: 'A' },
    ]);
    cut.close();

    await patch('c', { title: 'C2' });
    await patch('b', { title: 'B2' });
    // What the log has when the stream begins comes before `live`, and all else after it.
    await markLog(app, services.events.tail);
    const back = await openStream(t, `${url}/api/todos?done=false&sort=-title`, { 'last-event-id': change.id ?? '' });
    await back.event('live');
    t.match(
      back.events.map(({ event }) => event),
      ['subscribed', 'change', 'live'],
    );
    t.match(back.events[0]?.data, { from: 'resume' });
    t.match(back.events[1]?.data, { op: 'update', documentId: 'c', changed: ['title'] });
  });

  await t.test('a stream with an unusable position restarts', async (t) => {
    const stream = await openStream(t, `${url}/api/todos?since=99-1`);
    t.match((await stream.event('reset')).data, { reason: 'position-unknown' });
    await stream.event('live');
    t.match((await stream.event('snapshot')).data['documents'], [{ id: 'a' }, { id: 'b' }, { id: 'c' }]);
  });

  await t.test('a transaction is one event of a stream', async (t) => {
    const stream = await openStream(t, `${url}/api/pairs`);
    await stream.event('live');
    await app.inject({ method: 'POST', url: '/api/pairs', payload: { id: 'first' } });
    await app.inject({ method: 'POST', url: '/api/pairs', payload: [{ id: 'x' }, { id: 'y' }] });
    const both = await stream.event('transaction');
    t.match(both.data['changes'], [
      { op: 'enter', documentId: 'x' },
      { op: 'enter', documentId: 'y' },
    ]);
    t.equal(both.id, both.data['event']);
  });

  const refusals = [
    ['?cursor=abc&limit=2', 'unknown-parameter'],
    ['?count=exact', 'unknown-parameter'],
    ['?since=abc', 'invalid-parameter'],
    ['?since=', 'invalid-parameter'],
    ['?limit=0', 'invalid-parameter'],
    ['?title[what]=1', 'unknown-operator'],
  ] as const;
  for (const [query, code] of refusals) {
    await t.test(`${query} is rejected before the stream begins`, async (t) => {
      const { response } = await openStream(t, `${url}/api/todos${query}`);
      t.equal(response.status, 400);
      t.match(response.headers.get('content-type'), /problem\+json/);
      t.match(response.statusText, /Bad Request/, code);
    });
  }

  await t.test('a server that closes ends its streams', async (t) => {
    const stream = await openStream(t, `${url}/api/todos`);
    await stream.event('live');
    await app.close();
    t.match((await stream.event('bye')).data, { code: 4501 });
  });
});

t.test('tickets open streams', async (t) => {
  const owner = { username: 'ann@example.com', password: 'correct horse battery staple 9' };
  const { app, services } = await buildTestApp(t);
  const url = await app.listen({ host: '127.0.0.1', port: 0 });
  const signedUp = await app.inject({
    method: 'POST',
    url: '/auth/register',
    payload: { username: 'ann', password: owner.password },
  });
  t.equal(signedUp.statusCode, 201, signedUp.body);
  const authorization = `Bearer ${signedUp.json().accessToken}`;
  const response = await app.inject({ method: 'POST', url: '/auth/ticket', headers: { authorization } });
  t.equal(response.statusCode, 200, response.body);
  const { ticket } = response.json();

  const first = await openStream(t, `${url}/api/notes?ticket=${ticket}`);
  await first.event('live');
  const cookie = first.response.headers.get('set-cookie') ?? '';
  t.match(cookie, /^millrace-stream=[^;]+; Path=\/api\/notes; Max-Age=86400; HttpOnly; SameSite=Strict$/);
  const [pass = ''] = cookie.split(';');

  const again = await openStream(t, `${url}/api/notes?ticket=${ticket}`);
  t.equal(again.response.status, 401, 'a ticket works once');
  const back = await openStream(t, `${url}/api/notes?ticket=${ticket}`, { cookie: pass });
  t.equal(back.response.status, 200, 'with the cookie EventSource reconnects');
  const foreign = await openStream(t, `${url}/api/notes?ticket=${'x'.repeat(43)}`, { cookie: pass });
  t.equal(foreign.response.status, 401, 'which belongs to its ticket');

  await app.inject({ method: 'POST', url: '/auth/logout', headers: { authorization } });
  await first.event('unsubscribed');
  const gone = await openStream(t, `${url}/api/notes?ticket=${ticket}`, { cookie: pass });
  t.equal(gone.response.status, 401, 'and ends with the session');
  t.ok(services);
});

t.test('a page of another origin reconnects with the last event id, as long as its session or key lives', async (t) => {
  const { app, services } = await buildTestApp(t);
  const url = await app.listen({ host: '127.0.0.1', port: 0 });
  const origin = 'http://localhost:5173';
  const ticketOf = async (user: Pick<Account, 'headers'>) =>
    (await ask(app, 'POST /auth/ticket', undefined, user)).json().ticket;
  const follow = async (
    ticket: string,
    id?: string,
    more: Record<string, string | undefined> = {},
    path = '/api/notes',
  ) => {
    const sent = { origin, ...(id === undefined ? {} : { 'last-event-id': id }), ...more };
    const headers = Object.entries(sent).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]]));
    return openStream(t, `${url}${path}?ticket=${ticket}`, Object.fromEntries(headers));
  };
  const account = await signUp(app, 'bob');
  const ticket = await ticketOf(account);
  let stream = await follow(ticket);
  t.equal(stream.response.headers.get('access-control-allow-origin'), origin);
  t.equal(stream.response.headers.get('set-cookie'), null, 'a cookie would not be sent from there');
  await until(() => stream.lastEventId !== '', 'the pass is there before the first event');
  const [first = ''] = stream.ids;
  t.match(first, /^~/);
  await stream.event('live');
  for (let n = 1; n <= 3; n++) {
    stream.close();
    await app.inject({ method: 'POST', url: '/api/notes', payload: { id: `n${n}` } });
    const [position] = stream.lastEventId.split('~', 1);
    stream = await follow(ticket, stream.lastEventId);
    t.equal(stream.response.status, 200);
    const change = await stream.event('change', ({ data }) => data['documentId'] === `n${n}`);
    t.equal(stream.ids[0]?.split('~', 1)[0], position, 'a second cut before the first event loses no position');
    t.match(change.id, /^\d+-\d+~/);
    t.equal(stream.events.filter(({ event }) => event === 'snapshot').length, 0, 'it continues where it was cut');
  }
  const last = stream.lastEventId;
  t.equal((await follow(ticket, first)).response.status, 200, 'also when it was cut before the first event');
  const kept = await openStream(t, `${url}/api/notes?since=${encodeURIComponent(stream.ids[1] ?? '')}`);
  await kept.event('live');
  t.equal(kept.events.filter(({ event }) => event === 'snapshot').length, 0, 'an id is also good for since');
  const refused: [string, Promise<{ response: Response }>][] = [
    ['without a pass', follow(ticket)],
    ['from another origin', follow(ticket, last, { origin: 'http://localhost:5174' })],
    ['from no origin', follow(ticket, last, { origin: undefined })],
    ['at another path', follow(ticket, last, {}, '/api/others')],
    ['with another ticket', follow('x'.repeat(43), last)],
    ['with a changed pass', follow(ticket, last.replace(/.{3}$/, 'xxx'))],
    ['with the pass of nothing', follow(ticket, '1-1~e30.x')],
  ];
  for (const [what, opened] of refused) t.equal((await opened).response.status, 401, what);
  await ask(app, 'POST /auth/logout', undefined, account);
  await stream.event('unsubscribed');
  t.equal((await follow(ticket, last)).response.status, 401, 'it ends with the session');

  const boss = await signInAdmin(app, services);
  const created = (await ask(app, 'POST /admin/keys', { name: 'k', roles: [] }, boss)).json();
  const byKey = await ticketOf({ headers: { authorization: `Bearer ${created.key}` } });
  const ofKey = await follow(byKey);
  await ofKey.event('live');
  t.equal((await follow(byKey, ofKey.lastEventId)).response.status, 200);
  await ask(app, `DELETE /admin/keys/${created.id}`, undefined, boss);
  t.equal((await follow(byKey, ofKey.lastEventId)).response.status, 401, 'or with its key');

  const live = await follow(await ticketOf(boss), undefined, {}, '/admin/runs/live');
  await until(() => live.lastEventId !== '', 'streams of runs have a pass');
  const again = new URL(live.response.url);
  const resumed = await openStream(t, again.href, { origin, 'last-event-id': live.lastEventId });
  t.equal(resumed.response.status, 200);
});

t.test('a ticket opens only streams and sockets', async (t) => {
  const { app } = await buildTestApp(t);
  const url = await app.listen({ host: '127.0.0.1', port: 0 });
  const user = await signUp(app, 'ann');
  const { ticket } = (await ask(app, 'POST /auth/ticket', undefined, user)).json();
  const accept = { accept: 'text/event-stream' };
  for (const path of ['/auth/me', '/auth/sessions', '/admin/users', '/files', '/events', '/api/notes/a', '/nothing']) {
    const response = await app.inject({ url: `${path}?ticket=${ticket}`, headers: accept });
    t.ok(response.statusCode >= 400, `${path} is rejected`);
    t.notOk(response.headers['set-cookie'], `${path} sets no cookie`);
  }
  for (const [name, request] of [
    ['a list that is no stream', { url: `/api/notes?ticket=${ticket}` }],
    ['a write', { method: 'POST', url: `/api/notes?ticket=${ticket}`, headers: accept, payload: {} }],
    ['the head of a stream', { method: 'HEAD', url: `/api/notes?ticket=${ticket}`, headers: accept }],
  ] as const) {
    const response = await app.inject(request);
    t.ok(response.statusCode >= 400, `${name} is rejected`);
    t.notOk(response.headers['set-cookie'], `${name} sets no cookie`);
  }
  const stream = await openStream(t, `${url}/api/notes?ticket=${ticket}`);
  t.equal(stream.response.status, 200, 'the ticket was not used up');
});

t.test('the path of a stream is escaped in its cookie', async (t) => {
  const { app } = await buildTestApp(t);
  const user = await signUp(app, 'ann');
  const { ticket } = (await ask(app, 'POST /auth/ticket', undefined, user)).json();
  const url = `/api/notes;Domain=example.org;Max-Age=9?ticket=${ticket}`;
  const response = await app.inject({ url, headers: { accept: 'text/event-stream' } });
  t.equal(response.json().code, 'invalid-collection-name');
  const attributes = String(response.headers['set-cookie'] ?? '').split('; ');
  t.match(attributes.slice(1).sort(), [
    'HttpOnly',
    'Max-Age=86400',
    'Path=/api/notes%3BDomain=example.org%3BMax-Age=9',
    'SameSite=Strict',
  ]);
});

t.test('a session that ends during the authentication of its stream ends the stream', async (t) => {
  const { app, services } = await buildTestApp(t);
  const { authenticator } = services.auth;
  const url = await app.listen({ host: '127.0.0.1', port: 0 });
  const user = await signUp(app, 'ann');
  const { ticket } = (await ask(app, 'POST /auth/ticket', undefined, user)).json();
  const enterStream = authenticator.openStream.bind(authenticator);
  authenticator.openStream = async (use) => {
    const entered = await enterStream(use);
    t.equal((await ask(app, 'POST /auth/logout', undefined, user)).statusCode, 204);
    return entered;
  };
  const stream = await openStream(t, `${url}/api/notes?ticket=${ticket}`);
  t.equal(stream.response.status, 200);
  t.match((await stream.event('unsubscribed')).data, { retryable: false });
});
