/**
 * A simulation of an event log in partitions, without a database: writes to collections of Zipf popularity, one recorder
 * a partition with a fixed rate, and readers of one, ten or all collections. It shows throughput, order and the size of
 * positions for 1, 4, 16 and 64 partitions. docs/internals/partitioned-log.md draws the conclusions.
 * `--offered 40000 --rate 7000 --collections 200 --seconds 5 --seed 1`.
 */
import { parseArgs } from 'node:util';
import { Random } from '../test/helpers/random.ts';
import { quantile } from './steady.ts';

const { values } = parseArgs({
  options: {
    offered: { type: 'string', default: '40000' },
    rate: { type: 'string', default: '7000' },
    collections: { type: 'string', default: '200' },
    seconds: { type: 'string', default: '5' },
    seed: { type: 'string', default: '1' },
  },
});
const offered = Number(values.offered);
const rate = Number(values.rate);
const collections = Number(values.collections);
const count = offered * Number(values.seconds);

/** One write: when it was committed, and the collections of its transaction. */
interface Write {
  readonly at: number;
  readonly collections: readonly number[];
}

/** An appended row: the index of its write, its partition, and when it was durable. */
interface Row {
  readonly write: number;
  readonly partition: number;
  readonly durableAt: number;
}

const random = new Random(Number(values.seed));
/** The sums of the popularities 1, 1/2, 1/3, … up to each collection. */
const popularity: number[] = [];
for (let index = 0; index < collections; index += 1) popularity.push((popularity.at(-1) ?? 0) + 1 / (index + 1));

function pickCollection(): number {
  const point = (random.next() / 2 ** 32) * (popularity.at(-1) ?? 0);
  return popularity.findIndex((sum) => sum > point);
}

/** One write in twenty is a transaction over two collections. */
const writes: Write[] = Array.from({ length: count }, (_, index) => ({
  at: (index * 1000) / offered,
  collections: random.once(20) ? [pickCollection(), pickCollection()] : [pickCollection()],
}));

/** The partition of a collection: a multiplicative hash of its number. */
const partitionOf = (collection: number, partitions: number) =>
  (Math.imul(collection + 1, 0x9e3779b1) >>> 8) % partitions;

/** Each recorder takes what has been committed since its last append, and needs 1000/rate ms a row and 3 ms a batch. */
function recordRows(partitions: number): Row[] {
  const queues: number[][] = Array.from({ length: partitions }, () => []);
  for (const [index, write] of writes.entries())
    for (const collection of write.collections) queues[partitionOf(collection, partitions)]?.push(index);
  return queues.flatMap((queue, partition) => {
    const rows: Row[] = [];
    let now = 0;
    for (let from = 0; from < queue.length; ) {
      now = Math.max(now, writes[queue[from] ?? 0]?.at ?? 0);
      let to = from;
      while (to < queue.length && to - from < 2000 && (writes[queue[to] ?? 0]?.at ?? 0) <= now) to += 1;
      now += 3 + ((to - from) * 1000) / rate;
      for (const write of queue.slice(from, to)) rows.push({ write, partition, durableAt: now });
      from = to;
    }
    return rows;
  });
}

/** A reader that takes rows as they become durable: the share that arrives after a later write. */
function outOfOrder(rows: readonly Row[]): number {
  let newest = -1;
  let late = 0;
  for (const row of rows) {
    if (row.write < newest) late += 1;
    newest = Math.max(newest, row.write);
  }
  return late / rows.length;
}

/** A reader that restores the order of commits: the wait of a row for the slowest partition of the subscription. */
function mergeWaits(rows: readonly Row[]): number[] {
  let latest = 0;
  return [...rows]
    .sort((one, other) => one.write - other.write)
    .map((row) => {
      latest = Math.max(latest, row.durableAt);
      return latest - row.durableAt;
    });
}

for (const partitions of [1, 4, 16, 64]) {
  const rows = recordRows(partitions).sort((one, other) => one.durableAt - other.durableAt);
  const loads = Array.from({ length: partitions }, () => 0);
  for (const row of rows) loads[row.partition] = (loads[row.partition] ?? 0) + 1;
  const end = rows.at(-1)?.durableAt ?? 1;
  const torn = writes.filter(
    (write) => new Set(write.collections.map((one) => partitionOf(one, partitions))).size > 1,
  ).length;
  const transactions = writes.filter((write) => write.collections.length > 1).length;
  console.log(
    JSON.stringify({
      partitions,
      rowsPerSecond: Math.round((rows.length / end) * 1000),
      hottestShare: Number((Math.max(...loads) / rows.length).toFixed(2)),
      tornTransactions: Number((torn / transactions).toFixed(2)),
    }),
  );
  for (const read of [1, 10, collections]) {
    const mine = new Set(Array.from({ length: read }, (_, index) => partitionOf(index, partitions)));
    const seen = rows.filter((row) => mine.has(row.partition));
    const position = [...mine].map((one) => `${one.toString(36)}.${(loads[one] ?? 0) + 1e9}`).join('_');
    console.log(
      JSON.stringify({
        readerOfCollections: read,
        partitionsRead: mine.size,
        outOfOrder: Number(outOfOrder(seen).toFixed(3)),
        mergeWaitP50: Number(quantile(mergeWaits(seen), 0.5).toFixed(1)),
        mergeWaitP99: Number(quantile(mergeWaits(seen), 0.99).toFixed(1)),
        positionBytes: `3-${position}`.length,
      }),
    );
  }
}
