/** What a process receives of the log: each row once and in order, whole transactions, filled holes, no old numbers. */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { Timestamp } from 'mongodb';
import t from 'tap';
import { encodeLogRow, LOG_ROW_DEFAULTS, type LogRow, logRowBytes } from '../../../src/events/log/log-row.ts';
import { LogTail } from '../../../src/events/log/log-tail.ts';
import { RingBuffer } from '../../../src/events/log/ring-buffer.ts';
import { eventFixture, type Fixture } from '../../helpers/events/event-fixture.ts';
import { testMongo } from '../../helpers/mongo.ts';
import { until } from '../../helpers/until.ts';

setFlagsFromString('--expose-gc');
const collect: () => void = runInNewContext('gc');

const { url } = await testMongo(t);

const row = (number: number, more: Partial<LogRow> = {}): LogRow => ({
  ...LOG_ROW_DEFAULTS,
  number,
  epoch: 1,
  token: `82${number.toString(16).padStart(8, '0')}`.toUpperCase(),
  time: new Timestamp({ t: 1, i: number }),
  wall: new Date(number),
  operation: 'insert',
  collection: 'a',
  ...more,
});

/** A tail on a log that the test writes by itself. */
async function tailOf(t: Tap, fixture: Fixture, rows: readonly LogRow[]) {
  await fixture.log.open();
  await store(fixture, rows);
  const tail = new LogTail({ log: fixture.log });
  const reported: number[] = [];
  let lost = 0;
  tail.attach({ rows: (more) => reported.push(...more.map((one) => one.number)), lost: () => (lost += 1) });
  await tail.start();
  t.teardown(() => tail.stop());
  return { tail, reported, lost: () => lost };
}

async function store(fixture: Fixture, rows: readonly LogRow[]): Promise<void> {
  for (const one of rows)
    await fixture.mongo.log.command({ insert: 'log', documents: [encodeLogRow(one)], writeConcern: { w: 'majority' } });
}

type Tap = import('tap').Test;

t.test('rows of other writers arrive once, whatever else is passed in', async (t) => {
  const fixture = await eventFixture(t, url);
  const { tail, reported } = await tailOf(t, fixture, [row(1), row(2)]);
  t.same(tail.position, { epoch: 1, number: 2 }, 'it starts at the newest row');
  await store(fixture, [row(3), row(4)]);
  await until(() => reported.length === 2, 'told');
  tail.take([row(2), row(3), row(4)]);
  t.same(reported, [3, 4]);
  await store(fixture, [row(5), row(6), row(7)]);
  tail.take([row(7)]);
  await until(() => reported.length === 5, 'the hole is filled from the log');
  t.same(reported, [3, 4, 5, 6, 7]);
});

t.test('a transaction arrives as a whole', async (t) => {
  const fixture = await eventFixture(t, url);
  const { tail, reported } = await tailOf(t, fixture, [row(1)]);
  const one = (index: number, last: boolean) => ({ transaction: { id: 's:1', index, last } });
  await store(fixture, [row(2, one(0, false)), row(3, one(1, false))]);
  await until(() => tail.seen.number === 3, 'both are seen');
  t.same(reported, []);
  t.equal(tail.position.number, 1);
  await store(fixture, [row(4, one(2, true))]);
  await until(() => reported.length === 3, 'they arrive together');
  t.same(reported, [2, 3, 4]);
});

t.test('rows below the floor reach no reader, and a reader that was overtaken is notified', async (t) => {
  const fixture = await eventFixture(t, url);
  const { tail, reported, lost } = await tailOf(t, fixture, [row(1), row(2)]);
  await fixture.log.raiseFloor(100);
  // As a recorder would that was frozen for longer than the retention.
  await store(fixture, [row(50), row(51)]);
  await store(fixture, [row(100), row(101)]);
  await until(() => reported.includes(101), 'the new ones arrive');
  t.same(reported, [100, 101]);
  t.equal(lost(), 1);
  await store(fixture, [row(60)]);
  await store(fixture, [row(102)]);
  await until(() => reported.includes(102), 'it continues');
  t.same(reported, [100, 101, 102]);
  t.same(
    (await fixture.log.read(0, 100)).map((one) => one.number),
    [100, 101, 102],
  );
  t.same(
    (await tail.read(99, 100)).map((one) => one.number),
    [100, 101, 102],
  );
});

t.test('a log restored to an older state is followed from its gap on', async (t) => {
  const fixture = await eventFixture(t, url);
  const { tail, reported } = await tailOf(t, fixture, [row(1)]);
  await store(fixture, [row(2), row(3), row(4), row(5)]);
  await until(() => reported.length === 4, 'told');
  await fixture.mongo.log.collection('log').deleteMany({ op: 'insert', w: { $gte: new Date(4) } });
  await store(fixture, [row(4, { operation: 'gap', epoch: 2 }), row(5, { epoch: 2 }), row(6, { epoch: 2 })]);
  await until(() => reported.length === 7, 'the new history arrives');
  t.same(reported, [2, 3, 4, 5, 4, 5, 6]);
  t.same(tail.position, { epoch: 2, number: 6 });
});

t.test('a reader that throws does not affect the others', async (t) => {
  const fixture = await eventFixture(t, url);
  const { tail, reported } = await tailOf(t, fixture, [row(1)]);
  tail.attach({
    rows: () => {
      throw new Error('no');
    },
  });
  await store(fixture, [row(2)]);
  await until(() => reported.length === 1, 'told');
});

t.test('the ring keeps the newest rows within its limits', async (t) => {
  const ring = new RingBuffer(100, 1_000_000);
  for (let number = 1; number <= 5000; number += 1) ring.push(row(number));
  t.equal(ring.size, 100);
  t.same(
    ring.after(4997, 10)?.map((one) => one.number),
    [4998, 4999, 5000],
  );
  t.same(ring.after(5000, 10), []);
  t.equal(ring.after(4900, 1)?.[0]?.number, 4901);
  t.equal(ring.after(4899, 1), null, 'it does not reach back that far');
  const bytes = new RingBuffer(100, 3 * logRowBytes(row(1)));
  for (let number = 1; number <= 10; number += 1) bytes.push(row(number));
  t.equal(bytes.size, 3);
});

t.test('rows dropped from the ring keep no memory', async (t) => {
  const ring = new RingBuffer(100_000, 1_000_000);
  const weak: WeakRef<LogRow>[] = [];
  for (let number = 1; number <= 500; number += 1) {
    const large = row(number, { after: Buffer.alloc(400_000) });
    weak.push(new WeakRef(large));
    ring.push(large);
  }
  t.equal(ring.size, 2);
  // The target of a WeakRef lives until the turn ends.
  await new Promise((resolve) => setImmediate(resolve));
  collect();
  const kept = weak.filter((one) => one.deref() !== undefined).length;
  t.ok(kept <= 2 * ring.size, `${kept} rows are kept`);
});
