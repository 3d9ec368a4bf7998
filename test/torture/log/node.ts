/**
 * One server process of the torture test: collections and the event log as in the program, with writers that go through
 * the collections, and a reader that records every row. It is killed and frozen from outside.
 */
import { createSecretKey } from 'node:crypto';
import { appendFileSync, fdatasyncSync, openSync, writeSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { BulkWrites } from '../../../src/collections/bulk-writes.ts';
import { CollectionRegistry } from '../../../src/collections/collection-registry.ts';
import { Collections } from '../../../src/collections/collections.ts';
import { MissingIndexHints } from '../../../src/collections/store/missing-index-hints.ts';
import { NO_PRECONDITIONS } from '../../../src/collections/store/preconditions.ts';
import { SortIndexes } from '../../../src/collections/store/sort-indexes.ts';
import { DocumentStore } from '../../../src/collections/store/store.ts';
import { TransactionRunner } from '../../../src/collections/transaction-runner.ts';
import { Lease } from '../../../src/database/lease.ts';
import { connectMongo } from '../../../src/database/mongo.ts';
import { parseCollectionName } from '../../../src/database/parse-collection-name.ts';
import { Transactions } from '../../../src/database/transactions.ts';
import { LogTail } from '../../../src/events/log/log-tail.ts';
import { Recorder } from '../../../src/events/record/recorder.ts';
import { Retention } from '../../../src/events/record/retention.ts';
import { unlimitedScope } from '../../../src/policies/scope.ts';
import { MUTATIONS, makeLog, withoutLease } from './mutations.ts';

const [
  url = '',
  database = '',
  folder = '',
  name = '',
  mutationName = 'none',
  rate = '40',
  leased = 'yes',
  keepMs = '0',
] = process.argv.slice(2);
const mutation = MUTATIONS.find((one) => one === mutationName) ?? 'none';
const file = `${folder}/reader-${name}-${process.pid}.log`;
const acks = openSync(`${folder}/acks-${name}-${process.pid}.log`, 'a');
const owner = `${name}/${process.pid}`;

const mongo = await connectMongo({ url, database });
const log = makeLog(mutation, mongo.log, database);
await log.open();
const tail = new LogTail({ log });
const note = (level: string, message: string, details: object) =>
  appendFileSync(
    `${folder}/notes.log`,
    `${new Date().toISOString()} ${owner} ${level} ${message} ${JSON.stringify(details)}\n`,
  );
const lines = (rows: readonly { number: number; epoch: number; token: string; operation: string }[]) =>
  rows.map((row) => `${row.number} ${row.epoch} ${row.token} ${row.operation} ${Date.now()}\n`).join('');
tail.attach({ rows: (rows) => appendFileSync(file, lines(rows)), lost: () => appendFileSync(file, 'lost\n') });
await tail.start();
appendFileSync(file, `from ${tail.position.number}\n`);
const lease = new Lease({ collection: mongo.log.collection('lease'), id: 'log', owner });
const recorder = new Recorder({
  data: mongo.data,
  log,
  lease: leased === 'yes' ? lease : withoutLease(lease),
  onLog: note,
  onRows: (rows) => tail.take(rows),
  onRecording: (recording) => {
    if (leased === 'yes') tail.suspend(recording);
  },
  known: () => (mutation === 'none' && tail.seen.number > 0 ? tail.seen : null),
});
recorder.start();
const retention = new Retention({
  log,
  allowed: () => lease.held(),
  ...(keepMs === '0' ? {} : { maxAgeMs: Number(keepMs), keepRows: 50, everyMs: 500 }),
});
if (keepMs !== '0') retention.start();

const CURSOR_KEY = createSecretKey(Buffer.alloc(32));
const transactions = new Transactions(mongo);
const registry = new CollectionRegistry(mongo);
const sortIndexes = new SortIndexes(mongo);
const store = new DocumentStore(mongo, 5000);
const atomic = new TransactionRunner(transactions, registry);
const bulkWrites = new BulkWrites({ store, registry, atomic });
const collections = new Collections({
  store,
  sortIndexes,
  missingIndexes: new MissingIndexHints({ mongo, sortIndexes, onAdvice: () => {} }),
  slowQueryMs: 60_000,
  registry,
  atomic,
  listTimeoutMs: 60_000,
  expandBytes: 1_048_576,
  queryTimeoutMs: 5000,
  cursorKeys: { signing: CURSOR_KEY, verifying: [CURSOR_KEY] },
});
let ending = false;
process.once('SIGUSR2', () => {
  ending = true;
});
process.once('SIGTERM', async () => {
  ending = true;
  await retention.stop();
  await recorder.stop();
  await tail.stop();
  process.exit(0);
});
process.stdout.write('ready\n');
await transactions.start().catch(() => {});
// What happens before the first row is before the history.
while ((await log.newest().catch(() => null)) === null) await pause(20);
await Promise.all([0, 1].map((lane) => write(lane)));

/** Creates, patches, deletes and creates in bulk, recording what was acknowledged. */
async function write(lane: number): Promise<void> {
  const writer = { kind: 'admin', id: 'o', roles: [], session: 's', expiresAt: Number.MAX_SAFE_INTEGER } as const;
  const scope = <A extends 'create' | 'update' | 'delete'>(action: A) => unlimitedScope(writer, action);
  const todos = parseCollectionName('api');
  const every = (1000 * 2) / Number(rate);
  for (let n = 0; !ending; n += 1) {
    const id = `${name}-${process.pid}-${lane}-${n}`;
    try {
      if (n % 10 === 9) {
        const many = Array.from({ length: 10 }, (_, index) => ({ id: `${id}-${index}`, text: 'bulk' }));
        await bulkWrites.create(scope('create'), todos, many, { request: id, preconditions: NO_PRECONDITIONS });
        ack(many.map((one) => `insert api ${one.id}`));
      } else {
        await collections.create(
          scope('create'),
          todos,
          { id, text: 'one' },
          { request: id, preconditions: NO_PRECONDITIONS },
        );
        ack([`insert api ${id}`]);
      }
      if (n % 3 === 0 && n % 10 !== 9) {
        await collections.patch(
          scope('update'),
          todos,
          id,
          { kind: 'merge', patch: { text: 'two' } },
          { request: `${id}p`, preconditions: NO_PRECONDITIONS },
        );
        ack([`update api ${id}`]);
      }
      if (n % 6 === 0 && n % 10 !== 9) {
        await collections.remove(scope('delete'), todos, id, { request: `${id}d`, preconditions: NO_PRECONDITIONS });
        ack([`delete api ${id}`]);
      }
    } catch {
      await pause(50);
    }
    await pause(every * (0.5 + Math.random()));
  }
}

function ack(entries: readonly string[]): void {
  writeSync(acks, entries.map((one) => `${one}\n`).join(''));
  fdatasyncSync(acks);
}
