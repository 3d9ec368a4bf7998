/** What a process is told: each row once and in order, transactions whole, holes filled, old numbers never. */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { Timestamp } from 'mongodb';
import t from 'tap';
import { RingBuffer } from '../../../src/events/log/ring-buffer.ts';
import { EMPTY_ROW, encodeRow, type LogRow, rowBytes } from '../../../src/events/log/row.ts';
import { Tail } from '../../../src/events/log/tail.ts';
import { eventWorld, type World } from '../../helpers/events/event-world.ts';
import { testMongo } from '../../helpers/mongo.ts';
import { until } from '../../helpers/until.ts';

setFlagsFromString('--expose-gc');
const collect: () => void = runInNewContext('gc');

const { url } = await testMongo(t);

const row = (number: number, more: Partial<LogRow> = {}): LogRow => ({
  ...EMPTY_ROW,
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
async function tailOf(t: Tap, world: World, rows: readonly LogRow[]) {
  await world.log.open();
  await store(world, rows);
  const tail = new Tail({ log: world.log });
  const told: number[] = [];
  let lost = 0;
  tail.attach({ rows: (more) => told.push(...more.map((one) => one.number)), lost: () => (lost += 1) });
  await tail.start();
  t.teardown(() => tail.stop());
  return { tail, told, lost: () => lost };
}

async function store(world: World, rows: readonly LogRow[]): Promise<void> {
  for (const one of rows)
    await world.mongo.log.command({ insert: 'log', documents: [encodeRow(one)], writeConcern: { w: 'majority' } });
}

type Tap = import('tap').Test;

t.test('rows that others write are told once, whatever is handed over besides', async (t) => {
  const world = await eventWorld(t, url);
  const { tail, told } = await tailOf(t, world, [row(1), row(2)]);
  t.same(tail.position, { epoch: 1, number: 2 }, 'it begins at the newest row');
  await store(world, [row(3), row(4)]);
  await until(() => told.length === 2, 'told');
  tail.take([row(2), row(3), row(4)]);
  t.same(told, [3, 4]);
  await store(world, [row(5), row(6), row(7)]);
  tail.take([row(7)]);
  await until(() => told.length === 5, 'the hole is filled from the log');
  t.same(told, [3, 4, 5, 6, 7]);
});

t.test('a transaction is told as a whole', async (t) => {
  const world = await eventWorld(t, url);
  const { tail, told } = await tailOf(t, world, [row(1)]);
  const one = (index: number, last: boolean) => ({ transaction: { id: 's:1', index, last } });
  await store(world, [row(2, one(0, false)), row(3, one(1, false))]);
  await until(() => tail.seen.number === 3, 'both are seen');
  t.same(told, []);
  t.equal(tail.position.number, 1);
  await store(world, [row(4, one(2, true))]);
  await until(() => told.length === 3, 'told together');
  t.same(told, [2, 3, 4]);
});

t.test('rows below the floor are told to nobody, and who was overtaken hears of it', async (t) => {
  const world = await eventWorld(t, url);
  const { tail, told, lost } = await tailOf(t, world, [row(1), row(2)]);
  await world.log.raiseFloor(100);
  // As a recorder would that was frozen for longer than the retention.
  await store(world, [row(50), row(51)]);
  await store(world, [row(100), row(101)]);
  await until(() => told.includes(101), 'the new ones are told');
  t.same(told, [100, 101]);
  t.equal(lost(), 1);
  await store(world, [row(60)]);
  await store(world, [row(102)]);
  await until(() => told.includes(102), 'it goes on');
  t.same(told, [100, 101, 102]);
  t.same(
    (await world.log.read(0, 100)).map((one) => one.number),
    [100, 101, 102],
  );
  t.same(
    (await tail.read(99, 100)).map((one) => one.number),
    [100, 101, 102],
  );
});

t.test('a log turned back to an older state is followed from its gap on', async (t) => {
  const world = await eventWorld(t, url);
  const { tail, told } = await tailOf(t, world, [row(1)]);
  await store(world, [row(2), row(3), row(4), row(5)]);
  await until(() => told.length === 4, 'told');
  await world.mongo.log.collection('log').deleteMany({ op: 'insert', w: { $gte: new Date(4) } });
  await store(world, [row(4, { operation: 'gap', epoch: 2 }), row(5, { epoch: 2 }), row(6, { epoch: 2 })]);
  await until(() => told.length === 7, 'the new history is told');
  t.same(told, [2, 3, 4, 5, 4, 5, 6]);
  t.same(tail.position, { epoch: 2, number: 6 });
});

t.test('a reader that throws does not keep the others from hearing', async (t) => {
  const world = await eventWorld(t, url);
  const { tail, told } = await tailOf(t, world, [row(1)]);
  tail.attach({
    rows: () => {
      throw new Error('no');
    },
  });
  await store(world, [row(2)]);
  await until(() => told.length === 1, 'told');
});

t.test('the ring keeps the newest rows within its bounds', async (t) => {
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
  const bytes = new RingBuffer(100, 3 * rowBytes(row(1)));
  for (let number = 1; number <= 10; number += 1) bytes.push(row(number));
  t.equal(bytes.size, 3);
});

t.test('what the ring has dropped keeps no memory', async (t) => {
  const ring = new RingBuffer(100_000, 1_000_000);
  const weak: WeakRef<LogRow>[] = [];
  for (let number = 1; number <= 500; number += 1) {
    const large = row(number, { after: Buffer.alloc(400_000) });
    weak.push(new WeakRef(large));
    ring.push(large);
  }
  t.equal(ring.size, 2);
  // What a WeakRef was made of lives until the turn ends.
  await new Promise((resolve) => setImmediate(resolve));
  collect();
  const kept = weak.filter((one) => one.deref() !== undefined).length;
  t.ok(kept <= 2 * ring.size, `${kept} rows are kept`);
});
