/**
 * An idempotency key grants nothing: a stored response is replayed only to clients with the right, and anonymous
 * clients share none.
 */
import { MongoClient } from 'mongodb';
import t from 'tap';
import { buildTestApp } from '../helpers/app.ts';
import { testMongo } from '../helpers/mongo.ts';
import { withPolicies } from '../helpers/policies.ts';
import { MERGE, MINE, postsFixture } from '../helpers/posts.ts';

t.test('a batch of an anonymous client under an idempotency key', async (t) => {
  const resource = await testMongo(t);
  const { app } = await buildTestApp(t, { MILLRACE_MODE: 'production' }, resource);
  const operations = [{ method: 'POST', path: '/api/posts', body: { n: 1 } }];
  for (let count = 0; count < 5; count++) {
    const response = await app.inject({
      method: 'POST',
      url: '/batch',
      payload: { operations },
      headers: { 'idempotency-key': `k${count}` },
    });
    t.equal(response.statusCode, 401);
  }
  const client = await MongoClient.connect(resource.url);
  t.teardown(() => client.close());
  const kept = await client.db(`${resource.database}_log`).collection('idempotency').countDocuments();
  t.equal(kept, 0);
});

t.test('a batch is replayed only for a client that can still send it', async (t) => {
  const { parts: services, ann, request, fresh } = await postsFixture(t);
  await fresh();
  withPolicies(services, [{ resources: ['posts'], actions: ['read', 'update'] }]);
  const key = { 'idempotency-key': 'k1' };
  const path = '/api/posts/c';
  const operations = [{ method: 'PATCH', path, body: { title: 'again' }, headers: { 'content-type': MERGE } }];
  t.equal((await request(ann, 'POST', '/batch', { operations }, key)).status, 200);
  withPolicies(services, [{ resources: ['other'], actions: ['read'] }]);
  t.equal((await request(ann, 'POST', '/batch', { operations }, key)).status, 403);
});

t.test('two anonymous clients with one key', async (t) => {
  const settings = { MILLRACE_MODE: 'production', MILLRACE_TRUST_PROXY: '192.0.2.1' };
  const { app, services } = await buildTestApp(t, settings);
  withPolicies(services, [{ resources: ['guests'], actions: ['create', 'read'], principals: { anonymous: true } }]);
  const send = (key: string, address: string, n = 1) =>
    app.inject({
      method: 'POST',
      url: '/api/guests',
      remoteAddress: '192.0.2.1',
      payload: { n },
      headers: { 'idempotency-key': key, 'x-forwarded-for': address },
    });

  for (const [one, other] of [
    ['198.51.100.1', '203.0.113.9'],
    ['198.51.100.1', '198.51.100.2'],
    ['2001:db8:0:1::1', '2001:db8:0:2::1'],
    ['2001:db8:0:1::1', '198.51.100.1'],
  ] as const) {
    await t.test(`two anonymous clients of ${one} and ${other}`, async (t) => {
      const key = `${one},${other}`;
      const first = await send(key, one);
      t.equal(first.statusCode, 201);
      const second = await send(key, other);
      t.equal(second.statusCode, 201);
      t.equal(second.headers['idempotency-replayed'], undefined);
      t.not(second.json().id, first.json().id);
      const third = await send(key, other, 2);
      t.equal(third.json().code, 'idempotency-key-reused', 'it is notified of its own use of the key alone');
    });
  }

  await t.test('two anonymous clients of one network count as one', async (t) => {
    const first = await send('one', '2001:db8::1');
    const second = await send('one', '2001:db8::2');
    t.equal(second.headers['idempotency-replayed'], 'true');
    t.equal(second.json().id, first.json().id);
  });
});

t.test('an idempotency key of another client is rejected at once, in a transaction and without', async (t) => {
  const { parts: services, ann, request, fresh } = await postsFixture(t);
  const path = '/api/posts/c';
  const body = { authorId: 'ann' };
  const create = { resources: ['posts'], actions: ['create'] };
  let keys = 0;
  const inAllWays = async (query: string, headers: Record<string, string>) => {
    const operations = [{ method: 'PUT', path: path + query, body, headers }];
    const plain = await request(ann, 'PUT', path + query, body, headers);
    const began = performance.now();
    const keyed = await request(ann, 'PUT', path + query, body, { ...headers, 'idempotency-key': `k${keys++}` });
    const batch = await request(ann, 'POST', '/batch', { operations });
    t.ok(performance.now() - began < 4_000, 'no transaction runs again and again');
    for (const response of [keyed, batch]) t.match(response, { status: plain.status, code: plain.code });
    t.equal(keyed.headers.etag, plain.headers.etag);
    return plain;
  };

  for (const read of [MINE, { resources: ['posts'] }]) {
    await fresh();
    withPolicies(services, [{ ...read, actions: ['read'] }, { ...MINE, actions: ['update', 'delete'] }, create]);
    t.match(await inAllWays('?upsert=true', {}), { status: 409, code: 'id-exists' });
    t.match(await inAllWays('', { 'if-none-match': '*' }), {
      status: 412,
      headers: { etag: read === MINE ? undefined : String },
    });
    withPolicies(services, [
      { ...read, actions: ['read'] },
      { ...MINE, actions: ['update', 'create'] },
    ]);
    body.authorId = 'bob';
    t.match(await inAllWays('', { 'if-none-match': '*' }), { status: 403 }, 'what may not be is not asked for');
    body.authorId = 'ann';
  }
});
