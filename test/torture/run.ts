/**
 * The torture test of the log: server processes and a foreign writer on a real replica set, a nemesis, then the
 * checker's verdict. `node test/torture/run.ts --profile=long --members=3 --seed=7`;
 * `--mutation=pipelined|local-tail|w1` must end red.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { connectMongo } from '../../src/database/mongo.ts';
import { EventLog } from '../../src/events/log/event-log.ts';
import { startReplicaSet } from '../helpers/database/replica-set.ts';
import { check, type Verdict } from './log/checker.ts';
import { type Deeds, noDeeds, openTransactions, rage, type Victim } from './nemesis.ts';

export interface Torture {
  readonly seed: number;
  readonly members: 1 | 3;
  readonly mutation: string;
  /** Without a lease every process records all the time. */
  readonly lease: boolean;
  readonly kills: number;
  readonly freezes: number;
  readonly longestFreezeMs: number;
  readonly restarts: number;
  readonly primaryKills: number;
  readonly cuts: number;
  readonly breathMs: number;
  /** Events per second of the foreign writer, and of each server process. */
  readonly rate: number;
  readonly nodeRate: number;
  /** Minimum number of events, even if the nemesis is done. */
  readonly events: number;
  /** A retention this short, in milliseconds; 0 keeps everything. */
  readonly keepMs: number;
}

export const SHORT: Torture = {
  seed: 1,
  members: 1,
  mutation: 'none',
  lease: true,
  kills: 2,
  freezes: 2,
  longestFreezeMs: 3000,
  restarts: 1,
  primaryKills: 0,
  cuts: 0,
  breathMs: 700,
  rate: 200,
  nodeRate: 30,
  events: 1200,
  keepMs: 0,
};

export const LONG: Torture = {
  ...SHORT,
  kills: 42,
  freezes: 42,
  longestFreezeMs: 30_000,
  restarts: 4,
  breathMs: 2000,
  rate: 220,
  nodeRate: 30,
  events: 55_000,
};

/** Runs the test once and returns the verdict with what was done. Prints its seed. */
export async function torture(options: Torture): Promise<Verdict & { deeds: Deeds; seconds: number }> {
  const folder = await mkdtemp(join(tmpdir(), 'millrace-torture-'));
  const started = performance.now();
  const set = await startReplicaSet({ members: options.members, args: ['--oplogSize', '2000'] });
  const children = new Set<ChildProcess>();
  const database = 'torture';
  const deeds = noDeeds();
  try {
    const mongo = await connectMongo({ url: set.url, database });
    const log = new EventLog(mongo.log, database);
    await log.open();
    const launch = async (script: string, words: readonly string[]): Promise<ChildProcess> => {
      const child = spawn(
        process.execPath,
        [fileURLToPath(new URL(script, import.meta.url)), set.url, database, folder, ...words],
        {
          stdio: ['ignore', 'pipe', 'inherit'],
        },
      );
      children.add(child);
      child.once('exit', () => children.delete(child));
      await Promise.race([once(child.stdout ?? child, 'data'), once(child, 'exit')]);
      return child;
    };
    const nodeWords = [
      options.mutation,
      String(options.nodeRate),
      options.lease ? 'yes' : 'no',
      String(options.keepMs),
    ];
    const victims = await Promise.all(
      ['a', 'b', 'c'].map((name) => victim(name, (words) => launch('./log/node.ts', [name, ...words]), nodeWords)),
    );
    while ((await log.newest()) === null) await pause(20);
    const writer = await launch('./log/writer.ts', ['w', String(options.rate)]);
    const holder = async () => {
      const lease = await mongo.log.collection<{ _id: string; owner: string | null }>('lease').findOne({ _id: 'log' });
      return lease?.owner?.split('/')[0] ?? null;
    };
    const openFor = (milliseconds: number) => openTransactions(mongo.client, milliseconds);
    await rage({ ...options, set, victims, holder, openFor, random: randomOf(options.seed) }, deeds);
    while (((await log.newest().catch(() => null))?.number ?? 0) < options.events) await pause(200);
    await end(writer);
    for (const one of victims) process.kill(one.pid(), 'SIGUSR2');
    await pause(1000);
    await quiet(mongo, log);
    for (const child of [...children]) await end(child);
    const verdict = await check(mongo, log, folder, options.keepMs > 0);
    await mongo.close();
    return { ...verdict, deeds, seconds: Math.round((performance.now() - started) / 1000) };
  } finally {
    for (const child of children) child.kill('SIGKILL');
    await set.stop();
    if (process.env['MILLRACE_TORTURE_KEEP'] === undefined) await rm(folder, { recursive: true, force: true });
    else console.error(`# kept ${folder}`);
  }
}

async function victim(
  name: string,
  start: (words: readonly string[]) => Promise<ChildProcess>,
  words: readonly string[],
): Promise<Victim> {
  let child = await start(words);
  return {
    name,
    pid: () => child.pid ?? 0,
    kill: async () => {
      child.kill('SIGKILL');
      if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
      child = await start(words);
    },
    freeze: () => void child.kill('SIGSTOP'),
    thaw: () => void child.kill('SIGCONT'),
  };
}

/** The server processes stop writing with the run; their last events must be in the log before they end. */
async function quiet(mongo: Awaited<ReturnType<typeof connectMongo>>, log: EventLog): Promise<void> {
  const mark = `end-${Date.now()}`;
  await mongo.data.collection(mark).insertOne({});
  const until = performance.now() + 60_000;
  for (let after = (await log.newest())?.number ?? 0; performance.now() < until; ) {
    const rows = await log.read(Math.max(0, after - 5000), 10_000);
    if (rows.some((row) => row.collection === mark)) return;
    after = Math.max(after, rows.at(-1)?.number ?? 0);
    await pause(100);
  }
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  child.kill('SIGTERM');
  await Promise.race([once(child, 'exit'), pause(5000).then(() => child.kill('SIGKILL'))]);
}

/** Numbers from 0 to 1 that follow from a seed (mulberry32). */
export function randomOf(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const { values } = parseArgs({
    options: {
      profile: { type: 'string', default: 'short' },
      seed: { type: 'string', default: String(Date.now() % 1_000_000) },
      members: { type: 'string', default: '1' },
      mutation: { type: 'string', default: 'none' },
      set: { type: 'string', multiple: true, default: [] },
    },
  });
  const three = values.members === '3';
  const base = values.profile === 'long' ? LONG : SHORT;
  const cuts = three
    ? { primaryKills: values.profile === 'long' ? 4 : 1, cuts: values.profile === 'long' ? 3 : 1, restarts: 0 }
    : {};
  const own = Object.fromEntries(
    values.set
      .map((one) => one.split('='))
      .map(([name = '', value = '']) => [name, value === 'false' ? false : Number(value)]),
  );
  const options: Torture = {
    ...base,
    ...cuts,
    seed: Number(values.seed),
    members: three ? 3 : 1,
    mutation: values.mutation,
    ...own,
  };
  console.log(`# seed ${options.seed}, ${options.members} members, mutation ${options.mutation}`);
  const verdict = await torture(options);
  console.log(JSON.stringify(verdict, null, 1));
  process.exit(verdict.issues.length === 0 ? 0 : 1);
}
