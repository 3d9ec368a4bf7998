/**
 * What subscribers that never read cost the others and the server, while documents of 1 KB are changed directly in the
 * database: measured without them, with them, and without them again. In the end they start to read, and must then have
 * what is stored. `--silent 100 --others 20 --rate 1000 --seconds 5`; the recorded figures are of 60 seconds.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { type Collection, MongoClient } from 'mongodb';
import { startEmbeddedDatabase } from '../src/database/embedded/embedded.ts';
import { Crowd, delayAt, type Report, shownDelays } from './crowd.ts';
import { Connection } from './load.ts';
import { startOurs } from './programs.ts';
import { machine } from './rounds.ts';
import { cpuSeconds, residentBytes } from './usage.ts';
import { now } from './watcher.ts';

const { values } = parseArgs({
  options: {
    silent: { type: 'string', default: '100' },
    others: { type: 'string', default: '20' },
    rate: { type: 'string', default: '1000' },
    seconds: { type: 'string', default: '5' },
  },
});
const [silent, others, rate] = [Number(values.silent), Number(values.others), Number(values.rate)];
const DOCUMENTS = 1_000;
const TICK_MS = 10;
const ARRIVED_MS = 30_000;
const CAUGHT_UP_MS = 120_000;

interface Item {
  readonly _id: string;
  readonly n: number;
  readonly at: number;
  readonly text: string;
}

/** Changes the documents one after the other at a steady rate. Returns how many changes it made. */
async function write(items: Collection<Item>, seconds: number): Promise<number> {
  const begun = now();
  let n = 0;
  while (n < rate * seconds) {
    const due = Math.min(rate * seconds, Math.floor(((now() - begun) * rate) / 1_000));
    const changes = [];
    for (; n < due && changes.length < 100; n++) {
      const $set = { n, at: begun + (n * 1_000) / rate, text: `${n} `.padEnd(1_000, 'x') };
      changes.push({ updateOne: { filter: { _id: `d${n % DOCUMENTS}` }, update: { $set } } });
    }
    if (changes.length > 0) await items.bulkWrite(changes, { writeConcern: { w: 1 } });
    await pause(Math.max(0, TICK_MS - ((now() - begun) % TICK_MS)));
  }
  return n;
}

const folder = await mkdtemp(join(tmpdir(), 'millrace-bench-'));
const database = await startEmbeddedDatabase({ folder });
const program = await startOurs(database.url, 'ours', { MILLRACE_MAX_CONNECTIONS_PER_IP: '100000' });
const client = new MongoClient(database.url);
try {
  console.log(`${machine()}, MongoDB ${database.version}, load ${loadavg()[0]}`);
  console.log(`${rate} changes/s of 1 KB, ${values.seconds} s each, ${others} who read`);
  const pid = program.child.pid ?? 0;
  const { hostname, port } = new URL(program.base);
  const connection = await Connection.to(hostname, Number(port));
  // The first write creates the collection with the options that Millrace needs.
  await connection.send({ method: 'POST', path: '/api/items', body: JSON.stringify({ id: 'd0', n: 0 }) });
  connection.close();
  const items = client.db('ours').collection<Item>('items');
  const rest = Array.from({ length: DOCUMENTS - 1 }, (_, k) => ({ _id: `d${k + 1}`, n: 0, at: 0, text: '' }));
  await items.insertMany(rest);
  const wish = { base: program.base, collection: 'items', query: {} };
  const readers = await Crowd.open(wish, others);

  /** One period of writing: what the readers received, by how much the memory of the server grew, and its CPU time. */
  const stretch = async (seconds: number): Promise<Report & { readonly grown: number; readonly used: number }> => {
    const [start, cpu] = [residentBytes(pid), cpuSeconds(pid)];
    let most = start;
    const timer = setInterval(() => {
      most = Math.max(most, residentBytes(pid));
    }, 250);
    const count = await write(items, seconds);
    await readers.changes(count * others, ARRIVED_MS);
    clearInterval(timer);
    return { ...(await readers.report(count)), grown: most - start, used: cpuSeconds(pid) - cpu };
  };
  const show = (name: string, { lacking, repeated, delays, grown, used, resets, closes, issues }: typeof without) => {
    console.log(`${name}: ${shownDelays(delays)}, ${lacking} lacking, ${repeated} repeated`);
    console.log(`  growth ${(grown / 1e6).toFixed(0)} MB, CPU ${((100 * used) / Number(values.seconds)).toFixed(0)} %`);
    if (issues.length + Object.keys({ ...resets, ...closes }).length > 0) console.log({ resets, closes, issues });
  };
  const seconds = Number(values.seconds);
  show('warming up', await stretch(Math.max(5, seconds / 3)));
  const without = await stretch(seconds);
  show('without', without);
  const mute = await Crowd.open({ ...wish, silent: true }, silent);
  const withThem = await stretch(seconds);
  show(`with ${silent} that never read`, withThem);
  const stored = new Map((await items.find({}).toArray()).map(({ _id, n }) => [_id, n]));
  const begun = performance.now();
  await mute.resume();
  let behind = silent;
  while (behind > 0 && performance.now() - begun < CAUGHT_UP_MS) {
    await pause(250);
    behind = await mute.behind(stored);
  }
  const { changes, resets, closes, issues: causes } = await mute.report(0);
  console.log(
    `they read: after ${((performance.now() - begun) / 1e3).toFixed(1)} s ${behind} do not have what is stored`,
  );
  console.log('  ', { changes, resets, closes, causes });
  await mute.close();
  const again = await stretch(seconds);
  show('without again', again);
  const [a, b, c] = [without, withThem, again].map(({ delays }) => delayAt(delays, 0.99));
  console.log(`p99 with of without: ${((2 * (b ?? 0)) / ((a ?? 0) + (c ?? 0))).toFixed(2)} (target 0.8 to 1.2)`);
  await readers.close();
} finally {
  await client.close();
  await program.stop();
  await database.stop();
  await rm(folder, { recursive: true, force: true });
}
