/** The feeds over HTTP: who changed what, from a position on, with waiting, and the errors of invalid positions. */
import t from 'tap';
import { buildTestApp } from '../helpers/app.ts';
import { openSocket } from '../helpers/live/socket.ts';
import { until } from '../helpers/until.ts';

const { app, services } = await buildTestApp(t);
await until(() => services.events.recorder.state.status === 'recording', 'it records');

const get = async (url: string) => {
  const reply = await app.inject({ method: 'GET', url });
  return { status: reply.statusCode, headers: reply.headers, body: reply.json() };
};
const write = async (method: 'POST' | 'PATCH' | 'DELETE', url: string, payload?: object) => {
  const reply = await app.inject({ method, url, ...(payload ? { payload } : {}) });
  t.ok(reply.statusCode < 300, `${method} ${url} ${reply.statusCode}`);
  return reply;
};
const foreign = services.mongo.data.collection<{ _id: string; n?: number }>('todos');
const now = async (): Promise<string> => (await get('/events')).body.position;

t.test('changes by clients and others are events with states, authors and changed fields', async (t) => {
  const since = await now();
  await write('POST', '/api/todos', { id: 'a', title: 'one' });
  await write('PATCH', '/api/todos/a', { title: 'two' });
  await foreign.updateOne({ _id: 'a' }, { $set: { n: 1 } });
  await write('DELETE', '/api/todos/a');
  await foreign.insertOne({ _id: 'b' });
  await foreign.deleteOne({ _id: 'b' });
  await until(async () => (await get(`/events?since=${since}`)).body.events.length >= 6, 'all arrived');
  const { events, position } = (await get(`/events?since=${since}`)).body;
  const short = events.map((one: Record<string, unknown>) => [
    one['type'],
    one['documentId'],
    one['revision'],
    one['changed'],
    one['request'] !== null,
  ]);
  t.same(short, [
    ['todos.created', 'a', 1, null, true],
    ['todos.updated', 'a', 2, ['title'], true],
    ['todos.updated', 'a', 2, ['n'], false],
    ['todos.deleted', 'a', 2, null, true],
    ['todos.created', 'b', 0, null, false],
    ['todos.deleted', 'b', 0, null, false],
  ]);
  t.match(events[1], { data: { id: 'a', title: 'two' }, before: { id: 'a', title: 'one' } });
  t.same((await get(`/api/todos/_changes?since=${since}`)).body.changes, events);
  t.same((await get(`/api/others/_changes?since=${since}`)).body.changes, []);
  t.same((await get(`/events?since=${since}&types=*.deleted`)).body.events.length, 2);
  const page = (await get(`/events?since=${since}&limit=2`)).body;
  t.same(page.events, events.slice(0, 2));
  t.same((await get(`/events?since=${page.position}`)).body.events, events.slice(2));
  t.same((await get(`/events?since=${position}`)).body.events, []);
});

t.test('events of all collections are filtered in the form that readers see', async (t) => {
  const since = await now();
  for (const n of [1, 2, 3]) await write('POST', '/api/numbers', { id: `n${n}`, n });
  const { headers } = await write('PATCH', '/api/numbers/n3', { n: 4 });
  await until(async () => (await get(`/events?since=${since}`)).body.events.length === 4, 'all arrived');
  const reported = async (filter: object) => {
    const { body } = await get(`/events?since=${since}&filter=${encodeURIComponent(JSON.stringify(filter))}`);
    return body.events?.map(({ data }: { data: { n: number } }) => data.n) ?? body.code;
  };
  t.strictSame(await reported({ 'data.n': { $gte: 3 } }), [3, 4]);
  t.strictSame(await reported({ 'before.n': 3 }), [4]);
  t.strictSame(await reported({ request: headers['x-request-id'] }), [4]);
  t.strictSame(await reported({ n: 3 }), [], 'the fields of a document are below data and before');
  t.equal(await reported({ n: { $gtt: 3 } }), 'unknown-operator');
  t.equal((await get('/events?filter=no')).body.code, 'invalid-filter');
});

t.test('the next event completes a waiting poll', async (t) => {
  const since = await now();
  const waiting = get(`/api/later/_changes?since=${since}&wait=30`);
  await write('POST', '/api/later', { id: 'x' });
  const { body, headers } = await waiting;
  t.equal(body.changes[0].documentId, 'x');
  t.equal(headers['millrace-position'], body.position);
});

t.test('changes are filtered in the language of lists, by the states before and after', async (t) => {
  const since = await now();
  await write('POST', '/api/filtered', { id: 'a', done: false, n: 1 });
  await write('POST', '/api/filtered', { id: 'b', done: true, n: 2 });
  await write('PATCH', '/api/filtered/a', { done: true });
  await write('DELETE', '/api/filtered/b');
  await until(
    async () => (await get(`/api/filtered/_changes?since=${since}`)).body.changes.length === 4,
    'all arrived',
  );
  const reported = async (query: string) => {
    const { body } = await get(`/api/filtered/_changes?since=${since}&${query}`);
    return body.changes.map((one: Record<string, string>) => `${one['type']} ${one['documentId']}`);
  };
  t.same(await reported('done=false'), ['filtered.created a', 'filtered.updated a'], 'also what no longer passes');
  t.same(await reported('n[gt]=1'), ['filtered.created b', 'filtered.deleted b']);
  t.same(await reported(`filter=${encodeURIComponent('{"id":"b"}')}`), ['filtered.created b', 'filtered.deleted b']);
  t.equal((await get('/api/filtered/_changes?sort=n')).body.code, 'unknown-parameter');
  t.equal((await get('/api/filtered/_changes?n[foo]=1')).body.code, 'unknown-operator');
});

t.test('a feed can begin some rows before the end of the log, and returns a position', async (t) => {
  const since = await now();
  for (const id of ['a', 'b', 'c']) await write('POST', '/api/looked', { id });
  await until(async () => (await get(`/events?since=${since}`)).body.events.length >= 3, 'all arrived');
  const ids = async (query: string) =>
    (await get(`/events?types=looked.*&${query}`)).body.events.map((one: { documentId: string }) => one.documentId);
  t.same(await ids('last=2'), ['b', 'c']);
  t.same(await ids('last=1000'), ['a', 'b', 'c'], 'however many there are');
  const { position } = (await get('/events?last=1&limit=1')).body;
  t.same((await get(`/events?since=${position}`)).body.events, [], 'its position is followed');
  for (const query of ['last=0', 'last=1001', 'last=x', `last=1&since=${since}`])
    t.match(await get(`/events?${query}`), { status: 400, body: { code: 'invalid-parameter' } }, query);
  for (const path of ['/events?since=0', '/api/looked/_changes?since=0'])
    t.match((await get(path)).body, { code: 'invalid-parameter' }, path);
  t.match((await get('/events?since=0')).body.hint, /such as 1-1042/);
});

t.test('a collection without change events is rejected instead of staying silent', async (t) => {
  await write('POST', '/api/source', { id: 'a' });
  const { data } = services.mongo;
  await data.createCollection('derived', { viewOn: 'source', pipeline: [] });
  await data.createCollection('measured', { timeseries: { timeField: 't' } });
  await data.createCollection('round', { capped: true, size: 4096 });
  const since = await now();
  for (const name of ['derived', 'measured']) {
    for (const query of ['', `?since=${since}&wait=30`]) {
      t.match(await get(`/api/${name}/_changes${query}`), { status: 403, body: { code: 'forbidden' } }, name);
    }
  }
  await data.collection('round').insertOne({ n: 1 });
  t.equal((await get(`/api/round/_changes?since=${since}&wait=30`)).body.changes.length, 1, 'a capped one is followed');
});

t.test('a list returns the position from which nothing is missed', async (t) => {
  await write('POST', '/api/listed', { id: '1' });
  const before = await get('/api/listed');
  await write('POST', '/api/listed', { id: '2' });
  const reported: string[] = [];
  let since = before.headers['millrace-position'];
  while (!reported.includes('2')) {
    const { body } = await get(`/api/listed/_changes?since=${since}&wait=30`);
    reported.push(...body.changes.map((one: { documentId: string }) => one.documentId));
    since = body.position;
  }
  t.ok(reported.length <= 2);
});

t.test('an unusable position is rejected, with the current one', async (t) => {
  const current = await now();
  const [epoch, number] = current.split('-').map(Number);
  const refused = async (since: string, status: number, code: string) => {
    const { status: got, body, headers } = await get(`/events?since=${since}`);
    t.match([got, body.code], [status, code], since);
    if (status === 410) t.equal(headers['millrace-position'], await now());
  };
  await refused('abc', 400, 'invalid-parameter');
  await refused('', 400, 'invalid-parameter');
  await refused(`${epoch}-${Number(number) + 1000}`, 410, 'position-unknown');
  await refused(`${Number(epoch) + 1}-${number}`, 410, 'position-unknown');
  await refused('0-1', 400, 'invalid-parameter');
  for (const query of [
    'wait=61',
    'wait=-1',
    'limit=0',
    'limit=1001',
    'since=1-1&since=1-2',
    'types=',
    'types=todos.create',
    'types=system.file.create',
    'types=system.fil.*',
  ])
    t.equal((await get(`/events?${query}`)).body.code, 'invalid-parameter', query);
  t.equal((await get('/events?foo=1')).body.code, 'unknown-parameter');
  t.equal((await get('/api/_users/_changes')).body.code, 'invalid-collection-name');
  await services.events.log.raiseFloor(Number(number));
  await refused('1-1', 410, 'position-expired');
  t.equal((await get(`/events?since=${current}`)).status, 200);
});

t.test('an event of a document too large for a row has the current document', async (t) => {
  const since = await now();
  const text = 'x'.repeat(13 * 1024 * 1024);
  await services.mongo.data.collection<{ _id: string; text: string }>('large').insertOne({ _id: 'l', text });
  const { body } = await get(`/api/large/_changes?since=${since}&wait=30`);
  t.equal(body.changes[0].documentId, 'l');
  t.equal(body.changes[0].data.text.length, text.length);
});

t.test('a collection that is the target of a rename gets an event', async (t) => {
  const url = await app.listen({ host: '127.0.0.1', port: 0 });
  const before = await now();
  await write('POST', '/api/board', { id: 'old' });
  await write('POST', '/api/draft', { id: 'new' });
  // Recorded before the subscriptions start at the end of the log.
  await get(`/api/draft/_changes?since=${before}&wait=30`);
  const since = (await get('/api/board')).headers['millrace-position'];
  const socket = await openSocket(t, url);
  socket.send({ type: 'subscribe', id: 'board', events: ['board.*'] });
  socket.send({ type: 'subscribe', id: 'other', events: ['board.created', 'other.*'] });
  for (const id of ['board', 'other']) await socket.frame({ type: 'live', id });
  await services.mongo.data.renameCollection('draft', 'board', { dropTarget: true });
  await write('POST', '/api/other', { id: 'x' });
  const renamed = { type: 'draft.renamed', collection: 'draft', data: { to: 'board' } };
  const { body } = await get(`/api/board/_changes?since=${since}&wait=30`);
  t.match(body.changes.at(-1), renamed);
  t.match(await socket.frame({ type: 'event', id: 'board' }), { event: renamed });
  t.match(await socket.frame({ type: 'event', id: 'other' }), { event: { type: 'other.created' } });
  for (const types of ['board.*', 'board.renamed', 'draft.renamed'])
    t.match((await get(`/events?since=${since}&types=${types}`)).body.events.at(-1), renamed, types);
});

t.test('a page of large events ends early, and the next one continues', async (t) => {
  const since = await now();
  const text = 'x'.repeat(1024 * 1024);
  const many = services.mongo.data.collection<{ _id: string; text: string }>('heavy');
  const ids = Array.from({ length: 40 }, (_, n) => `h${n}`);
  for (const _id of ids) await many.insertOne({ _id, text });
  const reported: string[] = [];
  let pages = 0;
  for (let position = since; reported.length < ids.length; pages += 1) {
    const { body } = await get(`/api/heavy/_changes?since=${position}&wait=30&limit=1000`);
    t.ok(body.changes.length <= 17, `${body.changes.length} events of 1 MiB`);
    reported.push(...body.changes.map((one: { documentId: string }) => one.documentId));
    position = body.position;
  }
  t.same(reported, ids);
  t.ok(pages >= 3);
});

t.test('an operator can read the state of the log', async (t) => {
  const held = async () => (await get('/admin/status')).body.events.recorder.holder !== null;
  await until(held, 'the lease is held');
  const { body } = await get('/admin/status');
  t.match(body.events, {
    recorder: { status: 'recording', error: null, holder: String, term: Number },
    log: { newest: /^1-\d+$/, rows: Number },
    tail: { behind: Number, following: true },
    oplogSeconds: Number,
  });
  const ready = await get('/readyz');
  t.equal(ready.status, 200);
  t.match(ready.body, {
    status: 'ready',
    events: {
      recorder: 'recording',
      holder: body.events.recorder.holder,
      newest: /^1-\d+$/,
      position: /^1-\d+$/,
      behind: Number,
      oplogSeconds: Number,
    },
  });
});

t.test('an unauthenticated client in production can see that the server is ready, and nothing else', async (t) => {
  const { app } = await buildTestApp(t, { MILLRACE_MODE: 'production' });
  t.equal((await app.inject('/readyz')).body, '{"status":"ready"}');
  t.equal((await app.inject('/admin/status')).statusCode, 401);
});

t.test('the very first write is an event', async (t) => {
  for (let round = 0; round < 5; round += 1) {
    const { app } = await buildTestApp(t);
    const response = await app.inject({ method: 'POST', url: '/api/first', payload: { id: 'a' } });
    t.equal(response.statusCode, 201);
    const reported = async () => {
      const { events } = (await app.inject('/events?since=1-1')).json();
      return events?.some((one: { type: string }) => one.type === 'first.created');
    };
    await until(reported, 'told');
  }
});
