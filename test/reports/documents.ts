/** Reports about documents and the subscriptions to them. */
import assert from 'node:assert/strict';
import { WebSocket } from 'ws';
import type { Product, Report } from './report.ts';

const UPDATE = 'application/vnd.millrace.update+json';

export const reports: readonly Report[] = [
  {
    point: 'B1',
    title: 'A write that changes nothing leaves revision, tag and events as they are',
    run: unchanged,
  },
  { point: 'B5', title: 'Ids of the usual generators are accepted, also with an underscore first', run: underscores },
  { point: 'B6', title: 'Collections with unusual names are listed and can be renamed', run: otherNames },
  { point: 'B7', title: 'A document that an index cannot hold is refused with the index', run: refusedByIndexes },
  { point: 'B8', title: 'Small errors say what to do', run: smallErrors },
  { point: 'B9', title: 'A refused subscription is named by its id', run: namedRefusals },
  {
    point: 'B10',
    title: 'A subscription that begins before a claim has a value fills when it comes',
    run: laterClaims,
  },
];

async function unchanged(product: Product): Promise<void> {
  const { call } = product;
  const document = { id: 'same', a: 1, list: ['x'], o: { b: null } };
  const created = await call('POST', '/api/unchanged', { body: document });
  assert.equal(created.status, 201);
  const etag = created.headers.get('etag');
  const { position } = (await call('GET', '/events')).body;
  const path = '/api/unchanged/same';
  const update = (body: object) => ({ body, headers: { 'content-type': UPDATE } });
  const writes: [string, Parameters<Product['call']>[2]][] = [
    ['PUT', { body: created.body }],
    ['PUT', { body: document, headers: { 'if-match': String(etag), 'idempotency-key': 'same' } }],
    ['PATCH', { body: {} }],
    ['PATCH', { body: { a: 1 } }],
    ['PATCH', { body: { absent: null } }],
    ['PATCH', { body: [], headers: { 'content-type': 'application/json-patch+json' } }],
    ['PATCH', update({ $addToSet: { list: 'x' } })],
    ['PATCH', update({ $min: { a: 9 } })],
  ];
  for (const [method, options] of writes) {
    const response = await call(method, path, options);
    assert.deepEqual([response.status, response.headers.get('etag'), response.body], [200, etag, created.body]);
  }
  const many = { body: { a: 1 }, headers: { prefer: 'max-affected=5' } };
  assert.deepEqual((await call('PATCH', '/api/unchanged?a=1', many)).body, { matched: 1, modified: 0 });
  const batch = await call('POST', '/batch', { body: { operations: [{ method: 'PATCH', path, body: {} }] } });
  assert.equal(batch.body.results[0].headers.etag, etag);
  const stale = await call('PATCH', path, { body: {}, headers: { 'if-match': '"1-stale"' } });
  assert.equal(stale.status, 412);
  await call('POST', '/api/unchanged', { body: { id: 'last' } });
  for (let reported = false; !reported; ) {
    const { changes } = (await call('GET', `/api/unchanged/_changes?since=${position}`)).body;
    reported = changes.some(({ documentId }: { documentId: string }) => documentId === 'last');
    assert.ok(changes.every(({ type }: { type: string }) => type === 'unchanged.created'));
  }
}

async function underscores({ call }: Product): Promise<void> {
  const ids = ['_V1StGXR8_Z5jdHi6B-my', `_${'a'.repeat(21)}`, '_1', '_', '__', '~.-_'];
  const created = await call('POST', '/api/underscores', { body: ids.map((id) => ({ id })) });
  assert.equal(created.status, 201);
  for (const id of ids) assert.equal((await call('GET', `/api/underscores/${id}`)).body.id, id);
  assert.equal((await call('PUT', '/api/underscores/_Put?upsert=true', { body: {} })).status, 201);
  const refused = await call('POST', '/api/underscores', { body: { id: '_changes' } });
  assert.deepEqual([refused.status, refused.body.code], [400, 'invalid-id']);
  assert.match(refused.body.detail, /route/);
}

type Message = Readonly<Record<string, unknown>>;

/** A connection of live data with its messages in order. */
async function connect(product: Product, token: string | null) {
  const socket = new WebSocket(`${product.url.replace(/^http/, 'ws')}/realtime`, 'millrace.v1');
  const messages: Message[] = [];
  let notice = () => {};
  socket.on('message', (bytes) => {
    messages.push(JSON.parse(String(bytes)));
    notice();
  });
  await new Promise((resolve, reject) => socket.once('open', resolve).once('error', reject));
  const send = (message: string) => socket.send(message);
  const next = async (fits: (message: Message) => boolean): Promise<Message> => {
    for (;;) {
      const found = messages.find(fits);
      if (found !== undefined) return found;
      await new Promise<void>((resolve) => {
        notice = resolve;
      });
    }
  };
  send(JSON.stringify({ type: 'hello', ...(token === null ? {} : { token }) }));
  await next(({ type }) => type === 'welcome');
  return { send, next, close: () => socket.close() };
}

async function namedRefusals(product: Product): Promise<void> {
  const { send, next, close } = await connect(product, product.admin);
  const values = { surrogate: '"\\ud83d"', integer: '9007199254740993', number: '1e400', proto: '{"__proto__":1}' };
  for (const [id, value] of Object.entries(values)) {
    send(`{"type":"subscribe","id":"${id}","collection":"named","query":{"filter":{"a":${value}}}}`);
    const { problem, type } = await next((message) => message['id'] === id);
    assert.equal(type, 'unsubscribed');
    assert.match(String(Object(problem).code), /^unsupported-(?:value|field-name)$/);
  }
  close();
}

async function laterClaims(product: Product): Promise<void> {
  const { call } = product;
  const user = { username: 'late', password: 'four wooden ships sail' };
  const created = await call('POST', '/admin/users', { body: { kind: 'user', roles: [], ...user } });
  assert.equal(created.status, 201, JSON.stringify(created.body));
  const { accessToken } = (await call('POST', '/auth/login', { body: user, token: null })).body;
  const policy = {
    name: 'late',
    effect: 'allow',
    resources: ['late'],
    actions: ['read'],
    filter: { team: '$user.claims.team' },
  };
  const deny = { ...policy, name: 'not-late', effect: 'deny', filter: { team: { $ne: '$user.claims.team' } } };
  for (const body of [
    { id: 'late', ...policy },
    { id: 'not-late', ...deny },
  ]) {
    const saved = await call('POST', '/admin/policies', { body });
    assert.equal(saved.status, 201, JSON.stringify(saved.body));
  }
  await call('POST', '/api/late', { body: { id: 'a', team: 'red' } });
  const { send, next, close } = await connect(product, accessToken);
  send(JSON.stringify({ type: 'subscribe', id: 'late', collection: 'late' }));
  assert.equal((await next(({ type }) => type === 'live' || type === 'unsubscribed'))['type'], 'live');
  const changed = await call('PATCH', `/admin/users/${created.body.id}`, { body: { claims: { team: 'red' } } });
  assert.equal(changed.status, 200);
  assert.equal((await next(({ op }) => op === 'enter'))['documentId'], 'a');
  close();
}

async function refusedByIndexes({ call, database }: Product): Promise<void> {
  await database.collection('places').createIndex({ loc: '2dsphere' });
  await database.collection('texts').createIndex({ body: 'text' });
  const writes: [string, object, RegExp][] = [
    ['/api/places', { loc: { type: 'Point', coordinates: ['a', 1] } }, /loc_2dsphere/],
    ['/api/places', [{ loc: { type: 'Point', coordinates: [1, 1] } }, { loc: 'Berlin' }], /loc_2dsphere/],
    ['/api/texts', { body: 'x', language: 'klingon' }, /body_text/],
    ['/api/texts', { body: 'x', language: 5 }, /body_text/],
  ];
  for (const [path, body, index] of writes) {
    const refused = await call('POST', path, { body });
    assert.deepEqual([refused.status, refused.body.code], [400, 'unsupported-value']);
    assert.match(refused.body.detail, index);
  }
}

async function smallErrors({ call }: Product): Promise<void> {
  await call('POST', '/api/movies', { body: { id: 'a' } });
  for (const path of ['/api/movies/', '/api/', '/files/', '/api//a']) {
    const missing = await call('GET', path);
    assert.deepEqual([missing.status, missing.body.code], [404, 'route-not-found']);
  }
  assert.match((await call('GET', '/api/movies/')).body.hint, /\/api\/movies$/);
  const first = await call('GET', '/events?since=0');
  assert.equal(first.status, 400);
  assert.match(first.body.hint, /1-1042/);
  for (let events: unknown[] = []; events.length === 0; ) ({ events } = (await call('GET', '/events?last=50')).body);
  const { hint } = (await call('GET', '/api/movies?filter={"$unheardof":1}')).body;
  assert.equal(hint.match(/\$not\b/g).length, 1);
  const batch = await call('POST', '/batch', { body: { operations: [{ method: 'SHOUT', path: '/api/movies' }] } });
  assert.equal(batch.status, 405);
  assert.ok(batch.headers.get('allow')?.includes('POST'));
}

async function otherNames({ call, database }: Product): Promise<void> {
  for (const name of ['shop.users', '2024_orders', 'Bestände']) await database.collection(name).insertOne({ n: 1 });
  const refused = await call('GET', '/api/shop.users');
  assert.deepEqual([refused.status, refused.body.code], [400, 'invalid-collection-name']);
  assert.match(refused.body.hint, /collections\?reachable=false lists .* renamed in the dashboard/);
  assert.equal((await call('GET', '/api')).status, 200);
  const { body } = await call('GET', '/admin/collections?reachable=false');
  assert.deepEqual(
    new Set(body.map(({ name }: { name: string }) => name)),
    new Set(['shop.users', '2024_orders', 'Bestände']),
  );
  const renamed = await call('PATCH', `/admin/collections/${encodeURIComponent('Bestände')}`, {
    body: { name: 'stock' },
  });
  assert.equal(renamed.status, 200);
  assert.equal((await call('GET', '/api/stock')).body.length, 1);
}
