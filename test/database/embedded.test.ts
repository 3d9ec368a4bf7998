/**
 * The embedded MongoDB without failures: it starts, keeps data across restarts, and has exclusive use of its folder.
 */
import { appendFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { MongoClient } from 'mongodb';
import t from 'tap';
import { startEmbeddedDatabase } from '../../src/database/embedded/embedded.ts';
import { findProcess } from '../../src/database/embedded/process-info.ts';
import { dataFolder, startProgram } from '../helpers/database/embedded-program.ts';
import { testMongo } from '../helpers/mongo.ts';

interface Thing {
  readonly _id: number;
}

t.test('the embedded database supports transactions and change streams', async (t) => {
  const { url, database } = await testMongo(t);
  const client = new MongoClient(url);
  t.teardown(() => client.close());
  const things = client.db(database).collection<Thing>('things');
  // The first request opens the stream, which may come after the write.
  const { operationTime } = await client.db(database).command({ ping: 1 });
  const changes = things.watch([], { startAtOperationTime: operationTime });
  t.teardown(() => changes.close());
  const next = changes.next();
  await client.withSession((session) =>
    session.withTransaction(async () => {
      await things.insertOne({ _id: 1 }, { session });
    }),
  );
  t.match(await next, { operationType: 'insert', documentKey: { _id: 1 } });
});

t.test('data outlives a restart, on another port', async (t) => {
  const folder = await dataFolder(t);
  const first = await startEmbeddedDatabase({ folder });
  const writer = new MongoClient(first.url);
  await writer.db('kept').collection<Thing>('things').insertOne({ _id: 1 });
  await writer.close();
  await first.stop();
  t.same(await first.exited, { code: 0, reason: 'it was stopped' });
  t.equal(await findProcess(first.pid), null);

  const second = await startEmbeddedDatabase({ folder });
  t.teardown(() => second.stop());
  t.not(second.url, first.url);
  const reader = new MongoClient(second.url);
  t.teardown(() => reader.close());
  t.same(await reader.db('kept').collection<Thing>('things').findOne({}), { _id: 1 });
});

t.test('a start on a full disk is rejected, with the free and the required space', async (t) => {
  const folder = await dataFolder(t);
  const starting = startEmbeddedDatabase({ folder, measure: async () => 3 * 1_048_576 });
  await t.rejects(starting, {
    code: 'database-unavailable',
    message: `The disk of the data folder ${folder} is full: 3 MB are free, and the embedded MongoDB needs 48 MB to start.`,
    hint: /MILLRACE_DATA_DIR/,
  });
});

t.test('a second start in the same folder is rejected with the process that uses it', async (t) => {
  const folder = await dataFolder(t);
  const { child, url } = await startProgram(t, folder);
  await t.rejects(startEmbeddedDatabase({ folder }), {
    code: 'database-unavailable',
    message: `The data folder ${join(folder, 'data')} is in use by the running program ${child.pid}.`,
    hint: new RegExp(`kill ${child.pid}`),
  });
  const client = new MongoClient(url);
  t.teardown(() => client.close());
  t.match(await client.db('admin').command({ ping: 1 }), { ok: 1 }, 'the first one is not harmed');
});

t.test('of two simultaneous starts one gets the folder', async (t) => {
  const folder = await dataFolder(t);
  const [one, other] = await Promise.allSettled([startEmbeddedDatabase({ folder }), startEmbeddedDatabase({ folder })]);
  for (const outcome of [one, other]) if (outcome.status === 'fulfilled') await outcome.value.stop();
  t.strictSame([one.status, other.status].sort(), ['fulfilled', 'rejected']);
  for (const outcome of [one, other]) {
    if (outcome.status === 'rejected') t.match(outcome.reason, { message: /is in use by/, hint: /another folder/ });
  }
});

t.test('an unreadable folder is reported with the message of MongoDB', async (t) => {
  const folder = await dataFolder(t);
  const first = await startEmbeddedDatabase({ folder });
  await first.stop();
  await writeFile(join(folder, 'data', 'WiredTiger.turtle'), 'nonsense');
  await appendFile(join(folder, 'data', 'WiredTiger.wt'), 'nonsense');
  await t.rejects(startEmbeddedDatabase({ folder }), { message: /^MongoDB did not start: .+\.$/, hint: /mongod\.log/ });
});
