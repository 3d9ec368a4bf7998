/**
 * The torture test of functions: servers on a real replica set, writers through them and foreign ones, a plugin
 * with triggers, a cron job and jobs, and a nemesis that kills and freezes servers, kills the processes that run the
 * code, and restarts the database; then the checker's verdict. `node test/torture/functions-run.ts --profile=long
 * --seed=7`; `--mutation=effects-apart` (functions/edits.ts has more) must end red.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { connectMongo, type Mongo } from '../../src/database/mongo.ts';
import { toEvent } from '../../src/events/log/event.ts';
import { EventLog } from '../../src/events/log/event-log.ts';
import { startReplicaSet } from '../helpers/database/replica-set.ts';
import { type Program, startMillrace } from '../helpers/programs/millrace.ts';
import { Random } from '../helpers/random.ts';
import { until } from '../helpers/until.ts';
import { check, type FunctionVerdict, type RowLine } from './functions/checker.ts';
import { nodeWords } from './functions/edits.ts';
import { writePlugin } from './functions/plugin.ts';
import { remains } from './functions/remains.ts';
import { type Deeds, noDeeds, openTransactions, rage } from './nemesis.ts';
import { randomOf } from './run.ts';
import { serverVictim } from './server-victim.ts';
import { tortureCommand } from './torture-command.ts';
import { TODOS, Writers } from './webhooks/writers.ts';

export interface FunctionTorture {
  readonly seed: number;
  readonly mutation: string;
  /** Processes that serve the same database. */
  readonly servers: number;
  /** Minimum acknowledged writes, even if the nemesis is done. */
  readonly writes: number;
  /** Writes per second. */
  readonly rate: number;
  readonly kills: number;
  /** Kills of processes that run the code of functions. */
  readonly runnerKills: number;
  readonly freezes: number;
  readonly longestFreezeMs: number;
  readonly restarts: number;
  readonly breathMs: number;
  /** Time limit of runs after the last write, in milliseconds. */
  readonly settleMs: number;
}

export const SHORT: FunctionTorture = {
  seed: 1,
  mutation: 'none',
  servers: 2,
  writes: 60,
  rate: 30,
  kills: 1,
  runnerKills: 1,
  freezes: 1,
  longestFreezeMs: 6_500,
  restarts: 1,
  breathMs: 700,
  settleMs: 90_000,
};

export const LONG: FunctionTorture = {
  ...SHORT,
  servers: 3,
  writes: 5_000,
  rate: 40,
  kills: 20,
  runnerKills: 20,
  freezes: 8,
  longestFreezeMs: 12_000,
  restarts: 4,
  breathMs: 3_000,
  settleMs: 240_000,
};

const READY_MS = 120_000;

export interface FunctionTortureEnd extends FunctionVerdict {
  readonly deeds: Deeds & { readonly runnerKills: number };
  readonly unknown: number;
  readonly seconds: number;
}

export async function tortureFunctions(options: FunctionTorture): Promise<FunctionTortureEnd> {
  const started = performance.now();
  const ends: (() => unknown)[] = [];
  const teardown = (end: () => unknown) => void ends.push(end);
  const t = { teardown } as Parameters<typeof startMillrace>[0];
  try {
    const folder = await mkdtemp(join(tmpdir(), 'millrace-functions-'));
    if (process.env['MILLRACE_TORTURE_KEEP'] === undefined)
      teardown(() => rm(folder, { recursive: true, force: true }));
    else console.error(`# kept ${folder}`);
    const set = await startReplicaSet({ members: 1, args: ['--oplogSize', '2000'] });
    teardown(() => set.stop());
    const database = 'functions';
    const env = { MONGODB_URL: set.url, MILLRACE_DB: database, MILLRACE_PLUGINS_DIR: writePlugin(folder) };
    const start = (index: number) =>
      startMillrace(t, { folder: join(folder, String(index)), env, nodeWords: nodeWords(options.mutation) });
    const programs = await Promise.all(Array.from({ length: options.servers }, (_, index) => start(index)));
    const mongo = await connectMongo({ url: set.url, database });
    teardown(() => mongo.close());
    const log = new EventLog(mongo.log, database);
    await prepare(programs[0]?.url ?? '', mongo);

    const random = new Random(options.seed);
    const servers = () => programs.map(({ url }) => url);
    const writers = new Writers({ folder, data: mongo.data, servers, random, rate: options.rate });
    teardown(() => writers.end());
    const runs = mongo.log.collection('runs');
    await until(async () => (await runs.countDocuments({ state: 'succeeded' })) > 20, 'runs succeed', READY_MS);

    const deeds = noDeeds();
    const victims = programs.map((_, index) => serverVictim(programs, index, start));
    const holder = () => plannerOf(programs);
    const openFor = (ms: number) => openTransactions(mongo.client, ms);
    const quiet = { primaryKills: 0, cuts: 0 };
    const raging = rage({ ...options, ...quiet, openFor, set, victims, holder, random: randomOf(options.seed) }, deeds);
    const runnerKills = await killRunners(programs, options, randomOf(options.seed + 1));
    await raging;
    await until(() => writers.acknowledged >= options.writes, 'enough is written', 1_200_000);
    const ticks = () => runs.countDocuments({ function: 'tick', state: 'succeeded' });
    await until(async () => (await ticks()) > 3, 'the cron job has run a few times', READY_MS);
    await writers.end();
    const marked = await markedRows(mongo, log);
    const left = await settle(mongo, log, options.settleMs);
    const acknowledged = readFileSync(`${folder}/acks.jsonl`, 'utf8').split('\n').filter(Boolean).map(Number);
    writeFileSync(`${folder}/remains.json`, JSON.stringify(await remains(mongo, marked, acknowledged)));
    const verdict = check(folder);
    const issues = [...verdict.issues, ...(left === null ? [] : [left])];
    const seconds = Math.round((performance.now() - started) / 1_000);
    return { ...verdict, issues, deeds: { ...deeds, runnerKills }, unknown: writers.unknown, seconds };
  } finally {
    for (const end of ends.reverse()) await end();
  }
}

/**
 * Waits until the trigger is enabled. The collection has images from its first document on, which no function receives.
 */
async function prepare(server: string, mongo: Mongo): Promise<void> {
  const response = await fetch(`${server}/api/${TODOS}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ id: 'first', w: -1 }),
  });
  if (!response.ok) throw new Error(`The first document got status ${response.status}`);
  const standing = mongo.log.collection<{ _id: string }>('function_positions');
  await until(async () => (await standing.countDocuments({})) === 3, 'the functions are enabled', READY_MS);
}

/** Kills processes that run code, while other failures happen. @returns how many */
async function killRunners(
  programs: readonly Program[],
  { runnerKills, breathMs }: FunctionTorture,
  random: () => number,
): Promise<number> {
  let kills = 0;
  while (kills < runnerKills) {
    await pause(breathMs * (0.5 + random()));
    const runners = (await Promise.all(programs.map(({ child }) => childrenOf(child.pid ?? 0)))).flat();
    const runner = runners[Math.floor(random() * runners.length)];
    if (runner === undefined) continue;
    try {
      process.kill(runner, 'SIGKILL');
      kills += 1;
    } catch {
      // It has ended in between.
    }
  }
  return kills;
}

async function childrenOf(pid: number): Promise<readonly number[]> {
  const text = await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8').catch(() => '');
  return text.split(' ').filter(Boolean).map(Number);
}

/** The name of the server that records, and so plans and runs. */
async function plannerOf(programs: readonly Program[]): Promise<string | null> {
  const states = programs.map(async ({ url }, index) => {
    const response = await fetch(`${url}/readyz`, { signal: AbortSignal.timeout(1_000) });
    if (!(await response.text()).includes('"recorder":"recording"')) throw new Error('It does not record');
    return String(index);
  });
  return await Promise.any(states).catch(() => null);
}

/** Writes a document and waits until the log contains it. @returns the number of its row */
async function markedUpTo(mongo: Mongo, log: EventLog): Promise<number> {
  const from = (await log.newest())?.number ?? 0;
  const mark = String((await mongo.data.collection('marks').insertOne({})).insertedId);
  let number: number | undefined;
  const isThere = async () => {
    const rows = await log.read(from, 2_000);
    number = rows.find((row) => row.collection === 'marks' && toEvent(row)?.documentId === mark)?.number;
    return number !== undefined;
  };
  await until(isThere, 'a marker is in the log', READY_MS);
  return number ?? 0;
}

/** The changes that match the trigger, once the last write is in the log. */
async function markedRows(mongo: Mongo, log: EventLog): Promise<readonly RowLine[]> {
  const end = await markedUpTo(mongo, log);
  const standing = mongo.log.collection<{ _id: string; from: number }>('function_positions');
  const lines: RowLine[] = [];
  for (let after = (await standing.findOne({ _id: 'torture/count' }))?.from ?? 0; after < end; ) {
    const rows = await log.read(after, 2_000);
    after = rows.at(-1)?.number ?? end;
    for (const row of rows) {
      const event = toEvent(row);
      if (event === null || row.collection !== TODOS || row.key === null) continue;
      const w = event.data === null ? null : Number(event.data['w']);
      lines.push({ id: event.id, document: String(event.documentId), w });
    }
  }
  return lines;
}

/**
 * Waits until nothing is left to plan or to run. A run writes what the next run is planned for, so the absence of open
 * runs alone is not enough: none may be open before the log is planned up to a marker, none after it, and none may have
 * come in between.
 * @returns what is left at the end of the time; null when all has run
 */
async function settle(mongo: Mongo, log: EventLog, limitMs: number): Promise<string | null> {
  const runs = mongo.log.collection('runs');
  const cursors = mongo.log.collection<{ _id: string; number: number }>('consumers');
  const end = performance.now() + limitMs;
  const remaining = () => Math.max(0, end - performance.now());
  const noneOpen = async () =>
    (await runs.findOne({ function: { $ne: 'tick' }, state: { $in: ['pending', 'running'] } })) === null;
  const count = () => runs.countDocuments({ function: { $ne: 'tick' } });
  const planned = async (to: number) => ((await cursors.findOne({ _id: 'functions' }))?.number ?? 0) >= to;
  try {
    for (;;) {
      await until(noneOpen, 'each run has ended', remaining());
      const before = await count();
      const mark = await markedUpTo(mongo, log);
      await until(() => planned(mark), 'the log is planned up to a marker', remaining());
      if ((await noneOpen()) && (await count()) === before) return null;
    }
  } catch (error) {
    return String(error);
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  await tortureCommand({ short: SHORT, long: LONG }, tortureFunctions);
}
