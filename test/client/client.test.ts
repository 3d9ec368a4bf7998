/** The client against the real server: documents, pages, errors, live queries, files, and broken sockets. */
import t from 'tap';
import {
  type Client,
  createClient,
  type LiveState,
  MillraceError,
  type SavedSession,
  type SessionState,
} from '../../client/client.ts';
import { buildTestApp } from '../helpers/app.ts';
import { breakable } from '../helpers/network/breakable.ts';

interface Todo {
  readonly title: string;
  readonly done?: boolean;
  readonly points?: number;
}

/** The states passed to a listener, and a wait for a matching one. */
function follow<T>() {
  const states: LiveState<T>[] = [];
  let wake = () => {};
  return {
    states,
    report: (state: LiveState<T>) => {
      states.push(state);
      wake();
    },
    async until(requested: (state: LiveState<T>) => boolean): Promise<LiveState<T>> {
      for (;;) {
        const last = states.at(-1);
        if (last !== undefined && requested(last)) return last;
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
    },
  };
}

const titles = ({ documents }: LiveState<{ title: string }>) => documents.map(({ title }) => title).join();

t.test('The client works against the real server.', async (t) => {
  const { app, services } = await buildTestApp(t);
  const url = await app.listen({ host: '127.0.0.1', port: 0 });
  const client: Client = createClient(`${url}/`);
  t.teardown(() => client.close());

  await t.test('The client creates, reads, changes and deletes documents.', async (t) => {
    const todos = client.collection<Todo>('todos');
    await t.rejects(todos.list(), { code: 'resource-not-available', status: 404 });
    const created = await todos.create({ title: 'Buy milk' });
    t.match(created, { title: 'Buy milk', _meta: { revision: 1 } });
    t.strictSame(await todos.get(created.id), created);
    t.match(await todos.patch(created.id, { done: true }), { title: 'Buy milk', done: true, _meta: { revision: 2 } });
    await t.rejects(todos.replace(created.id, { title: 'x' }, { ifRevision: 1 }), { code: 'precondition-failed' });
    t.match(await todos.replace(created.id, { title: 'Buy tea' }, { ifRevision: 2 }), { title: 'Buy tea' });
    await todos.remove(created.id);
    const error = await todos.get(created.id).catch((thrown: unknown) => thrown);
    t.ok(error instanceof MillraceError);
    t.match(error, { code: 'document-not-found', problem: { status: 404 } });
    // The second may find the first one running.
    const once = () =>
      todos.create({ title: 'once' }, { idempotencyKey: 'k1' }).catch((thrown: unknown) => {
        if (!(thrown instanceof MillraceError) || thrown.code !== 'idempotency-key-in-use') throw thrown;
        return null;
      });
    const ids = (await Promise.all([once(), once()])).flatMap((created) => created?.id ?? []);
    t.equal(new Set(ids).size, 1, 'a key makes a create happen once');
  });

  await t.test('The client reads lists in pages.', async (t) => {
    const pages = client.collection<{ n: number }>('pages');
    for (const n of [1, 2, 3, 4, 5]) await pages.create({ n });
    const first = await pages.list({ filter: { n: { $gt: 1 } }, sort: '-n', limit: 3, fields: ['n'] });
    t.strictSame(
      first.documents.map(({ n }) => n),
      [5, 4, 3],
    );
    const query = { filter: { n: { $gt: 1 } }, sort: '-n', limit: 3, fields: ['n'], cursor: first.next ?? '' };
    const second = await pages.list(query);
    t.strictSame(
      second.documents.map(({ n }) => n),
      [2],
    );
    t.equal(second.next, null);
  });

  await t.test('The client uploads a file.', async (t) => {
    const file = await client.upload(new Blob(['hello']), 'hello.txt', { about: 'greeting' });
    t.match(file, { name: 'hello.txt', size: 5 });
    t.equal(await (await fetch(file.url.replace(/^https?:\/\/[^/]+/, url))).text(), 'hello');
  });

  await t.test('A live query follows all changes, in order.', async (t) => {
    const board = client.collection<Todo>('board');
    const seen = follow<Todo>();
    const stop = board.live({ filter: { done: { $ne: true } }, sort: '-points', limit: 3 }, seen.report);
    t.strictSame((await seen.until(({ status }) => status === 'live')).documents, []);
    for (const points of [1, 5, 3, 4]) await board.create({ title: `p${points}`, points });
    await seen.until((state) => titles(state) === 'p5,p4,p3');
    await services.mongo.data.collection<Todo>('board').updateOne({ title: 'p4' }, { $set: { done: true } });
    await seen.until((state) => titles(state) === 'p5,p3,p1');
    const reported = seen.states.length;
    stop();
    await board.create({ title: 'p9', points: 9 });
    t.equal(seen.states.length, reported, 'no listener is called after the end');
  });

  await t.test('Changes of one transaction reach each live query, all at once.', async (t) => {
    const stock = client.collection<Todo>('stock');
    const [all, best] = [follow<Todo>(), follow<Todo>()];
    const stops = [stock.live({ sort: 'title' }, all.report), stock.live({ sort: '-points', limit: 1 }, best.report)];
    await Promise.all([all, best].map(({ until }) => until(({ status }) => status === 'live')));
    await stock.create({ title: 'p0', points: 0 });
    await all.until((state) => titles(state) === 'p0');
    const reported = all.states.length;
    const operations = [1, 2].map((points) => ({
      method: 'POST',
      path: '/api/stock',
      body: { title: `p${points}`, points },
    }));
    const response = await app.inject({ method: 'POST', url: '/batch', payload: { operations } });
    t.equal(response.statusCode, 200, response.body);
    await all.until((state) => titles(state) === 'p0,p1,p2');
    await best.until((state) => titles(state) === 'p2');
    t.equal(all.states.length, reported + 1, 'drawn once');
    for (const stop of stops) stop();
  });

  await t.test('Two live queries share a socket, and an invalid one ends alone.', async (t) => {
    const shared = client.collection<Todo>('shared');
    const [good, bad] = [follow<Todo>(), follow<Todo>()];
    const stop = shared.live({}, good.report);
    shared.live({ filter: { $where: 'true' } }, bad.report);
    const ended = await bad.until(({ status }) => status === 'ended');
    t.equal(ended.problem?.status, 400);
    await shared.create({ title: 'still here' });
    await good.until((state) => titles(state) === 'still here');
    stop();
  });
});

t.test('A live query continues after a disconnect.', async (t) => {
  const { app } = await buildTestApp(t);
  const url = await app.listen({ host: '127.0.0.1', port: 0 });
  const line = await breakable(t, Number(new URL(url).port));
  const client = createClient(`http://127.0.0.1:${line.port}`);
  const direct = createClient(url).collection<Todo>('news');
  t.teardown(() => client.close());
  const seen = follow<Todo>();
  client.collection<Todo>('news').live({}, seen.report);
  await seen.until(({ status }) => status === 'live');
  await direct.create({ title: 'before' });
  await seen.until((state) => titles(state) === 'before');

  line.cut();
  const offline = await seen.until(({ status }) => status === 'offline');
  t.equal(titles(offline), 'before', 'what was there stays on the screen');
  await direct.create({ title: 'meanwhile' });
  line.fix();
  await seen.until((state) => state.status === 'live' && titles(state) === 'before,meanwhile');
  await direct.create({ title: 'after' });
  await seen.until((state) => titles(state) === 'before,meanwhile,after');
});

t.test('A live query starts when an unavailable server is up.', async (t) => {
  const { app } = await buildTestApp(t);
  const url = await app.listen({ host: '127.0.0.1', port: 0 });
  const line = await breakable(t, Number(new URL(url).port));
  line.cut();
  const client = createClient(`http://127.0.0.1:${line.port}`);
  t.teardown(() => client.close());
  const seen = follow<Todo>();
  client.collection<Todo>('later').live({}, seen.report);
  t.strictSame(await seen.until(({ status }) => status === 'offline'), {
    status: 'offline',
    documents: [],
    problem: null,
  });
  line.fix();
  await seen.until(({ status }) => status === 'live');
});

t.test('The client signs in.', async (t) => {
  const { app } = await buildTestApp(t);
  const url = await app.listen({ host: '127.0.0.1', port: 0 });
  let kept: SavedSession | null = null;
  const session = {
    load: () => kept,
    save: (saved: SavedSession | null) => {
      kept = saved;
    },
  };
  const client = createClient(url, { session });
  t.equal(client.user, null);
  const user = await client.register({ username: 'ann', password: 'a long enough secret' });
  t.equal(client.user?.id, user.id);
  const note = await client.collection<Todo>('notes').create({ title: 'mine' });
  t.equal(note._meta.createdBy, user.id);

  const later = createClient(url, { session });
  t.equal(later.user?.id, user.id, 'a stored session continues');
  t.match(await later.collection<Todo>('notes').create({ title: 'later' }), { _meta: { createdBy: user.id } });

  await later.signOut();
  t.equal(later.user, null);
  t.equal(kept, null);
  t.match(await later.collection<Todo>('notes').create({ title: 'nobody' }), { _meta: { createdBy: null } });
  await t.rejects(later.signIn('ann', 'a wrong secret'), { code: 'invalid-credentials' });
  t.equal((await later.signIn('ann', 'a long enough secret')).id, user.id);
});

t.test('A session that is revoked elsewhere ends in the client.', async (t) => {
  const { app, services } = await buildTestApp(t);
  const url = await app.listen({ host: '127.0.0.1', port: 0 });
  const reported: SessionState[] = [];
  const client = createClient(url, { onSession: (state) => reported.push(state) });
  t.teardown(() => client.close());
  await client.register({ username: 'ann', password: 'a long enough secret' });
  const notes = client.collection<Todo>('notes');
  await notes.create({ title: 'mine' });
  const seen = follow<Todo>();
  notes.live({}, seen.report);
  await seen.until((state) => titles(state) === 'mine');

  const login = { username: 'ann', password: 'a long enough secret' };
  const { accessToken } = (await app.inject({ method: 'POST', url: '/auth/login', payload: login })).json();
  const headers = { authorization: `Bearer ${accessToken}` };
  const sessions = (await app.inject({ url: '/auth/sessions', headers })).json();
  const { id } = sessions.find(({ current }: { current: boolean }) => !current);
  const gone = await app.inject({ method: 'DELETE', url: `/auth/sessions/${id}`, headers });
  t.equal(gone.statusCode, 204, gone.body);

  const ended = await seen.until(({ status }) => status === 'ended');
  t.match(ended, { documents: [], problem: { status: 401 } }, 'an ended live query has no documents');
  await t.rejects(notes.create({ title: 'without a session' }), { code: 'invalid-token' });
  t.equal(await services.mongo.data.collection('notes').countDocuments({ '_meta.createdBy': null }), 0);
  t.match(reported.at(-1), { user: null, problem: { status: 401 } });
  const late = follow<Todo>();
  notes.live({}, late.report);
  t.match(await late.until(({ status }) => status === 'ended'), { documents: [], problem: { status: 401 } });
});
