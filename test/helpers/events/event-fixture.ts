/**
 * Fixture of event log tests: a database of its own, and recorders and tails as in separate processes, each with its
 * own client. Waiting always checks a condition, with a time limit.
 */
import { randomBytes } from 'node:crypto';
import { MongoClient } from 'mongodb';
import type { Test } from 'tap';
import { Lease } from '../../../src/database/lease.ts';
import { connectMongo, type Mongo } from '../../../src/database/mongo.ts';
import { EventLog } from '../../../src/events/log/event-log.ts';
import type { LogRow } from '../../../src/events/log/log-row.ts';
import { LogTail } from '../../../src/events/log/log-tail.ts';
import { Recorder, type RecorderOptions } from '../../../src/events/record/recorder.ts';
import { until } from '../until.ts';

export interface Note {
  readonly level: string;
  readonly message: string;
  readonly details: Readonly<Record<string, unknown>>;
}

/** One process: a recorder, a tail, and all rows that the tail has delivered. */
export interface Node {
  readonly mongo: Mongo;
  readonly log: EventLog;
  readonly lease: Lease;
  readonly recorder: Recorder;
  readonly tail: LogTail;
  readonly rows: LogRow[];
  readonly notes: Note[];
  stop(): Promise<void>;
}

export interface Fixture {
  readonly url: string;
  readonly database: string;
  readonly mongo: Mongo;
  readonly log: EventLog;
  /** Starts a process; it is stopped at the test's teardown. */
  node(options?: Partial<RecorderOptions> & { records?: boolean }): Promise<Node>;
}

/** Opens a fixture in a database with a fresh name, or in the given one. */
export async function eventFixture(
  t: Test,
  url: string,
  database = `test_${randomBytes(6).toString('hex')}`,
): Promise<Fixture> {
  const mongo = await connectMongo({ url, database });
  t.teardown(async () => {
    const client = new MongoClient(url, { serverSelectionTimeoutMS: 2000 });
    for (const name of [database, `${database}_log`])
      await client
        .db(name)
        .dropDatabase()
        .catch(() => {});
    await client.close();
    await mongo.close();
  });
  return {
    url,
    database,
    mongo,
    log: new EventLog(mongo.log, database),
    node: async (options = {}) => {
      const node = await startNode(url, database, options);
      t.teardown(() => node.stop());
      return node;
    },
  };
}

async function startNode(
  url: string,
  database: string,
  { records = true, ...options }: Partial<RecorderOptions> & { records?: boolean },
): Promise<Node> {
  const mongo = await connectMongo({ url, database });
  const log = new EventLog(mongo.log, database);
  await log.open();
  const rows: LogRow[] = [];
  const notes: Note[] = [];
  const onLog = (level: string, message: string, details: Readonly<Record<string, unknown>>) => {
    notes.push({ level, message, details });
  };
  const tail = new LogTail({ log, onLog });
  tail.attach({ rows: (more) => rows.push(...more) });
  await tail.start();
  const owner = randomBytes(6).toString('hex');
  const lease = new Lease({
    collection: mongo.log.collection('lease'),
    id: 'log',
    owner,
  });
  const recorder = new Recorder({
    data: mongo.data,
    log,
    lease,
    onLog,
    onRows: (more) => tail.take(more),
    onRecording: (recording) => tail.suspend(recording),
    known: () => (tail.seen.number > 0 ? tail.seen : null),
    ...options,
  });
  if (records) {
    recorder.start();
    const settled = async () =>
      recorder.state.status === 'recording' ||
      recorder.state.status === 'stopped' ||
      ![owner, null, undefined].includes((await lease.state())?.owner);
    await until(settled, 'somebody records');
  }
  let stopped: Promise<void> | undefined;
  const stop = async () => {
    await recorder.stop();
    await tail.stop();
    await mongo.close();
  };
  return { mongo, log, lease, recorder, tail, rows, notes, stop: () => (stopped ??= stop()) };
}
