/**
 * Histories that end: the oplog overwritten while everybody is away, backups put back, a log dropped. The log says so
 * once, nothing spins, and a position from before is never taken for one of now.
 */
import { BSON, type Document } from 'mongodb';
import t from 'tap';
import { Feed } from '../../src/events/read/feed.ts';
import { FairSemaphore } from '../../src/kernel/concurrency/fair-semaphore.ts';
import { testReplicaSet } from '../helpers/database/replica-set.ts';
import { eventWorld, type Node, type World } from '../helpers/events/event-world.ts';
import { until } from '../helpers/until.ts';

const told = (node: Node) =>
  node.rows.filter((row) => row.operation === 'insert').map((row) => BSON.deserialize(row.key ?? Buffer.of())['_id']);
const put = (world: World, _id: string) =>
  world.mongo.data.collection<{ _id: string; text?: string }>('things').insertOne({ _id });

async function refused(t: import('tap').Test, node: Node, position: string) {
  await t.rejects(new Feed(node.tail, node.log, new FairSemaphore(1, 1)).usable(position), { code: 'epoch-changed' });
}

t.test('the oplog is overwritten while nobody records: one gap, and on', async (t) => {
  // The smallest oplog, and a server that forgets without delay.
  const set = await testReplicaSet(t, { args: ['--oplogSize', '1', '--syncdelay', '1'] });
  const world = await eventWorld(t, set.url);
  const first = await world.node();
  await put(world, 'a');
  await until(() => told(first).includes('a'), 'told');
  await first.stop();
  const oldest = async (): Promise<Document | null> =>
    await world.mongo.client
      .db('local')
      .collection('oplog.rs')
      .findOne({}, { sort: { $natural: 1 }, projection: { ts: 1 } });
  const newest = await world.log.newest();
  const bulk = world.mongo.client.db('elsewhere').collection('bulk');
  const overwritten = async () => {
    for (let n = 0; n < 8; n += 1) await bulk.insertOne({ text: 'x'.repeat(1024 * 1024) });
    return (await oldest())?.['ts'].greaterThan(newest?.time);
  };
  await until(overwritten, 'the oplog begins behind the newest row', 120_000);
  await put(world, 'unseen');
  const second = await world.node();
  await until(() => second.rows.some((row) => row.operation === 'gap'), 'the gap is told', 60_000);
  await put(world, 'b');
  await until(() => told(second).includes('b'), 'told behind the gap');
  const rows = await second.log.read(0, 1000);
  t.equal(rows.filter((row) => row.operation === 'gap').length, 1, 'once');
  t.match(
    rows.find((row) => row.operation === 'gap'),
    { epoch: 2, number: (newest?.number ?? 0) + 1 },
  );
  t.ok(rows.some((row) => row.operation === 'reset' && row.collection === 'things'));
  await refused(t, second, `1-${newest?.number}`);
});

t.test('a log carried to another replica set begins a new epoch', async (t) => {
  const set = await testReplicaSet(t);
  const world = await eventWorld(t, set.url);
  const first = await world.node();
  await put(world, 'a');
  await until(() => told(first).includes('a'), 'told');
  await first.stop();
  // As a dump restored elsewhere: the log says which set it was written on.
  await world.log.setOrigin('somewhere else');
  const second = await world.node();
  await put(world, 'b');
  await until(() => told(second).includes('b'), 'told');
  t.equal(second.rows.filter((row) => row.operation === 'gap').length, 1);
  t.equal(second.tail.position.epoch, 2);
  await refused(t, second, '1-2');
  await second.stop();
  const third = await world.node();
  await put(world, 'c');
  await until(() => told(third).includes('c'), 'told');
  t.equal(third.tail.position.epoch, 2, 'and only once');
});

t.test('a log put back to an older state under a running process begins a new epoch', async (t) => {
  const set = await testReplicaSet(t);
  const world = await eventWorld(t, set.url);
  const node = await world.node();
  for (const id of ['a', 'b', 'c']) await put(world, id);
  // The switch to images is a row too, and must not come after what is taken away below.
  const settled = () => told(node).includes('c') && node.rows.some((row) => row.operation === 'meta');
  await until(settled, 'told');
  const before = node.tail.position;
  await world.mongo.log.collection<{ _id: number }>('log').deleteMany({ _id: { $gt: 3 } });
  // The recorder looks at the newest row when its stream is opened anew.
  const [member] = set.members;
  await member?.kill('SIGTERM');
  await member?.start();
  await set.primary();
  await until(() => node.tail.position.epoch === 2, 'a new epoch', 60_000);
  await put(world, 'd');
  await until(() => told(node).includes('d'), 'told');
  await refused(t, node, `1-${before.number}`);
});

t.test('a dropped log begins anew with an epoch that never was', async (t) => {
  const set = await testReplicaSet(t);
  const world = await eventWorld(t, set.url);
  const first = await world.node();
  await put(world, 'a');
  await until(() => told(first).includes('a'), 'told');
  await world.log.raiseFloor(2);
  await first.stop();
  await world.mongo.log.dropCollection('log');
  const second = await world.node();
  await put(world, 'b');
  await until(() => told(second).includes('b'), 'told');
  t.match(second.rows[0], { operation: 'start', number: 1, epoch: 2 });
  await refused(t, second, '1-1');
});

t.test('a log dropped with its database under a running process begins anew', async (t) => {
  const set = await testReplicaSet(t);
  const world = await eventWorld(t, set.url);
  const node = await world.node();
  await put(world, 'a');
  await until(() => told(node).includes('a') && node.rows.some((row) => row.operation === 'meta'), 'told');
  await world.mongo.log.dropDatabase();
  await until(() => node.rows.some((row) => row.operation === 'gap'), 'it begins anew');
  await put(world, 'b');
  await until(() => told(node).includes('b'), 'told');
  await refused(t, node, '1-2');
});

t.test('a log collection dropped under a running process begins anew, as it was made', async (t) => {
  const set = await testReplicaSet(t);
  const world = await eventWorld(t, set.url);
  const node = await world.node();
  const reader = await world.node({ records: false });
  await put(world, 'a');
  await until(() => told(reader).includes('a') && reader.rows.some((row) => row.operation === 'meta'), 'told');
  const { number } = node.tail.position;
  await world.mongo.log.dropCollection('log');
  await put(world, 'b');
  for (const one of [node, reader])
    await until(() => one.rows.some((row) => row.operation === 'gap'), 'it begins anew');
  await put(world, 'c');
  for (const one of [node, reader]) await until(() => told(one).includes('c'), 'told');
  await refused(t, node, `1-${number}`);
  const [made] = await world.mongo.log.listCollections({ name: 'log' }).toArray();
  t.match(made, { options: { clusteredIndex: { unique: true } } });
});

t.test('data restored without its log begins with an epoch that no earlier log reached', async (t) => {
  const set = await testReplicaSet(t);
  const world = await eventWorld(t, set.url);
  const first = await world.node();
  t.equal(first.tail.position.epoch, 1, 'an empty database begins with the first');
  await put(world, 'a');
  await until(() => told(first).includes('a'), 'told');
  await first.stop();
  // As a dump of the data alone, restored on another server or beside a log that was lost.
  await world.mongo.log.dropDatabase();
  const second = await world.node();
  await put(world, 'b');
  await until(() => told(second).includes('b'), 'told');
  t.ok(second.tail.position.epoch > 1_000_000, `epoch ${second.tail.position.epoch}`);
  await refused(t, second, '1-1');
  await refused(t, second, '1-2');
  await second.stop();
  await world.mongo.log.dropDatabase();
  const third = await world.node();
  await put(world, 'c');
  await until(() => told(third).includes('c'), 'told');
  t.ok(third.tail.position.epoch > second.tail.position.epoch, 'each time another one');
});

t.test('data restored in place is told as what it is, and positions stay good', async (t) => {
  const set = await testReplicaSet(t);
  const world = await eventWorld(t, set.url);
  const first = await world.node();
  for (const id of ['a', 'b']) await put(world, id);
  const settled = () => told(first).includes('b') && first.rows.some((row) => row.operation === 'meta');
  await until(settled, 'told');
  const before = first.tail.position;
  await first.stop();
  // What mongorestore --drop does with an older dump, while nobody records.
  await world.mongo.data.dropCollection('things');
  await put(world, 'a');
  const second = await world.node();
  await put(world, 'c');
  await until(() => told(second).includes('c') || second.tail.position.number > before.number + 4, 'told');
  const rows = await second.log.read(before.number, 100);
  t.strictSame(
    rows.map((row) => row.operation).filter((operation) => !['create', 'meta'].includes(operation)),
    ['drop', 'insert', 'insert'],
  );
  t.equal(second.tail.position.epoch, 1);
  await new Feed(second.tail, second.log, new FairSemaphore(1, 1)).usable(`1-${before.number}`);
});
