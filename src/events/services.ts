/**
 * Creates and starts the event log of one process: log, tail, recorder, retention and feed. They are stopped in reverse
 * order.
 */
import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { setTimeout as pause } from 'node:timers/promises';
import type { Db, Document } from 'mongodb';
import type { Config } from '../config/config.ts';
import { AuditEvents } from '../database/audit-only-events.ts';
import { binaryToBuffer } from '../database/bson/raw-bson.ts';
import { decodeDocumentMap } from '../database/bson/stored-document.ts';
import { mongoErrorCode } from '../database/errors.ts';
import { Lease } from '../database/lease.ts';
import { SYSTEM_CHANGE_STAMP } from '../database/system-collection.ts';
import { FairSemaphore } from '../lib/concurrency/fair-semaphore.ts';
import type { Scope } from '../policies/scope.ts';
import { type EventLogState, type EventLogSummary, readEventLogState, summarizeEventLog } from './event-log-status.ts';
import { EventLog } from './log/event-log.ts';
import type { LogRow } from './log/log-row.ts';
import { LogTail } from './log/log-tail.ts';
import type { WriteServerLog } from './log/server-log-forwarder.ts';
import { Consumer, type ConsumerOptions } from './read/consumer.ts';
import { DocumentHistory } from './read/document-history.ts';
import { Feed } from './read/feed.ts';
import { requireWatchableCollection } from './read/watchable-collection.ts';
import { Recorder } from './record/recorder.ts';
import { Retention } from './record/retention.ts';

/** How long a start waits for the first row of a new log, in milliseconds. */
const BEGIN_MS = 10_000;
/** Concurrent reads of the log by clients. Each may scan much of the log, and uses one connection. */
const READERS = 4;
/** How many of these for one client: a principal, or all anonymous clients of one network. */
const READERS_OF_ONE = 2;
/** How long reading the type of a collection may take, in milliseconds. */
const LOOK_MS = 5_000;

export interface EventServices {
  readonly log: EventLog;
  readonly tail: LogTail;
  readonly recorder: Recorder;
  readonly feed: Feed;
  /** The events of single documents. */
  readonly history: DocumentHistory;
  /** Limits the reads of the log by clients: feeds, and subscriptions that resume. One permit for each read. */
  readonly readers: FairSemaphore;
  readonly retention: Retention;
  /** Creates a durable reader. The caller starts and stops it. */
  consumer(options: Pick<ConsumerOptions, 'name' | 'handle' | 'begin' | 'concerns' | 'attempts'>): Consumer;
  /** Adds the current document to a row whose own documents were too large. Other rows stay unchanged. */
  completed(row: LogRow): Promise<LogRow>;
  /**
   * True if this process records and has passed every change to its readers, except those of about the last second.
   * False does not mean that changes are late: if another process records, only that process knows.
   */
  upToDate(): boolean;
  /** @throws MillraceError `forbidden` for a collection without change events */
  requireChanges(collection: string): Promise<void>;
  state(scope: Scope<'read', '_admin'>): Promise<EventLogState>;
  /** A summary without collections and names, for metrics of the process. */
  inShort(): Promise<EventLogSummary>;
}

export interface EventServicesDeps {
  readonly mongo: { readonly data: Db; readonly log: Db };
  readonly config: Config['events'];
  readonly onLog: WriteServerLog;
  /** Receives what stops the services. */
  readonly cleanup: AsyncDisposableStack;
}

/** Throws UnusableLog if the log belongs to another database. */
export async function createEventServices(deps: EventServicesDeps): Promise<EventServices> {
  const { mongo, config, onLog, cleanup } = deps;
  const owner = `${hostname()}/${randomUUID()}`;
  const log = new EventLog(mongo.log, mongo.data.databaseName);
  await log.open();
  const tail = cleanup.adopt(new LogTail({ log, onLog }), (it) => it.stop());
  const readers = new FairSemaphore(READERS, READERS_OF_ONE);
  await tail.start();
  const lease = new Lease({ collection: mongo.log.collection('lease'), id: 'log', owner });
  const recorder = new Recorder({
    data: mongo.data,
    log,
    lease,
    onLog,
    onRows: (rows) => tail.take(rows),
    onRecording: (recording) => tail.suspend(recording),
    onRefused: (error) => {
      // Only the program's log has the server's message, because it contains the command.
      const code = mongoErrorCode(error);
      const details = { recorder: owner, code: code === undefined ? null : String(code) };
      new AuditEvents(mongo)
        .record('system.event-log.stopped', details, SYSTEM_CHANGE_STAMP)
        .catch((issue: unknown) => {
          onLog('warn', 'The event that recording has stopped could not be stored', { error: String(issue) });
        });
    },
    known: () => (tail.seen.number > 0 ? tail.seen : null),
  });
  cleanup.adopt(recorder, (it) => it.stop());
  recorder.start();
  await begun(log, recorder);
  const { maxAgeMs, maxBytes } = config;
  const retention = cleanup.adopt(
    new Retention({ log, allowed: () => lease.held(), onLog, maxAgeMs, maxBytes }),
    (it) => it.stop(),
  );
  retention.start();
  const state = () => readEventLogState({ data: mongo.data, log, tail, recorder });
  return {
    log,
    tail,
    recorder,
    feed: new Feed(tail, log, readers),
    history: new DocumentHistory(tail, log, readers),
    readers,
    retention,
    consumer: (options) => new Consumer({ log, tail, allowed: () => lease.held(), onLog, ...options }),
    completed: async (row) => {
      if (!row.big || row.collection === null || row.key === null || row.operation === 'delete') return row;
      const requested: Document = { _id: { $eq: decodeDocumentMap(row.key).get('_id') } };
      const now = await mongo.data.collection(row.collection).findOne(requested, { raw: true });
      return { ...row, after: binaryToBuffer(now) };
    },
    upToDate: () => recorder.upToDate && tail.healthy,
    requireChanges: async (collection) => void (await requireWatchableCollection(mongo.data, collection, LOOK_MS)),
    state: () => state(),
    inShort: async () => summarizeEventLog(await state()),
  };
}

/**
 * Waits for the first row of a new log, because earlier changes would not be recorded. The wait is limited: if the
 * database cannot be followed, the process starts and reports that it is not ready.
 */
async function begun(log: EventLog, recorder: Recorder): Promise<void> {
  const end = performance.now() + BEGIN_MS;
  while ((await log.newest()) === null && recorder.state.status !== 'stopped' && performance.now() < end) {
    await pause(10);
  }
}
