/** Every change once, in order, whoever wrote it; one recorder at a time, one stream however many processes. */
import { BSON, MongoClient, Timestamp } from 'mongodb';
import t from 'tap';
import { changeStream } from '../../../src/database/cursors/change-stream.ts';
import { EventLog } from '../../../src/events/log/event-log.ts';
import type { LogRow } from '../../../src/events/log/row.ts';
import { eventWorld } from '../../helpers/events/event-world.ts';
import { testMongo } from '../../helpers/mongo.ts';
import { until } from '../../helpers/until.ts';

const { url } = await testMongo(t);
const line = (row: LogRow) =>
  `${row.operation} ${row.collection ?? '-'} ${row.key ? BSON.deserialize(row.key)['_id'] : '-'}`;

t.test('changes of every kind become rows with states and gapless numbers', async (t) => {
  const world = await eventWorld(t, url);
  const node = await world.node();
  const db = world.mongo.data;
  await db.createCollection('a', { changeStreamPreAndPostImages: { enabled: true } });
  await db.collection<{ _id: number }>('a').insertOne({ _id: 1 });
  await db.collection<{ _id: number }>('a').updateOne({ _id: 1 }, { $set: { 'x.y': 2 } });
  await db.collection<{ _id: number }>('a').replaceOne({ _id: 1 }, { z: 3 });
  await db.collection<{ _id: number }>('a').deleteOne({ _id: 1 });
  await db.collection('a').createIndex({ z: 1 });
  await db.renameCollection('a', 'b');
  await db.dropCollection('b');
  await until(() => node.rows.some((row) => row.operation === 'drop'), 'the drop is told');
  t.same(node.rows.map(line), [
    'start - -',
    'create a -',
    'insert a 1',
    'update a 1',
    'replace a 1',
    'delete a 1',
    'meta a -',
    'rename a -',
    'drop b -',
  ]);
  t.same(
    node.rows.map((row) => row.number),
    [1, 2, 3, 4, 5, 6, 7, 8, 9],
  );
  const [, , insert, update, replace, removal, , rename] = node.rows;
  t.same(BSON.deserialize(insert?.after ?? Buffer.of()), { _id: 1 });
  t.same(BSON.deserialize(update?.after ?? Buffer.of()), { _id: 1, x: { y: 2 } });
  t.same(BSON.deserialize(update?.before ?? Buffer.of()), { _id: 1 });
  t.same(BSON.deserialize(update?.update ?? Buffer.of())['updatedFields'], { x: { y: 2 } });
  t.same(BSON.deserialize(replace?.after ?? Buffer.of()), { _id: 1, z: 3 });
  t.same(BSON.deserialize(removal?.before ?? Buffer.of()), { _id: 1, z: 3 });
  t.equal(rename?.to, 'b');
});

t.test('what is stored is what a fresh stream gives, token for token', async (t) => {
  const world = await eventWorld(t, url);
  const node = await world.node();
  const db = world.mongo.data;
  const session = world.mongo.client.startSession();
  for (let round = 0; round < 5; round += 1) {
    await db.collection(`c${round}`).insertMany(Array.from({ length: 700 }, (_, n) => ({ n, round })));
    await db.collection(`c${round}`).updateMany({ n: { $lt: 50 } }, { $inc: { n: 1000 } });
    await session.withTransaction(async () => {
      await db.collection(`c${round}`).insertMany([{ n: 1 }, { n: 2 }], { session });
      await db.collection(`c${round}`).deleteMany({ n: 600 }, { session });
    });
  }
  await session.endSession();
  await db.collection('end').insertOne({});
  const isEnd = (one: { collection: string | null; operation: string }) =>
    one.collection === 'end' && one.operation === 'insert';
  await until(() => node.rows.some(isEnd), 'the end is told');
  const start = node.rows[0]?.token ?? '';
  const fresh: string[] = [];
  const end = new AbortController();
  for await (const reply of changeStream({ db, full: true, from: { after: start }, signal: end.signal })) {
    fresh.push(...reply.changes.map((change) => change.token));
    if (reply.changes.some(isEnd)) break;
  }
  // Images are switched on next to the recording: a fresh stream may give a row of that which is not recorded yet.
  await until(() => node.rows.length > fresh.length, 'all that the fresh stream gave is told');
  const stored = await node.log.read(0, 100_000);
  t.same(
    stored.slice(1, fresh.length + 1).map((row) => row.token),
    fresh,
  );
  t.same(
    node.rows.map((row) => row.number),
    stored.slice(0, node.rows.length).map((row) => row.number),
  );
  const transactions = stored.filter((row) => row.transaction);
  t.equal(transactions.filter((row) => row.transaction?.last).length, 5);
});

t.test('when the recorder stops another one goes on at once, and nothing is missing or twice', async (t) => {
  const world = await eventWorld(t, url);
  const first = await world.node();
  const second = await world.node();
  t.equal(second.recorder.state.status, 'waiting');
  const things = world.mongo.data.collection<{ _id: number }>('things');
  for (let n = 0; n < 20; n += 1) await things.insertOne({ _id: n });
  const stopped = performance.now();
  await first.stop();
  await things.insertOne({ _id: 20 });
  await until(() => second.rows.some((row) => line(row) === 'insert things 20'), 'the second one records');
  const tookMs = performance.now() - stopped;
  t.comment(`hand-over took ${tookMs.toFixed(0)} ms`);
  // Else it would wait for the end of the lease: of its 5 s, it renews 3.5 at least before they end.
  t.ok(tookMs < 3_500);
  const ids = second.rows.map(line).filter((one) => one.startsWith('insert things'));
  t.same(
    ids,
    Array.from({ length: 21 }, (_, n) => `insert things ${n}`),
  );
});

t.test('there is one stream on the data and one on the log for each other process', async (t) => {
  const world = await eventWorld(t, url);
  const nodes = [await world.node(), await world.node(), await world.node()];
  await world.mongo.data.collection('x').insertOne({});
  for (const node of nodes) await until(() => node.rows.some((row) => row.collection === 'x'), 'told everywhere');
  const streams = async () => {
    const operations = await world.mongo.client
      .db('admin')
      .aggregate([
        { $currentOp: { allUsers: true, idleCursors: true } },
        { $match: { 'cursor.originatingCommand.pipeline.0.$changeStream': { $exists: true } } },
      ])
      .toArray();
    const names = operations.map((one) => String(one['ns'])).filter((name) => name.startsWith(world.database));
    return names
      .map((name) => (name.startsWith(`${world.database}_log`) ? 'log' : 'data'))
      .sort()
      .join();
  };
  await until(async () => (await streams()) === 'data,log,log', 'one and two');
});

t.test('after a quiet time the place is noted, and recording goes on from there', async (t) => {
  const world = await eventWorld(t, url);
  const node = await world.node({ markMs: 1 });
  // Otherwise images are switched on next to the recording, and the row of that may come at any time.
  await world.mongo.data.createCollection('x', { changeStreamPreAndPostImages: { enabled: true } });
  await world.mongo.data.collection('x').insertOne({ n: 1 });
  await until(() => node.rows.some((row) => row.operation === 'insert'), 'the row is told');
  const noted = async () => {
    const newest = await node.log.newest();
    return newest !== null && (await node.log.mark(newest)) > newest.token;
  };
  await until(noted, 'the place is noted');
  const newest = await node.log.newest();
  await node.stop();
  const next = await world.node();
  await world.mongo.data.collection('x').insertOne({ n: 2 });
  await until(() => next.rows.some((row) => row.operation === 'insert'), 'the next row is told');
  t.equal(next.rows.at(-1)?.number, (newest?.number ?? 0) + 1);
});

t.test('the log of another database is refused', async (t) => {
  const world = await eventWorld(t, url);
  await world.node();
  const client = new MongoClient(url);
  t.teardown(() => client.close());
  const log = new EventLog(client.db(`${world.database}_log`), 'somebody_else');
  await t.rejects(log.open(), { message: /belongs to the database 'test_/ });
});

t.test('it tells whether all changes up to a cluster time have been given to readers', async (t) => {
  const world = await eventWorld(t, url);
  const node = await world.node();
  const other = await world.node();
  t.equal(node.recorder.hasPassed(new Timestamp({ t: 0xffffffff, i: 1 })), false, 'not the time to come');
  for (let count = 0; count < 20; count += 1) {
    const things = world.mongo.data.collection<{ _id: number }>('x');
    await things.insertOne({ _id: count });
    const reply = await world.mongo.data.command({ find: 'x', limit: 1, readConcern: { level: 'snapshot' } });
    const time = reply['cursor'].atClusterTime;
    await until(() => node.recorder.hasPassed(time), 'it has passed the time');
    t.ok(
      node.rows.some(({ key }) => key !== null && BSON.deserialize(key)['_id'] === count),
      'and every change before it was told',
    );
  }
  t.equal(other.recorder.hasPassed(new Timestamp({ t: 1, i: 1 })), false, 'what does not record does not know');
});

t.test('recording begins and goes on without an error on a server that names no time yet', async (t) => {
  const world = await eventWorld(t, url);
  let asked = 0;
  const data = new Proxy(world.mongo.data, {
    get: (db, name) => {
      if (name !== 'command') return Reflect.get(db, name);
      return async (...given: Parameters<typeof db.command>) => {
        const { operationTime, ...reply } = await db.command(...given);
        asked += 1;
        return asked < 6 ? reply : { ...reply, operationTime };
      };
    },
  });
  const node = await world.node({ data });
  await world.mongo.data.collection('a').insertOne({});
  await until(() => node.rows.some((row) => row.operation === 'insert'), 'the insert is told');
  t.ok(asked > 5, 'replies without a time were seen');
  t.same(
    node.notes.filter(({ level }) => level !== 'info'),
    [],
  );
});
