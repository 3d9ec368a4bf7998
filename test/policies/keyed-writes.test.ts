/** An idempotency key opens nothing: kept answers are for those who may still ask, and strangers share none. */

import { MongoClient } from 'mongodb';
import t from 'tap';
import { buildTestApp } from '../helpers/app.ts';
import { testMongo } from '../helpers/mongo.ts';
import { withPolicies } from '../helpers/policies.ts';
import { MERGE, postsWorld } from '../helpers/posts.ts';

t.test('a batch of a stranger under a key', async (t) => {
  const place = await testMongo(t);
  const { app } = await buildTestApp(t, { MILLRACE_MODE: 'production' }, place);
  const operations = [{ method: 'POST', path: '/api/posts', body: { n: 1 } }];
  for (let count = 0; count < 5; count++) {
    const answer = await app.inject({
      method: 'POST',
      url: '/batch',
      payload: { operations },
      headers: { 'idempotency-key': `k${count}` },
    });
    t.equal(answer.statusCode, 401);
  }
  const client = await MongoClient.connect(place.url);
  t.teardown(() => client.close());
  const kept = await client.db(`${place.database}_log`).collection('idempotency').countDocuments();
  t.equal(kept, 0);
});

t.test('a batch is replayed to who may still make it', async (t) => {
  const { parts, ann, ask, fresh } = await postsWorld(t);
  await fresh();
  withPolicies(parts, [{ collections: ['posts'], actions: ['read', 'update'] }]);
  const key = { 'idempotency-key': 'k1' };
  const path = '/api/posts/c';
  const operations = [{ method: 'PATCH', path, body: { title: 'again' }, headers: { 'content-type': MERGE } }];
  t.equal((await ask(ann, 'POST', '/batch', { operations }, key)).status, 200);
  withPolicies(parts, [{ collections: ['other'], actions: ['read'] }]);
  t.equal((await ask(ann, 'POST', '/batch', { operations }, key)).status, 403);
});

t.test('two strangers with one key', async (t) => {
  const { app, parts } = await buildTestApp(t, { MILLRACE_MODE: 'production' });
  withPolicies(parts, [{ collections: ['guests'], actions: ['create', 'read'], principals: { anonymous: true } }]);
  const send = (remoteAddress: string) =>
    app.inject({
      method: 'POST',
      url: '/api/guests',
      remoteAddress,
      payload: { n: 1 },
      headers: { 'idempotency-key': '1' },
    });
  const [one, other] = [await send('10.0.0.1'), await send('10.9.9.9')];
  t.equal(one.statusCode, 201);
  t.equal(other.headers['idempotency-replayed'], undefined);
  t.not(other.json().id, one.json().id);
});
