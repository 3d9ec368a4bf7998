/**
 * The table of what a recorder does about errors, row by row, on a server that lets errors be caused. What changes means
 * here: after every fault each document is told once, in order, and the stored tokens rise.
 */
import { BSON, type Document } from 'mongodb';
import t, { type Test } from 'tap';
import type { LogRow } from '../../src/events/log/row.ts';
import { testReplicaSet } from '../helpers/database/replica-set.ts';
import { eventWorld, type Node, type World } from '../helpers/events/event-world.ts';
import { until } from '../helpers/until.ts';

const set = await testReplicaSet(t, { args: ['--setParameter', 'enableTestCommands=1'] });

const told = (node: Node) =>
  node.rows
    .filter((row) => row.operation === 'insert')
    .map((row) => Number(BSON.deserialize(row.key ?? Buffer.of())['_id']));
const things = (world: World) => world.mongo.data.collection<{ _id: number; text?: string }>('things');
const upTo = (count: number) => Array.from({ length: count }, (_, n) => n);

async function fail(world: World, mode: object | string, more: Document = {}): Promise<void> {
  await world.mongo.client.db('admin').command({ configureFailPoint: 'failCommand', mode, data: more });
}

/** Ten documents before a fault, ten after it: all of them told once. */
async function survives(t: Test, world: World, node: Node, fault: () => Promise<void>): Promise<readonly LogRow[]> {
  for (let n = 0; n < 10; n += 1) await things(world).insertOne({ _id: n });
  await fault();
  for (let n = 10; n < 20; n += 1) await things(world).insertOne({ _id: n });
  await until(() => told(node).includes(19), 'the last one is told');
  t.same(told(node), upTo(20));
  t.same(
    node.rows.map((row) => row.number),
    upTo(node.rows.length).map((n) => n + 1),
  );
  t.same(
    node.rows.map((row) => row.token),
    node.rows.map((row) => row.token).toSorted(),
  );
  return node.rows;
}

for (const [name, code] of [
  ['a cursor that is gone', 43],
  ['a primary that steps down', 10107],
  ['an interrupted operation', 11602],
] as const) {
  t.test(`${name} (${code}): on from the newest row`, async (t) => {
    const world = await eventWorld(t, set.url);
    const node = await world.node();
    const rows = await survives(t, world, node, () =>
      fail(
        world,
        { times: 1 },
        { errorCode: code, failCommands: ['getMore'], namespace: `${world.database}.$cmd.aggregate` },
      ),
    );
    t.notOk(rows.some((row) => row.operation === 'gap'));
    await until(() => node.notes.some((note) => note.level === 'warn'), 'an operator hears of it');
  });
}

t.test('a connection cut while a batch is on its way: what was written is found, the rest follows', async (t) => {
  const world = await eventWorld(t, set.url);
  const node = await world.node();
  await survives(t, world, node, () =>
    fail(
      world,
      { times: 2 },
      { closeConnection: true, failCommands: ['insert'], namespace: `${world.database}_log.log` },
    ),
  );
});

t.test('a write that was not acknowledged by a majority is read again, not trusted', async (t) => {
  const world = await eventWorld(t, set.url);
  const node = await world.node();
  const writeConcernError = { code: 64, errmsg: 'waiting for replication timed out' };
  await survives(t, world, node, () =>
    fail(world, { times: 2 }, { writeConcernError, failCommands: ['insert'], namespace: `${world.database}_log.log` }),
  );
});

t.test('a token that is not found (280): on by its time, without a gap', async (t) => {
  const world = await eventWorld(t, set.url);
  const first = await world.node();
  for (let n = 0; n < 10; n += 1) await things(world).insertOne({ _id: n });
  await until(() => told(first).length === 10 && first.rows.at(-1)?.operation !== 'create', 'all told');
  await first.stop();
  const newest = await world.log.newest();
  // A token of the same moment that no entry has: its collection's id ends otherwise.
  const foreign = Buffer.from(newest?.token.replace(/(5A1004[0-9A-F]{26})[0-9A-F]{6}/, '$1FFFFFF') ?? '', 'hex');
  await world.mongo.log.collection('mark').deleteMany({});
  await world.mongo.log
    .collection<{ _id: number; tk: Buffer }>('log')
    .updateOne({ _id: newest?.number ?? 0 }, { $set: { tk: foreign } });
  for (let n = 10; n < 20; n += 1) await things(world).insertOne({ _id: n });
  const second = await world.node();
  const recorded = async () => (await second.log.read(0, 100)).filter((row) => row.operation === 'insert').length;
  await until(async () => (await recorded()) >= 20, 'all recorded');
  const rows = await second.log.read(0, 100);
  t.same(
    rows
      .filter((row) => row.operation === 'insert')
      .map((row) => Number(BSON.deserialize(row.key ?? Buffer.of())['_id'])),
    upTo(20),
  );
  t.notOk(rows.some((row) => row.operation === 'gap'));
  // Which of the two prepares the collection for pre-images, and says so, is a matter of time.
  const warnings = second.notes.filter(({ level }) => level === 'warn');
  t.match(warnings, [{ details: { verdict: 'token-unknown' } }]);
});

t.test('history lost (286): one gap in a new epoch, a reset for each collection, and on', async (t) => {
  const world = await eventWorld(t, set.url);
  const node = await world.node();
  await things(world).insertOne({ _id: 0 });
  await until(() => told(node).length === 1, 'told');
  await fail(
    world,
    { times: 1 },
    { errorCode: 286, failCommands: ['getMore'], namespace: `${world.database}.$cmd.aggregate` },
  );
  await until(() => node.rows.some((row) => row.operation === 'gap'), 'the gap is told');
  await things(world).insertOne({ _id: 1 });
  await until(() => told(node).includes(1), 'told behind the gap');
  const gap = node.rows.filter((row) => row.operation === 'gap');
  t.equal(gap.length, 1);
  t.match(gap[0], { epoch: 2, from: /Z$/, to: /Z$/ });
  t.same(
    new Set(node.rows.filter((row) => row.operation === 'reset').map((row) => row.collection)),
    new Set(['things', '_settings']),
  );
  t.same(
    node.rows.map((row) => row.number),
    upTo(node.rows.length).map((n) => n + 1),
  );
});

t.test('an invalidate is a row, and the stream goes on behind it', async (t) => {
  const world = await eventWorld(t, set.url);
  const node = await world.node();
  await survives(t, world, node, async () => {
    await world.mongo.data.dropDatabase();
  });
  t.ok(node.rows.some((row) => row.operation === 'invalidate'));
  t.ok(node.rows.some((row) => row.operation === 'dropDatabase'));
});

t.test('a collection of others gets images, and its changes carry them from then on', async (t) => {
  const world = await eventWorld(t, set.url);
  await world.mongo.data.createCollection('found');
  const node = await world.node();
  const images = async (name: string) => {
    const [one] = await world.mongo.data.listCollections({ name }).toArray();
    return one !== undefined && 'options' in one && one.options?.['changeStreamPreAndPostImages']?.enabled === true;
  };
  await until(() => images('found'), 'what was there before the start');
  await things(world).insertOne({ _id: 0 });
  await until(() => images('things'), 'what is made meanwhile');
  await world.mongo.data.createCollection('plain', { changeStreamPreAndPostImages: { enabled: false } });
  await world.mongo.data.renameCollection('plain', 'renamed');
  await until(() => images('renamed'), 'what is renamed');
  await things(world).updateOne({ _id: 0 }, { $set: { text: 'x' } });
  await until(() => node.rows.some((row) => row.operation === 'update'), 'the update is told');
  const update = node.rows.find((row) => row.operation === 'update');
  t.ok(update?.before && update.after);
});

t.test('an answer that is late, as over much that others wrote: the next one gets twice the time', async (t) => {
  const world = await eventWorld(t, set.url);
  t.teardown(() => fail(world, 'off'));
  await fail(world, 'alwaysOn', {
    blockConnection: true,
    blockTimeMS: 1500,
    failCommands: ['getMore'],
    namespace: `${world.database}.$cmd.aggregate`,
  });
  const node = await world.node({ answerMs: 200 });
  await things(world).insertOne({ _id: 1 });
  await until(() => told(node).includes(1), 'told');
  const late = node.notes.filter(({ level, details }) => level === 'warn' && details['verdict'] === 'away');
  t.ok(late.length >= 3, `given up ${late.length} times before`);
});

t.test('a refusal (13) stops recording, says so, and does not spin', async (t) => {
  const world = await eventWorld(t, set.url);
  const node = await world.node();
  t.teardown(() => fail(world, 'off'));
  await fail(world, 'alwaysOn', {
    errorCode: 13,
    failCommands: ['getMore', 'aggregate'],
    namespace: `${world.database}.$cmd.aggregate`,
  });
  await until(() => node.recorder.state.status === 'stopped', 'it stops');
  t.ok(node.recorder.state.fault);
  t.equal(node.notes.filter((note) => note.level === 'error').length, 1);
  t.equal((await node.lease.state())?.owner, null, 'another one may try');
  await fail(world, 'off');
  const other = await world.node();
  await things(world).insertOne({ _id: 1 });
  await until(() => told(other).includes(1) && told(node).includes(1), 'and this process follows it');
});

t.test('a recording that keeps failing is known to, and one that others do is not', async (t) => {
  const world = await eventWorld(t, set.url);
  let ahead = 0;
  const now = () => performance.now() + ahead;
  const node = await world.node({ now });
  const other = await world.node({ now });
  t.teardown(() => fail(world, 'off'));
  await fail(world, 'alwaysOn', {
    errorCode: 1,
    failCommands: ['getMore'],
    namespace: `${world.database}.$cmd.aggregate`,
  });
  await until(() => node.recorder.state.status === 'failing', 'it fails');
  t.equal(node.recorder.working, true, 'for a moment only, yet');
  ahead = 20_000;
  t.equal(node.recorder.working, false, 'the opening is still answered, which says nothing about what follows');
  await until(() => other.recorder.working, 'the other one waits');
  await fail(world, 'off');
  await until(() => node.recorder.working, 'it works again');
});

t.test('the server restarts: nothing is missed', async (t) => {
  const world = await eventWorld(t, set.url);
  const node = await world.node();
  await survives(t, world, node, async () => {
    const [member] = set.members;
    await member?.kill('SIGKILL');
    await member?.start();
    await set.primary();
  });
});
