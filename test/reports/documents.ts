/** Reports about documents and the subscriptions to them. */
import assert from 'node:assert/strict';
import type { Product, Report } from './report.ts';

const UPDATE = 'application/vnd.millrace.update+json';

export const reports: readonly Report[] = [
  {
    point: 'B1',
    title: 'A write that changes nothing leaves revision, tag and events as they are',
    run: unchanged,
  },
  { point: 'B5', title: 'Ids of the usual generators are accepted, also with an underscore first', run: underscores },
];

async function unchanged(product: Product): Promise<void> {
  const { call } = product;
  const document = { id: 'same', a: 1, list: ['x'], o: { b: null } };
  const made = await call('POST', '/api/unchanged', { body: document });
  assert.equal(made.status, 201);
  const etag = made.headers.get('etag');
  const { position } = (await call('GET', '/events')).body;
  const path = '/api/unchanged/same';
  const update = (body: object) => ({ body, headers: { 'content-type': UPDATE } });
  const writes: [string, Parameters<Product['call']>[2]][] = [
    ['PUT', { body: made.body }],
    ['PUT', { body: document, headers: { 'if-match': String(etag), 'idempotency-key': 'same' } }],
    ['PATCH', { body: {} }],
    ['PATCH', { body: { a: 1 } }],
    ['PATCH', { body: { absent: null } }],
    ['PATCH', { body: [], headers: { 'content-type': 'application/json-patch+json' } }],
    ['PATCH', update({ $addToSet: { list: 'x' } })],
    ['PATCH', update({ $min: { a: 9 } })],
  ];
  for (const [method, options] of writes) {
    const answer = await call(method, path, options);
    assert.deepEqual([answer.status, answer.headers.get('etag'), answer.body], [200, etag, made.body]);
  }
  const many = { body: { a: 1 }, headers: { prefer: 'max-affected=5' } };
  assert.deepEqual((await call('PATCH', '/api/unchanged?a=1', many)).body, { matched: 1, modified: 0 });
  const batch = await call('POST', '/batch', { body: { operations: [{ method: 'PATCH', path, body: {} }] } });
  assert.equal(batch.body.results[0].headers.etag, etag);
  const stale = await call('PATCH', path, { body: {}, headers: { 'if-match': '"1-stale"' } });
  assert.equal(stale.status, 412);
  await call('POST', '/api/unchanged', { body: { id: 'last' } });
  for (let told = false; !told; ) {
    const { changes } = (await call('GET', `/api/unchanged/_changes?since=${position}`)).body;
    told = changes.some(({ documentId }: { documentId: string }) => documentId === 'last');
    assert.ok(changes.every(({ type }: { type: string }) => type === 'unchanged.created'));
  }
}

async function underscores({ call }: Product): Promise<void> {
  const ids = ['_V1StGXR8_Z5jdHi6B-my', `_${'a'.repeat(21)}`, '_1', '_', '__', '~.-_'];
  const made = await call('POST', '/api/underscores', { body: ids.map((id) => ({ id })) });
  assert.equal(made.status, 201);
  for (const id of ids) assert.equal((await call('GET', `/api/underscores/${id}`)).body.id, id);
  assert.equal((await call('PUT', '/api/underscores/_Put?upsert=true', { body: {} })).status, 201);
  const refused = await call('POST', '/api/underscores', { body: { id: '_changes' } });
  assert.deepEqual([refused.status, refused.body.code], [400, 'invalid-id']);
  assert.match(refused.body.detail, /route/);
}
