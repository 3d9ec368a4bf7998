/**
 * Builds the event log of one process: log, tail, recorder, retention and feed, started in this order and stopped in
 * reverse. All readers of events get their parts from here. No behaviour of its own.
 */
import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { setTimeout as pause } from 'node:timers/promises';
import type { Db, Document } from 'mongodb';
import { Activity } from '../database/activity.ts';
import { binary } from '../database/bson/raw.ts';
import { readOrdered } from '../database/bson/stored.ts';
import { serverCode } from '../database/errors.ts';
import { Lease } from '../database/lease.ts';
import { ITSELF } from '../database/system-collection.ts';
import { FairSemaphore } from '../kernel/concurrency/fair-semaphore.ts';
import type { Scope } from '../policies/scope.ts';
import { EventLog } from './log/event-log.ts';
import type { Note } from './log/note.ts';
import type { LogRow } from './log/row.ts';
import { Tail } from './log/tail.ts';
import { Consumer, type ConsumerOptions } from './read/consumer.ts';
import { Feed } from './read/feed.ts';
import { requireChanges } from './read/followable.ts';
import { History } from './read/history.ts';
import { Recorder } from './record/recorder.ts';
import { Retention, type RetentionOptions } from './record/retention.ts';
import { type EventState, eventState, inShort, type ShortState } from './state.ts';

/** How long a start waits for a new log to begin, in milliseconds. */
const BEGIN_MS = 10_000;
/** How many reads of the log by clients run at one time. Each may scan much of the log, and takes one connection. */
const READERS = 4;
/** How many of these for one client: a principal, or all anonymous clients of one network. */
const READERS_OF_ONE = 2;
/** How long reading the type of a collection may take, in milliseconds. */
const LOOK_MS = 5_000;

export interface EventParts {
  readonly log: EventLog;
  readonly tail: Tail;
  readonly recorder: Recorder;
  readonly feed: Feed;
  /** The events of single documents. */
  readonly history: History;
  /** Limits the reads of the log by clients: feeds, and subscriptions that resume. One place for each read. */
  readonly readers: FairSemaphore;
  readonly retention: Retention;
  /** Makes a durable reader. The caller starts and stops it. */
  consumer(options: Pick<ConsumerOptions, 'name' | 'handle' | 'begin' | 'concerns' | 'tries'>): Consumer;
  /** Adds the document as it is now to a row whose own documents were too large. Other rows stay as they are. */
  completed(row: LogRow): Promise<LogRow>;
  /**
   * True if this process records and has given its readers every change except those of about the last second. False
   * does not mean that changes are late: when another process records, only that process knows.
   */
  upToDate(): boolean;
  /** @throws MillraceError `forbidden` for a collection for which the database has no change events */
  requireChanges(collection: string): Promise<void>;
  state(scope: Scope<'read', 'admin'>): Promise<EventState>;
  /** The same in short, without places and names: for the process itself. */
  inShort(): Promise<ShortState>;
  close(): Promise<void>;
}

export interface EventSettings extends Pick<RetentionOptions, 'maxAgeMs' | 'maxBytes'> {
  readonly onNote?: Note;
}

/** Opens and starts the event log. Throws UnusableLog when the log belongs to another database. */
export async function openEvents(mongo: { data: Db; log: Db }, settings: EventSettings = {}): Promise<EventParts> {
  const { onNote = () => {}, ...limits } = settings;
  const owner = `${hostname()}/${randomUUID()}`;
  const log = new EventLog(mongo.log, mongo.data.databaseName);
  await log.open();
  const tail = new Tail({ log, onNote });
  const readers = new FairSemaphore(READERS, READERS_OF_ONE);
  await tail.start();
  const lease = new Lease({ collection: mongo.log.collection('lease'), id: 'log', owner });
  const recorder = new Recorder({
    data: mongo.data,
    log,
    lease,
    onNote,
    onRows: (rows) => tail.take(rows),
    onRecording: (recording) => tail.suspend(recording),
    onRefused: (error) => {
      // The server's message stays in the log of the program, because it holds the command.
      const code = serverCode(error);
      const details = { recorder: owner, code: code === undefined ? null : String(code) };
      new Activity(mongo).record('system.log.refused', details, ITSELF).catch((fault: unknown) => {
        onNote('warn', 'The notice that recording is refused could not be stored', { fault: String(fault) });
      });
    },
    known: () => (tail.seen.number > 0 ? tail.seen : null),
  });
  recorder.start();
  await begun(log, recorder);
  const retention = new Retention({ log, allowed: () => lease.held(), onNote, ...limits });
  retention.start();
  const state = () => eventState({ data: mongo.data, log, tail, recorder });
  return {
    log,
    tail,
    recorder,
    feed: new Feed(tail, log, readers),
    history: new History(tail, log, readers),
    readers,
    retention,
    consumer: (options) => new Consumer({ log, tail, allowed: () => lease.held(), onNote, ...options }),
    completed: async (row) => {
      if (!row.big || row.collection === null || row.key === null || row.operation === 'delete') return row;
      const wanted: Document = { _id: { $eq: readOrdered(row.key).get('_id') } };
      const now = await mongo.data.collection(row.collection).findOne(wanted, { raw: true });
      return { ...row, after: binary(now) };
    },
    upToDate: () => recorder.upToDate && tail.healthy,
    requireChanges: async (collection) => void (await requireChanges(mongo.data, collection, LOOK_MS)),
    state: () => state(),
    inShort: async () => inShort(await state()),
    close: async () => {
      await retention.stop();
      await recorder.stop();
      await tail.stop();
    },
  };
}

/**
 * Waits for the first row of a new log, because changes before it would not be recorded. It does not wait for ever:
 * when the database cannot be followed, the process starts and reports that it is not ready.
 */
async function begun(log: EventLog, recorder: Recorder): Promise<void> {
  const end = performance.now() + BEGIN_MS;
  while ((await log.newest()) === null && recorder.state.status !== 'stopped' && performance.now() < end) {
    await pause(10);
  }
}
