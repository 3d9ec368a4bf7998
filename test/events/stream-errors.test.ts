/**
 * The table of what a recorder does about errors, row by row, on a server with failpoints. After every error each
 * document is recorded once, in order, and the stored tokens rise.
 */
import { BSON, type Document } from 'mongodb';
import t, { type Test } from 'tap';
import type { LogRow } from '../../src/events/log/log-row.ts';
import { testReplicaSet } from '../helpers/database/replica-set.ts';
import { eventFixture, type Fixture, type Node } from '../helpers/events/event-fixture.ts';
import { until } from '../helpers/until.ts';

const set = await testReplicaSet(t, { args: ['--setParameter', 'enableTestCommands=1'] });

const reported = (node: Node) =>
  node.rows
    .filter((row) => row.operation === 'insert')
    .map((row) => Number(BSON.deserialize(row.key ?? Buffer.of())['_id']));
const things = (fixture: Fixture) => fixture.mongo.data.collection<{ _id: number; text?: string }>('things');
const upTo = (count: number) => Array.from({ length: count }, (_, n) => n);

async function fail(fixture: Fixture, mode: object | string, more: Document = {}): Promise<void> {
  await fixture.mongo.client.db('admin').command({ configureFailPoint: 'failCommand', mode, data: more });
}

/** Ten documents before an error, ten after it: all of them recorded once. */
async function survives(t: Test, fixture: Fixture, node: Node, issue: () => Promise<void>): Promise<readonly LogRow[]> {
  for (let n = 0; n < 10; n += 1) await things(fixture).insertOne({ _id: n });
  await issue();
  for (let n = 10; n < 20; n += 1) await things(fixture).insertOne({ _id: n });
  await until(() => reported(node).includes(19), 'the last one is recorded');
  t.same(reported(node), upTo(20));
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
  ['a closed cursor', 43],
  ['a primary that steps down', 10107],
  ['an interrupted operation', 11602],
] as const) {
  t.test(`${name} (${code}): continues from the newest row`, async (t) => {
    const fixture = await eventFixture(t, set.url);
    const node = await fixture.node();
    const rows = await survives(t, fixture, node, () =>
      fail(
        fixture,
        { times: 1 },
        { errorCode: code, failCommands: ['getMore'], namespace: `${fixture.database}.$cmd.aggregate` },
      ),
    );
    t.notOk(rows.some((row) => row.operation === 'gap'));
    await until(() => node.notes.some((note) => note.level === 'warn'), 'an operator is notified');
  });
}

t.test('a connection cut during a batch: written rows are found, the rest follows', async (t) => {
  const fixture = await eventFixture(t, set.url);
  const node = await fixture.node();
  await survives(t, fixture, node, () =>
    fail(
      fixture,
      { times: 2 },
      { closeConnection: true, failCommands: ['insert'], namespace: `${fixture.database}_log.log` },
    ),
  );
});

t.test('a write that a majority did not acknowledge is read again, not trusted', async (t) => {
  const fixture = await eventFixture(t, set.url);
  const node = await fixture.node();
  const writeConcernError = { code: 64, errmsg: 'waiting for replication timed out' };
  await survives(t, fixture, node, () =>
    fail(
      fixture,
      { times: 2 },
      { writeConcernError, failCommands: ['insert'], namespace: `${fixture.database}_log.log` },
    ),
  );
});

t.test('a token that is not found (280): continues by its time, without a gap', async (t) => {
  const fixture = await eventFixture(t, set.url);
  const first = await fixture.node();
  for (let n = 0; n < 10; n += 1) await things(fixture).insertOne({ _id: n });
  await until(() => reported(first).length === 10 && first.rows.at(-1)?.operation !== 'create', 'all recorded');
  await first.stop();
  const newest = await fixture.log.newest();
  // A token of the same time that no entry has: its collection's id ends differently.
  const foreign = Buffer.from(newest?.token.replace(/(5A1004[0-9A-F]{26})[0-9A-F]{6}/, '$1FFFFFF') ?? '', 'hex');
  await fixture.mongo.log.collection('mark').deleteMany({});
  await fixture.mongo.log
    .collection<{ _id: number; tk: Buffer }>('log')
    .updateOne({ _id: newest?.number ?? 0 }, { $set: { tk: foreign } });
  for (let n = 10; n < 20; n += 1) await things(fixture).insertOne({ _id: n });
  const second = await fixture.node();
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
  // Which of the two enables pre-images of the collection, and reports it, depends on timing.
  const warnings = second.notes.filter(({ level }) => level === 'warn');
  t.match(warnings, [{ details: { verdict: 'token-unknown' } }]);
});

t.test(
  'lost history (286): one gap in a new epoch, a reset for each collection, and recording continues',
  async (t) => {
    const fixture = await eventFixture(t, set.url);
    const node = await fixture.node();
    await things(fixture).insertOne({ _id: 0 });
    await until(() => reported(node).length === 1, 'told');
    await fail(
      fixture,
      { times: 1 },
      { errorCode: 286, failCommands: ['getMore'], namespace: `${fixture.database}.$cmd.aggregate` },
    );
    await until(() => node.rows.some((row) => row.operation === 'gap'), 'the gap is recorded');
    await things(fixture).insertOne({ _id: 1 });
    await until(() => reported(node).includes(1), 'recorded after the gap');
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
  },
);

t.test('an invalidate is a row, and the stream continues behind it', async (t) => {
  const fixture = await eventFixture(t, set.url);
  const node = await fixture.node();
  await survives(t, fixture, node, async () => {
    await fixture.mongo.data.dropDatabase();
  });
  t.ok(node.rows.some((row) => row.operation === 'invalidate'));
  t.ok(node.rows.some((row) => row.operation === 'dropDatabase'));
});

t.test('a foreign collection gets images, and its later changes have them', async (t) => {
  const fixture = await eventFixture(t, set.url);
  await fixture.mongo.data.createCollection('found');
  const node = await fixture.node();
  const images = async (name: string) => {
    const [one] = await fixture.mongo.data.listCollections({ name }).toArray();
    return one !== undefined && 'options' in one && one.options?.['changeStreamPreAndPostImages']?.enabled === true;
  };
  await until(() => images('found'), 'what was there before the start');
  await things(fixture).insertOne({ _id: 0 });
  await until(() => images('things'), 'a collection created in between');
  await fixture.mongo.data.createCollection('plain', { changeStreamPreAndPostImages: { enabled: false } });
  await fixture.mongo.data.renameCollection('plain', 'renamed');
  await until(() => images('renamed'), 'what is renamed');
  await things(fixture).updateOne({ _id: 0 }, { $set: { text: 'x' } });
  await until(() => node.rows.some((row) => row.operation === 'update'), 'the update is recorded');
  const update = node.rows.find((row) => row.operation === 'update');
  t.ok(update?.before && update.after);
});

t.test('a late reply, as over many foreign writes: the next one gets twice the time', async (t) => {
  const fixture = await eventFixture(t, set.url);
  t.teardown(() => fail(fixture, 'off'));
  await fail(fixture, 'alwaysOn', {
    blockConnection: true,
    blockTimeMS: 1500,
    failCommands: ['getMore'],
    namespace: `${fixture.database}.$cmd.aggregate`,
  });
  const node = await fixture.node({ responseMs: 200 });
  await things(fixture).insertOne({ _id: 1 });
  await until(() => reported(node).includes(1), 'told');
  const late = node.notes.filter(({ level, details }) => level === 'warn' && details['verdict'] === 'away');
  t.ok(late.length >= 3, `given up ${late.length} times before`);
});

t.test('a denial (13) stops recording, is reported, and does not loop', async (t) => {
  const fixture = await eventFixture(t, set.url);
  const node = await fixture.node();
  t.teardown(() => fail(fixture, 'off'));
  await fail(fixture, 'alwaysOn', {
    errorCode: 13,
    failCommands: ['getMore', 'aggregate'],
    namespace: `${fixture.database}.$cmd.aggregate`,
  });
  await until(() => node.recorder.state.status === 'stopped', 'it stops');
  t.ok(node.recorder.state.error);
  t.equal(node.notes.filter((note) => note.level === 'error').length, 1);
  t.equal((await node.lease.state())?.owner, null, 'another one may try');
  await fail(fixture, 'off');
  const other = await fixture.node();
  await things(fixture).insertOne({ _id: 1 });
  await until(() => reported(other).includes(1) && reported(node).includes(1), 'and this process follows it');
});

t.test('a recording that keeps failing is detected, and one by another process is not', async (t) => {
  const fixture = await eventFixture(t, set.url);
  let ahead = 0;
  const now = () => performance.now() + ahead;
  const node = await fixture.node({ now });
  const other = await fixture.node({ now });
  t.teardown(() => fail(fixture, 'off'));
  await fail(fixture, 'alwaysOn', {
    errorCode: 1,
    failCommands: ['getMore'],
    namespace: `${fixture.database}.$cmd.aggregate`,
  });
  await until(() => node.recorder.state.status === 'failing', 'it fails');
  t.equal(node.recorder.working, true, 'for a moment only, yet');
  ahead = 20_000;
  t.equal(node.recorder.working, false, 'the opening still gets its reply, which says nothing about later ones');
  await until(() => other.recorder.working, 'the other one waits');
  await fail(fixture, 'off');
  await until(() => node.recorder.working, 'it works again');
});

t.test('a server restart misses nothing', async (t) => {
  const fixture = await eventFixture(t, set.url);
  const node = await fixture.node();
  await survives(t, fixture, node, async () => {
    const [member] = set.members;
    await member?.kill('SIGKILL');
    await member?.start();
    await set.primary();
  });
});
