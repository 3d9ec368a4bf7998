/**
 * The torture test of realtime: three servers on a real replica set, raw subscribers of both kinds, writers and a
 * nemesis, then the judge's verdict over every frame. `node test/torture/live-run.ts --profile=long --seed=7`;
 * `--members=3` kills primaries too, and `--mutation=late-resume` (live/mutations.ts has more) must end red.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { decodeDocument } from '../../src/database/bson/stored-document.ts';
import { toWireDocument } from '../../src/database/json/json.ts';
import { connectMongo, type Mongo } from '../../src/database/mongo.ts';
import { EventLog } from '../../src/events/log/event-log.ts';
import type { LogRow } from '../../src/events/log/log-row.ts';
import { startReplicaSet } from '../helpers/database/replica-set.ts';
import { type Program, startMillrace } from '../helpers/programs/millrace.ts';
import { Random } from '../helpers/random.ts';
import { until } from '../helpers/until.ts';
import { type Evidence, judge, type LiveVerdict } from './live/judge.ts';
import { nodeWords } from './live/mutations.ts';
import { Oracle, plain } from './live/oracle.ts';
import { BOARD, documentQueries, eventQueries, ORDERS, type Shown } from './live/questions.ts';
import { SocketSubscriber, StreamSubscriber, type Subscriber } from './live/subscriber.ts';
import { LiveWriter } from './live/writer.ts';
import { type Deeds, noDeeds, openTransactions, rage } from './nemesis.ts';
import { randomOf } from './run.ts';
import { serverVictim } from './server-victim.ts';

export interface LiveTorture {
  readonly seed: number;
  readonly members: 1 | 3;
  readonly mutation: string;
  readonly sockets: number;
  readonly streams: number;
  /** Minimum writes, even if the nemesis is done. */
  readonly writes: number;
  /** Writes per second. */
  readonly rate: number;
  readonly kills: number;
  readonly freezes: number;
  readonly longestFreezeMs: number;
  readonly restarts: number;
  readonly primaryKills: number;
  readonly cuts: number;
  readonly breathMs: number;
  /** A subscriber cuts its own connection about once in this many frames. */
  readonly cutEvery: number;
  /** It reconnects about once in this many times without its state. */
  readonly forgetEvery: number;
}

export const SHORT: LiveTorture = {
  seed: 1,
  members: 1,
  mutation: 'none',
  sockets: 9,
  streams: 8,
  writes: 450,
  rate: 120,
  kills: 1,
  freezes: 1,
  longestFreezeMs: 500,
  restarts: 1,
  primaryKills: 0,
  cuts: 0,
  breathMs: 500,
  cutEvery: 80,
  forgetEvery: 6,
};

export const LONG: LiveTorture = {
  ...SHORT,
  sockets: 50,
  streams: 20,
  writes: 22_000,
  kills: 36,
  freezes: 6,
  longestFreezeMs: 4_000,
  restarts: 5,
  breathMs: 1_500,
  cutEvery: 2_000,
};

export interface LiveFigures {
  readonly writes: number;
  readonly unknown: number;
  readonly rows: number;
  readonly deeds: Deeds;
  readonly seconds: number;
}

const SERVERS = 3;
const HEARTBEAT_MS = 2_500;
const SETTLE_MS = 90_000;

/** Runs the test once; `judge` checks what was received, the figures have what was done. */
export async function tortureLive(
  options: LiveTorture,
): Promise<{ evidence: Evidence; figures: LiveFigures; issues: string[] }> {
  const started = performance.now();
  const ends: (() => unknown)[] = [];
  const teardown = (end: () => unknown) => void ends.push(end);
  const t = { teardown } as Parameters<typeof startMillrace>[0];
  try {
    const folder = await mkdtemp(join(tmpdir(), 'millrace-live-'));
    teardown(() => rm(folder, { recursive: true, force: true }));
    const set = await startReplicaSet({ members: options.members, args: ['--oplogSize', '2000'] });
    teardown(() => set.stop());
    const database = 'live';
    const env = { MONGODB_URL: set.url, MILLRACE_DB: database, MILLRACE_HEARTBEAT_MS: String(HEARTBEAT_MS) };
    const start = (index: number) =>
      startMillrace(t, { folder: join(folder, String(index)), env, nodeWords: nodeWords(options.mutation) });
    const programs = await Promise.all(Array.from({ length: SERVERS }, (_, index) => start(index)));
    const servers = () => programs.map(({ url }) => url);
    const mongo = await connectMongo({ url: set.url, database });
    teardown(() => mongo.close());
    for (const name of [BOARD, ORDERS]) await create(servers()[0] ?? '', name);

    const random = new Random(options.seed);
    const subscribers = subscribe(options, random, servers);
    teardown(() => subscribers.forEach((one) => void one.stop()));
    for (const one of subscribers) one.start();
    await until(() => subscribers.every(isLive), 'all are live', SETTLE_MS);
    const writer = new LiveWriter({ client: mongo.client, database, servers, random, rate: options.rate });
    teardown(() => writer.end());
    const deeds = noDeeds();
    const holder = () => recorderOf(programs);
    const openFor = (milliseconds: number) => openTransactions(mongo.client, milliseconds);
    const victims = programs.map((_, index) => serverVictim(programs, index, start));
    await rage({ ...options, set, victims, holder, openFor, random: randomOf(options.seed) }, deeds);
    await until(() => writer.writes >= options.writes, 'enough is written', 1_200_000);
    await writer.end();

    const log = new EventLog(mongo.log, database);
    const issues: string[] = [];
    let { last, stored } = await atRest(mongo, log);
    for (;;) {
      const isReported = (one: Subscriber) => isLive(one) && one.positions.every((at) => numberIn(at) >= last);
      const reportedAll = () => subscribers.every(isReported);
      await until(reportedAll, 'all have received the last write', SETTLE_MS).catch((error: unknown) =>
        issues.push(String(error)),
      );
      // A slow server may have executed a write by now whose writer gave up long ago.
      if (issues.length > 0 || (await log.newest())?.number === last) break;
      ({ last, stored } = await atRest(mongo, log));
    }
    for (const one of subscribers) one.stop();
    const oracle = new Oracle((await everyRow(log)).filter(({ number }) => number <= last));
    const writes = oracle.writes();
    const lost = [...writer.acknowledged].filter((write) => writes.get(write) !== 1);
    if (lost.length > 0)
      issues.push(`${lost.length} acknowledged writes are not exactly once in the log: ${lost.slice(0, 5)}`);
    const journals = subscribers.map(({ journal }) => journal);
    const evidence = { journals, oracle, stored: new Map([[BOARD, stored]]) };
    const seconds = Math.round((performance.now() - started) / 1_000);
    return {
      evidence,
      issues,
      figures: { writes: writer.writes, unknown: writer.unknown, rows: last, deeds, seconds },
    };
  } finally {
    for (const end of ends.reverse()) await end();
  }
}

/** Sockets with two queries each, streams with one; the kinds of queries alternate. */
function subscribe(options: LiveTorture, random: Random, servers: () => readonly string[]): Subscriber[] {
  const { cutEvery, forgetEvery } = options;
  const common = (name: string) => ({ name, servers, random: new Random(random.next()), cutEvery, forgetEvery });
  const sockets = Array.from({ length: options.sockets }, (_, index) => {
    const kinds = [...documentQueries(random), ...eventQueries(random)];
    const queries = [index, index + 3].flatMap((at) => kinds[at % kinds.length] ?? []);
    return new SocketSubscriber({ ...common(`socket ${index}`), queries });
  });
  const streams = Array.from({ length: options.streams }, (_, index) => {
    const kinds = documentQueries(random);
    const queries = kinds.slice(index % kinds.length).slice(0, 1);
    return new StreamSubscriber({ ...common(`stream ${index}`), queries });
  });
  return [...sockets, ...streams];
}

const isLive = (one: Subscriber): boolean => one.live.every(Boolean);
const numberIn = (position: string | null): number => Number(position?.split('-')[1] ?? -1);

/** A collection that has images from its first document on. */
async function create(server: string, name: string): Promise<void> {
  const headers = { 'content-type': 'application/json' };
  const response = await fetch(`${server}/api/${name}`, { method: 'POST', headers, body: '{"id":"first","w":0}' });
  if (!response.ok) throw new Error(`Creating ${name} returned ${response.status}: ${await response.text()}`);
}

/** The name of the server that records. */
async function recorderOf(programs: readonly Program[]): Promise<string | null> {
  const states = programs.map(async ({ url }, index) => {
    const response = await fetch(`${url}/readyz`, { signal: AbortSignal.timeout(1_000) });
    if (!(await response.text()).includes('"recorder":"recording"')) throw new Error('It does not record');
    return String(index);
  });
  return await Promise.any(states).catch(() => null);
}

/**
 * The number of the last row, and what is stored at it. A server may still execute a write whose writer has given up:
 * it is read again then, until nothing is written from one marker to the next.
 */
async function atRest(mongo: Mongo, log: EventLog): Promise<{ last: number; stored: Shown[] }> {
  for (let last = await lastRow(mongo, log); ; ) {
    const stored = await everything(mongo, BOARD);
    const next = await lastRow(mongo, log);
    if (next === last + 1) return { last: next, stored };
    last = next;
  }
}

/** Writes a marker. Returns the number of its row, after everything written has been sent. */
async function lastRow(mongo: Mongo, log: EventLog): Promise<number> {
  const { insertedId } = await mongo.data.collection(ORDERS).insertOne({ w: -1 });
  let found: LogRow | undefined;
  const recorded = async () => {
    const newest = await log.newest();
    const rows = newest === null ? [] : await log.read(Math.max(0, newest.number - 20), 20);
    found = rows.find(({ key }) => key !== null && String(decodeDocument(key)['_id']) === String(insertedId));
    return found !== undefined;
  };
  await until(() => recorded().catch(() => false), 'the last write is recorded', SETTLE_MS);
  return found?.number ?? 0;
}

async function everyRow(log: EventLog): Promise<LogRow[]> {
  const all: LogRow[] = [];
  for (;;) {
    const rows = await log.read(all.at(-1)?.number ?? 0, 5_000);
    if (rows.length === 0) return all;
    all.push(...rows);
  }
}

async function everything(mongo: Mongo, name: string): Promise<Shown[]> {
  const found = await mongo.data.collection(name).find({}, { raw: true }).toArray();
  return found.map((raw) => plain(toWireDocument(decodeDocument(raw as unknown as Buffer))));
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
  const three = values.members === '3' ? ({ members: 3, restarts: 0, primaryKills: 3, cuts: 2 } as const) : {};
  const own = Object.fromEntries(values.set.map((one) => one.split('=')).map(([name, value]) => [name, Number(value)]));
  const base = values.profile === 'long' ? LONG : SHORT;
  const options: LiveTorture = { ...base, ...three, seed: Number(values.seed), mutation: values.mutation, ...own };
  console.log(`# seed ${options.seed}, ${options.members} members, mutation ${options.mutation}`);
  const { evidence, figures, issues } = await tortureLive(options);
  const verdict: LiveVerdict = judge(evidence);
  const all = [...issues, ...verdict.issues];
  console.log(JSON.stringify({ ...verdict, issues: all.length, ...figures }, null, 1));
  for (const issue of all) console.log(`- ${issue}`);
  process.exit(all.length === 0 ? 0 : 1);
}
