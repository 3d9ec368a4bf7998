import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { MongoClient } from 'mongodb';
import t from 'tap';
import { startEmbedded } from '../../src/database/embedded/embedded.ts';
import { testMongo } from '../helpers/mongo.ts';

t.test('the shared one takes transactions', async (t) => {
  const { url, database } = await testMongo(t);
  const client = new MongoClient(url);
  t.teardown(() => client.close());
  const hello = await client.db(database).command({ hello: 1 });
  t.equal(hello['setName'], 'millrace');
});

t.test('data outlives a restart, on another port', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'millrace embedded '));
  t.teardown(() => rm(folder, { recursive: true, force: true }));
  const first = await startEmbedded({ folder });
  const writer = new MongoClient(first.url);
  await writer.db('kept').collection<{ _id: number }>('things').insertOne({ _id: 1 });
  await writer.close();
  await first.stop();
  t.match(await first.exited, { code: 0 });

  const second = await startEmbedded({ folder });
  t.teardown(() => second.stop());
  t.not(second.url, first.url);
  const reader = new MongoClient(second.url);
  t.same(await reader.db('kept').collection<{ _id: number }>('things').findOne({}), { _id: 1 });
  await reader.close();
});
