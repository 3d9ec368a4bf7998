/** Every change once, in order, by any writer; one recorder at a time, one stream for any number of processes. */
import { BSON, MongoClient, Timestamp } from 'mongodb';
import t from 'tap';
import { readChangeStream } from '../../../src/database/cursors/change-stream.ts';
import { EventLog } from '../../../src/events/log/event-log.ts';
import type { LogRow } from '../../../src/events/log/log-row.ts';
import { eventFixture } from '../../helpers/events/event-fixture.ts';
import { testMongo } from '../../helpers/mongo.ts';
import { until } from '../../helpers/until.ts';

const { url } = await testMongo(t);
const line = (row: LogRow) =>
  `${row.operation} ${row.collection ?? '-'} ${row.key ? BSON.deserialize(row.key)['_id'] : '-'}`;

t.test('changes of every kind become rows with states and gapless numbers', async (t) => {
  const fixture = await eventFixture(t, url);
  const node = await fixture.node();
  const db = fixture.mongo.data;
  await db.createCollection('a', { changeStreamPreAndPostImages: { enabled: true } });
  await db.collection<{ _id: number }>('a').insertOne({ _id: 1 });
  await db.collection<{ _id: number }>('a').updateOne({ _id: 1 }, { $set: { 'x.y': 2 } });
  await db.collection<{ _id: number }>('a').replaceOne({ _id: 1 }, { z: 3 });
  await db.collection<{ _id: number }>('a').deleteOne({ _id: 1 });
  await db.collection('a').createIndex({ z: 1 });
  await db.renameCollection('a', 'b');
  await db.dropCollection('b');
  await until(() => node.rows.some((row) => row.operation === 'drop'), 'the drop is recorded');
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

t.test('the stored rows equal those of a fresh stream, token for token', async (t) => {
  const fixture = await eventFixture(t, url);
  const node = await fixture.node();
  const db = fixture.mongo.data;
  const session = fixture.mongo.client.startSession();
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
  await until(() => node.rows.some(isEnd), 'the end is recorded');
  const start = node.rows[0]?.token ?? '';
  const fresh: string[] = [];
  const end = new AbortController();
  for await (const reply of readChangeStream({ db, full: true, from: { after: start }, signal: end.signal })) {
    fresh.push(...reply.changes.map((change) => change.token));
    if (reply.changes.some(isEnd)) break;
  }
  // Images are enabled concurrently with recording: a fresh stream may return a row of that which is not recorded yet.
  await until(() => node.rows.length > fresh.length, 'all that the fresh stream returned is recorded');
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

t.test('when the recorder stops another one continues at once, and nothing is missing or duplicated', async (t) => {
  const fixture = await eventFixture(t, url);
  const first = await fixture.node();
  const second = await fixture.node();
  t.equal(second.recorder.state.status, 'standby');
  const things = fixture.mongo.data.collection<{ _id: number }>('things');
  for (let n = 0; n < 20; n += 1) await things.insertOne({ _id: n });
  const stopped = performance.now();
  await first.stop();
  await things.insertOne({ _id: 20 });
  await until(() => second.rows.some((row) => line(row) === 'insert things 20'), 'the second one records');
  const tookMs = performance.now() - stopped;
  t.comment(`hand-over took ${tookMs.toFixed(0)} ms`);
  // Otherwise it would wait for the end of the lease: it renews at least 3.5 of the 5 s before they end.
  t.ok(tookMs < 3_500);
  const ids = second.rows.map(line).filter((one) => one.startsWith('insert things'));
  t.same(
    ids,
    Array.from({ length: 21 }, (_, n) => `insert things ${n}`),
  );
});

t.test('there is one stream on the data and one on the log for each other process', async (t) => {
  const fixture = await eventFixture(t, url);
  const nodes = [await fixture.node(), await fixture.node(), await fixture.node()];
  await fixture.mongo.data.collection('x').insertOne({});
  for (const node of nodes)
    await until(() => node.rows.some((row) => row.collection === 'x'), 'it arrives in every process');
  const streams = async () => {
    const operations = await fixture.mongo.client
      .db('admin')
      .aggregate([
        { $currentOp: { allUsers: true, idleCursors: true } },
        { $match: { 'cursor.originatingCommand.pipeline.0.$changeStream': { $exists: true } } },
      ])
      .toArray();
    const names = operations.map((one) => String(one['ns'])).filter((name) => name.startsWith(fixture.database));
    return names
      .map((name) => (name.startsWith(`${fixture.database}_log`) ? 'log' : 'data'))
      .sort()
      .join();
  };
  await until(async () => (await streams()) === 'data,log,log', 'one and two');
});

t.test('after an idle time the resume token is stored, and recording continues from there', async (t) => {
  const fixture = await eventFixture(t, url);
  const node = await fixture.node({ markMs: 1 });
  // Otherwise images are enabled concurrently with recording, and the row of that may come at any time.
  await fixture.mongo.data.createCollection('x', { changeStreamPreAndPostImages: { enabled: true } });
  await fixture.mongo.data.collection('x').insertOne({ n: 1 });
  await until(() => node.rows.some((row) => row.operation === 'insert'), 'the row is recorded');
  const noted = async () => {
    const newest = await node.log.newest();
    return newest !== null && (await node.log.mark(newest)) > newest.token;
  };
  await until(noted, 'the token is stored');
  const newest = await node.log.newest();
  await node.stop();
  const next = await fixture.node();
  await fixture.mongo.data.collection('x').insertOne({ n: 2 });
  await until(() => next.rows.some((row) => row.operation === 'insert'), 'the next row is recorded');
  t.equal(next.rows.at(-1)?.number, (newest?.number ?? 0) + 1);
});

t.test('the log of another database is rejected', async (t) => {
  const fixture = await eventFixture(t, url);
  await fixture.node();
  const client = new MongoClient(url);
  t.teardown(() => client.close());
  const log = new EventLog(client.db(`${fixture.database}_log`), 'somebody_else');
  await t.rejects(log.open(), { message: /belongs to the database 'test_/ });
});

t.test('the recorder reports whether readers have all changes up to a cluster time', async (t) => {
  const fixture = await eventFixture(t, url);
  const node = await fixture.node();
  const other = await fixture.node();
  t.equal(node.recorder.hasPassed(new Timestamp({ t: 0xffffffff, i: 1 })), false, 'not the time to come');
  for (let count = 0; count < 20; count += 1) {
    const things = fixture.mongo.data.collection<{ _id: number }>('x');
    await things.insertOne({ _id: count });
    const reply = await fixture.mongo.data.command({ find: 'x', limit: 1, readConcern: { level: 'snapshot' } });
    const time = reply['cursor'].atClusterTime;
    await until(() => node.recorder.hasPassed(time), 'it has passed the time');
    t.ok(
      node.rows.some(({ key }) => key !== null && BSON.deserialize(key)['_id'] === count),
      'and every change before it has arrived',
    );
  }
  t.equal(
    other.recorder.hasPassed(new Timestamp({ t: 1, i: 1 })),
    false,
    'a process that does not record does not know',
  );
});

t.test('recording starts and continues without an error on a server that returns no time yet', async (t) => {
  const fixture = await eventFixture(t, url);
  let requested = 0;
  const data = new Proxy(fixture.mongo.data, {
    get: (db, name) => {
      if (name !== 'command') return Reflect.get(db, name);
      return async (...given: Parameters<typeof db.command>) => {
        const { operationTime, ...reply } = await db.command(...given);
        requested += 1;
        return requested < 6 ? reply : { ...reply, operationTime };
      };
    },
  });
  const node = await fixture.node({ data });
  await fixture.mongo.data.collection('a').insertOne({});
  await until(() => node.rows.some((row) => row.operation === 'insert'), 'the insert is recorded');
  t.ok(requested > 5, 'replies without a time were seen');
  t.same(
    node.notes.filter(({ level }) => level !== 'info'),
    [],
  );
});
