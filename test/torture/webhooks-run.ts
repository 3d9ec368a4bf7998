/**
 * The torture test of webhooks: servers on a real replica set, writers through them and foreign ones, receivers that
 * fail in many ways, and a nemesis that kills servers and restarts the database; then the checker's verdict. `node
 * test/torture/webhooks-run.ts --profile=long --seed=7`; `--mutation=cursor-first` (webhooks/edits.ts has more) must
 * end red.
 */
import { appendFileSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { connectMongo, type Mongo } from '../../src/database/mongo.ts';
import { toEvent } from '../../src/events/log/event.ts';
import { EventLog } from '../../src/events/log/event-log.ts';
import { type ReplicaSet, startReplicaSet } from '../helpers/database/replica-set.ts';
import { isLong } from '../helpers/long-profile.ts';
import { type Program, startMillrace } from '../helpers/programs/millrace.ts';
import { Random } from '../helpers/random.ts';
import { until } from '../helpers/until.ts';
import { type Deeds, noDeeds, rage, type Victim } from './nemesis.ts';
import { randomOf } from './run.ts';
import { tortureCommand } from './torture-command.ts';
import { check, plain, type RowLine, type WebhookVerdict } from './webhooks/checker.ts';
import { startDyingSvix } from './webhooks/dying-svix.ts';
import { nodeWords } from './webhooks/edits.ts';
import { Installation } from './webhooks/installation.ts';
import { Receivers } from './webhooks/receivers.ts';
import { TODOS, Writers } from './webhooks/writers.ts';

export interface WebhookTorture {
  readonly seed: number;
  readonly mutation: string;
  /** `svix`: by a test double of Svix that dies at random. */
  readonly sender: 'direct' | 'svix';
  /** Processes that serve the same database. */
  readonly servers: number;
  /** Minimum acknowledged writes, even if the nemesis is done. */
  readonly writes: number;
  /** Writes per second. */
  readonly rate: number;
  readonly kills: number;
  readonly restarts: number;
  readonly breathMs: number;
  /** Time limit of deliveries after the last write, in milliseconds. */
  readonly settleMs: number;
}

/** MILLRACE_LONG=1 makes it larger. */
export const SHORT: WebhookTorture = {
  seed: 1,
  mutation: 'none',
  sender: 'direct',
  servers: isLong ? 3 : 2,
  writes: isLong ? 300 : 60,
  rate: 40,
  kills: isLong ? 2 : 1,
  restarts: 1,
  breathMs: 400,
  settleMs: 120_000,
};

/** Small, because the other one has most of it already. */
export const SHORT_SVIX: WebhookTorture = {
  ...SHORT,
  sender: 'svix',
  servers: 2,
  writes: 60,
  kills: 1,
  restarts: 0,
};

export const LONG: WebhookTorture = {
  ...SHORT,
  servers: 3,
  writes: 10_000,
  rate: 60,
  kills: 20,
  restarts: 4,
  breathMs: 3_000,
};

const SETTLE_MS = 120_000;
/** Beyond this, a response that was sent before a kill has surely been recorded, in milliseconds. */
const UNRECORDED_MS = 2_000;

export async function tortureWebhooks(options: WebhookTorture): Promise<
  WebhookVerdict & {
    readonly deeds: Deeds;
    readonly unknown: number;
    readonly seconds: number;
    readonly deaths: number;
  }
> {
  const started = performance.now();
  const ends: (() => unknown)[] = [];
  const teardown = (end: () => unknown) => void ends.push(end);
  const t = { teardown } as Parameters<typeof startMillrace>[0];
  try {
    const folder = await mkdtemp(join(tmpdir(), 'millrace-webhooks-'));
    if (process.env['MILLRACE_TORTURE_KEEP'] === undefined)
      teardown(() => rm(folder, { recursive: true, force: true }));
    else console.error(`# kept ${folder}`);
    const set = await startReplicaSet({ members: 1, args: ['--oplogSize', '2000'] });
    teardown(() => set.stop());
    const database = 'webhooks';
    const installation = new Installation(folder);
    const svix = options.sender === 'svix' ? await startDyingSvix(new Random(options.seed + 1)) : null;
    if (svix !== null) teardown(() => svix.stop());
    const env = { MONGODB_URL: set.url, MILLRACE_DB: database, ...installation.env, ...svix?.env };
    const start = (index: number) =>
      startMillrace(t, { folder: join(folder, String(index)), env, nodeWords: nodeWords(options.mutation) });
    const programs = await Promise.all(Array.from({ length: options.servers }, (_, index) => start(index)));
    const servers = () => programs.map(({ url }) => url);
    const mongo = await connectMongo({ url: set.url, database });
    teardown(() => mongo.close());
    const log = new EventLog(mongo.log, database);

    const random = new Random(options.seed);
    const receivers = new Receivers(folder, new Random(random.next()), svix !== null);
    await receivers.start();
    teardown(() => receivers.stop());
    const endpoints = await installation.makeEndpoints(programs[0]?.url ?? '', receivers.url, mongo);
    writeFileSync(`${folder}/endpoints.json`, JSON.stringify(endpoints));
    writeFileSync(`${folder}/kills.jsonl`, '');
    const note = (ms: number) => appendFileSync(`${folder}/kills.jsonl`, `${JSON.stringify(receivers.inFlight(ms))}\n`);
    const writers = new Writers({ folder, data: mongo.data, servers, random, rate: options.rate });
    teardown(() => writers.end());
    await until(() => receivers.received > 50, 'deliveries are created', SETTLE_MS);

    const deeds = noDeeds();
    const nobody = { freezes: 0, longestFreezeMs: 0, primaryKills: 0, cuts: 0, openFor: async () => 1 };
    const holder = () => plannerOf(installation, programs);
    const victims = programs.map((_, index) => victim(programs, index, start, note));
    await rage(
      { ...options, ...nobody, set: watched(set, note), victims, holder, random: randomOf(options.seed) },
      deeds,
    );
    await until(() => writers.acknowledged >= options.writes, 'enough is written', 1_200_000);
    if (svix !== null) await until(() => svix.deaths() > 0, 'Svix has died', SETTLE_MS);
    await writers.end();
    await writeRows(folder, mongo, log);
    const settling = until(async () => (await unsettled(mongo, log)) === null, 'all is delivered', options.settleMs);
    const left = await settling.then(
      () => null,
      () => unsettled(mongo, log),
    );
    receivers.stop();
    const verdict = check(folder, svix !== null);
    const issues = [...verdict.issues, ...(left === null ? [] : [left]), ...(svix?.issues() ?? [])];
    const seconds = Math.round((performance.now() - started) / 1_000);
    return { ...verdict, issues, deeds, unknown: writers.unknown, seconds, deaths: svix?.deaths() ?? 0 };
  } finally {
    for (const end of ends.reverse()) await end();
  }
}

function victim(
  programs: Program[],
  index: number,
  start: (index: number) => Promise<Program>,
  note: (ms: number) => void,
): Victim {
  const child = () => programs[index]?.child;
  return {
    name: String(index),
    pid: () => child()?.pid ?? 0,
    kill: async () => {
      note(UNRECORDED_MS);
      await programs[index]?.end('SIGKILL');
      note(UNRECORDED_MS);
      // A database that is just restarting rejects early clients.
      programs[index] = await start(index).catch(() => pause(1_000).then(() => start(index)));
    },
    freeze: () => {},
    thaw: () => {},
  };
}

/** The set, whose restarts are recorded like kills: while the database is unavailable, no response can be recorded. */
function watched(set: ReplicaSet, note: (ms: number) => void): ReplicaSet {
  const members = set.members.map((member) => {
    let killedAt = 0;
    return {
      ...member,
      kill: async (signal?: 'SIGKILL' | 'SIGTERM') => {
        killedAt = performance.now();
        await member.kill(signal);
      },
      start: async () => {
        await member.start();
        note(performance.now() - killedAt + UNRECORDED_MS);
      },
    };
  });
  return { ...set, members };
}

/** The name of the server that records, and so plans. */
async function plannerOf(installation: Installation, programs: readonly Program[]): Promise<string | null> {
  const states = programs.map(async ({ url }, index) => {
    if (!(await installation.records(url))) throw new Error('It does not record');
    return String(index);
  });
  return await Promise.any(states).catch(() => null);
}

/** Writes the changes of documents that the log contains, once the last write is among them. */
async function writeRows(folder: string, mongo: Mongo, log: EventLog): Promise<void> {
  const mark = await mongo.data.collection('marks').insertOne({});
  const lines: RowLine[] = [];
  let isThere = false;
  await until(
    async () => {
      lines.length = 0;
      isThere = false;
      for (let after = 0; ; ) {
        const rows = await log.read(after, 2_000);
        const last = rows.at(-1);
        if (last === undefined) break;
        after = last.number;
        for (const row of rows) {
          const event = toEvent(row);
          isThere ||= row.collection === 'marks' && event?.documentId === String(mark.insertedId);
          if (event === null || row.collection !== TODOS || row.key === null) continue;
          const { id, type, documentId, data, before } = event;
          const document = String(documentId);
          lines.push({ id, number: row.number, type, document, data: plain(data), before: plain(before) });
        }
      }
      return isThere;
    },
    'the last write is in the log',
    SETTLE_MS,
  );
  writeFileSync(`${folder}/rows.jsonl`, lines.map((line) => `${JSON.stringify(line)}\n`).join(''));
}

/** What has not been planned or not been delivered yet; null if nothing is left. */
async function unsettled(mongo: Mongo, log: EventLog): Promise<string | null> {
  const newest = (await log.newest())?.number ?? 0;
  const cursor = await mongo.log.collection<{ _id: string; number: number }>('consumers').findOne({ _id: 'webhooks' });
  if ((cursor?.number ?? 0) < newest) return `planned up to ${cursor?.number} of ${newest}`;
  const pending = mongo.log.collection('webhook_deliveries').find({ state: { $nin: ['succeeded'] } });
  const [one] = await pending.limit(1).toArray();
  return one === undefined ? null : `not delivered: ${JSON.stringify({ ...one, body: null })}`;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  await tortureCommand({ short: SHORT, long: LONG }, tortureWebhooks);
}
