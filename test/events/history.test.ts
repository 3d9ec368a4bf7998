/**
 * Gaps of the history: the oplog overwritten while no process runs, restored backups, a dropped log. The log records
 * each once, nothing loops, and an old position is never mistaken for a current one.
 */
import { BSON, type Document } from 'mongodb';
import t from 'tap';
import { Feed } from '../../src/events/read/feed.ts';
import { FairSemaphore } from '../../src/lib/concurrency/fair-semaphore.ts';
import { testReplicaSet } from '../helpers/database/replica-set.ts';
import { eventFixture, type Fixture, type Node } from '../helpers/events/event-fixture.ts';
import { until } from '../helpers/until.ts';

const reported = (node: Node) =>
  node.rows.filter((row) => row.operation === 'insert').map((row) => BSON.deserialize(row.key ?? Buffer.of())['_id']);
const put = (fixture: Fixture, _id: string) =>
  fixture.mongo.data.collection<{ _id: string; text?: string }>('things').insertOne({ _id });

async function refused(t: import('tap').Test, node: Node, position: string) {
  await t.rejects(new Feed(node.tail, node.log, new FairSemaphore(1, 1)).usable(position), { code: 'epoch-changed' });
}

t.test('the oplog is overwritten while no process records: one gap, and recording continues', async (t) => {
  // The smallest oplog, and a server that deletes without delay.
  const set = await testReplicaSet(t, { args: ['--oplogSize', '1', '--syncdelay', '1'] });
  const fixture = await eventFixture(t, set.url);
  const first = await fixture.node();
  await put(fixture, 'a');
  await until(() => reported(first).includes('a'), 'told');
  await first.stop();
  const oldest = async (): Promise<Document | null> =>
    await fixture.mongo.client
      .db('local')
      .collection('oplog.rs')
      .findOne({}, { sort: { $natural: 1 }, projection: { ts: 1 } });
  const newest = await fixture.log.newest();
  const bulk = fixture.mongo.client.db('elsewhere').collection('bulk');
  const overwritten = async () => {
    for (let n = 0; n < 8; n += 1) await bulk.insertOne({ text: 'x'.repeat(1024 * 1024) });
    return (await oldest())?.['ts'].greaterThan(newest?.time);
  };
  await until(overwritten, 'the oplog begins after the newest row', 120_000);
  await put(fixture, 'unseen');
  const second = await fixture.node();
  await until(() => second.rows.some((row) => row.operation === 'gap'), 'the gap is recorded', 60_000);
  await put(fixture, 'b');
  await until(() => reported(second).includes('b'), 'recorded after the gap');
  const rows = await second.log.read(0, 1000);
  t.equal(rows.filter((row) => row.operation === 'gap').length, 1, 'once');
  t.match(
    rows.find((row) => row.operation === 'gap'),
    { epoch: 2, number: (newest?.number ?? 0) + 1 },
  );
  t.ok(rows.some((row) => row.operation === 'reset' && row.collection === 'things'));
  await refused(t, second, `1-${newest?.number}`);
});

/** One for the tests that can share it: each has databases of its own. */
const set = await testReplicaSet(t);

t.test('a log moved to another replica set begins a new epoch', async (t) => {
  const fixture = await eventFixture(t, set.url);
  const first = await fixture.node();
  await put(fixture, 'a');
  await until(() => reported(first).includes('a'), 'told');
  await first.stop();
  // As after a dump restored elsewhere: the log contains the id of its set.
  await fixture.log.setOrigin('somewhere else');
  const second = await fixture.node();
  await put(fixture, 'b');
  await until(() => reported(second).includes('b'), 'told');
  t.equal(second.rows.filter((row) => row.operation === 'gap').length, 1);
  t.equal(second.tail.position.epoch, 2);
  await refused(t, second, '1-2');
  await second.stop();
  const third = await fixture.node();
  await put(fixture, 'c');
  await until(() => reported(third).includes('c'), 'told');
  t.equal(third.tail.position.epoch, 2, 'and only once');
});

t.test('a log restored to an older state under a running process begins a new epoch', async (t) => {
  const fixture = await eventFixture(t, set.url);
  const node = await fixture.node();
  for (const id of ['a', 'b', 'c']) await put(fixture, id);
  // Enabling images is a row too, and must not come after what is deleted below.
  const settled = () => reported(node).includes('c') && node.rows.some((row) => row.operation === 'meta');
  await until(settled, 'told');
  const before = node.tail.position;
  await fixture.mongo.log.collection<{ _id: number }>('log').deleteMany({ _id: { $gt: 3 } });
  // The recorder reads the newest row when its stream is opened again.
  const [member] = set.members;
  await member?.kill('SIGTERM');
  await member?.start();
  await set.primary();
  await until(() => node.tail.position.epoch === 2, 'a new epoch', 60_000);
  await put(fixture, 'd');
  await until(() => reported(node).includes('d'), 'told');
  await refused(t, node, `1-${before.number}`);
});

t.test('a dropped log starts again with an unused epoch', async (t) => {
  const fixture = await eventFixture(t, set.url);
  const first = await fixture.node();
  await put(fixture, 'a');
  await until(() => reported(first).includes('a'), 'told');
  await fixture.log.raiseFloor(2);
  await first.stop();
  await fixture.mongo.log.dropCollection('log');
  const second = await fixture.node();
  await put(fixture, 'b');
  await until(() => reported(second).includes('b'), 'told');
  t.match(second.rows[0], { operation: 'start', number: 1, epoch: 2 });
  await refused(t, second, '1-1');
});

t.test('a log dropped with its database under a running process starts again', async (t) => {
  const fixture = await eventFixture(t, set.url);
  const node = await fixture.node();
  await put(fixture, 'a');
  await until(() => reported(node).includes('a') && node.rows.some((row) => row.operation === 'meta'), 'told');
  await fixture.mongo.log.dropDatabase();
  await until(() => node.rows.some((row) => row.operation === 'gap'), 'it starts again');
  await put(fixture, 'b');
  await until(() => reported(node).includes('b'), 'told');
  await refused(t, node, '1-2');
});

t.test('a log collection dropped under a running process is created again with its options', async (t) => {
  const fixture = await eventFixture(t, set.url);
  const node = await fixture.node();
  const reader = await fixture.node({ records: false });
  await put(fixture, 'a');
  await until(() => reported(reader).includes('a') && reader.rows.some((row) => row.operation === 'meta'), 'told');
  const { number } = node.tail.position;
  await fixture.mongo.log.dropCollection('log');
  await put(fixture, 'b');
  for (const one of [node, reader])
    await until(() => one.rows.some((row) => row.operation === 'gap'), 'it starts again');
  await put(fixture, 'c');
  for (const one of [node, reader]) await until(() => reported(one).includes('c'), 'told');
  await refused(t, node, `1-${number}`);
  const [created] = await fixture.mongo.log.listCollections({ name: 'log' }).toArray();
  t.match(created, { options: { clusteredIndex: { unique: true } } });
});

t.test('data restored without its log begins with an epoch that no earlier log reached', async (t) => {
  const fixture = await eventFixture(t, set.url);
  const first = await fixture.node();
  t.equal(first.tail.position.epoch, 1, 'an empty database begins with the first');
  await put(fixture, 'a');
  await until(() => reported(first).includes('a'), 'told');
  await first.stop();
  // As after a dump of the data alone, restored on another server or beside a log that was lost.
  await fixture.mongo.log.dropDatabase();
  const second = await fixture.node();
  await put(fixture, 'b');
  await until(() => reported(second).includes('b'), 'told');
  t.ok(second.tail.position.epoch > 1_000_000, `epoch ${second.tail.position.epoch}`);
  await refused(t, second, '1-1');
  await refused(t, second, '1-2');
  await second.stop();
  await fixture.mongo.log.dropDatabase();
  const third = await fixture.node();
  await put(fixture, 'c');
  await until(() => reported(third).includes('c'), 'told');
  t.ok(third.tail.position.epoch > second.tail.position.epoch, 'each time another one');
});

t.test('data restored in place is recorded as changes, and positions stay valid', async (t) => {
  const fixture = await eventFixture(t, set.url);
  const first = await fixture.node();
  for (const id of ['a', 'b']) await put(fixture, id);
  const settled = () => reported(first).includes('b') && first.rows.some((row) => row.operation === 'meta');
  await until(settled, 'told');
  const before = first.tail.position;
  await first.stop();
  // What mongorestore --drop does with an older dump, while no process records.
  await fixture.mongo.data.dropCollection('things');
  await put(fixture, 'a');
  const second = await fixture.node();
  await put(fixture, 'c');
  await until(() => reported(second).includes('c') || second.tail.position.number > before.number + 4, 'told');
  const rows = await second.log.read(before.number, 100);
  t.strictSame(
    rows.map((row) => row.operation).filter((operation) => !['create', 'meta'].includes(operation)),
    ['drop', 'insert', 'insert'],
  );
  t.equal(second.tail.position.epoch, 1);
  await new Feed(second.tail, second.log, new FairSemaphore(1, 1)).usable(`1-${before.number}`);
});
