/** The embedded MongoDB in good times: it starts, keeps data over restarts, and has its folder to itself. */
import { appendFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { MongoClient } from 'mongodb';
import t from 'tap';
import { startEmbedded } from '../../src/database/embedded/embedded.ts';
import { lookUp } from '../../src/database/embedded/running.ts';
import { dataFolder, startProgram } from '../helpers/database/embedded-program.ts';
import { testMongo } from '../helpers/mongo.ts';

interface Thing {
  readonly _id: number;
}

t.test('it takes transactions and follows changes', async (t) => {
  const { url, database } = await testMongo(t);
  const client = new MongoClient(url);
  t.teardown(() => client.close());
  const things = client.db(database).collection<Thing>('things');
  // The stream is opened by its first question, which may come after the write.
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
  const first = await startEmbedded({ folder });
  const writer = new MongoClient(first.url);
  await writer.db('kept').collection<Thing>('things').insertOne({ _id: 1 });
  await writer.close();
  await first.stop();
  t.same(await first.exited, { code: 0, reason: 'it was told to end' });
  t.equal(await lookUp(first.pid), null);

  const second = await startEmbedded({ folder });
  t.teardown(() => second.stop());
  t.not(second.url, first.url);
  const reader = new MongoClient(second.url);
  t.teardown(() => reader.close());
  t.same(await reader.db('kept').collection<Thing>('things').findOne({}), { _id: 1 });
});

t.test('a start on a full disk is refused, and says how much is free and how much is needed', async (t) => {
  const folder = await dataFolder(t);
  const starting = startEmbedded({ folder, measure: async () => 3 * 1_048_576 });
  await t.rejects(starting, {
    code: 'database-unavailable',
    message: `The disk of the data folder ${folder} is full: 3 MB are free, and the embedded MongoDB needs 48 MB to start.`,
    hint: /MILLRACE_FOLDER/,
  });
});

t.test('a second start in the same folder is refused and names who is there', async (t) => {
  const folder = await dataFolder(t);
  const { child, url } = await startProgram(t, folder);
  await t.rejects(startEmbedded({ folder }), {
    code: 'database-unavailable',
    message: `The data folder ${join(folder, 'data')} is in use by the running program ${child.pid}.`,
    hint: new RegExp(`kill ${child.pid}`),
  });
  const client = new MongoClient(url);
  t.teardown(() => client.close());
  t.match(await client.db('admin').command({ ping: 1 }), { ok: 1 }, 'the first one is not harmed');
});

t.test('of two starts in the same instant one gets the folder', async (t) => {
  const folder = await dataFolder(t);
  const [one, other] = await Promise.allSettled([startEmbedded({ folder }), startEmbedded({ folder })]);
  for (const outcome of [one, other]) if (outcome.status === 'fulfilled') await outcome.value.stop();
  t.strictSame([one.status, other.status].sort(), ['fulfilled', 'rejected']);
  for (const outcome of [one, other]) {
    if (outcome.status === 'rejected') t.match(outcome.reason, { message: /is in use by/, hint: /another folder/ });
  }
});

t.test('a folder it cannot read is told in the words of MongoDB', async (t) => {
  const folder = await dataFolder(t);
  const first = await startEmbedded({ folder });
  await first.stop();
  await writeFile(join(folder, 'data', 'WiredTiger.turtle'), 'nonsense');
  await appendFile(join(folder, 'data', 'WiredTiger.wt'), 'nonsense');
  await t.rejects(startEmbedded({ folder }), { message: /^MongoDB did not start: .+\.$/, hint: /mongod\.log/ });
});
