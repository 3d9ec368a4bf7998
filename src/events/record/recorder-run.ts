/**
 * One run of the recorder: it reads the change stream from the log's newest row on, until the stream ends, the lease is
 * lost or an error occurs. The next reply is read while a batch is written. Two batches are never written concurrently:
 * the later one could survive while the earlier one is lost.
 */
import { setTimeout as pause } from 'node:timers/promises';
import type { Db } from 'mongodb';
import {
  type ChangeStreamOptions,
  type ChangeStreamReply,
  readChangeStream,
} from '../../database/cursors/change-stream.ts';
import type { StreamChange } from '../../database/cursors/stream-change.ts';
import type { EventLog } from '../log/event-log.ts';
import { type LogRow, rowDocumentBytes } from '../log/log-row.ts';
import type { LogPosition } from '../log/position.ts';
import type { WriteServerLog } from '../log/server-log-forwarder.ts';
import { LogRowBuilder } from './log-row-builder.ts';
import { enablePreImages } from './pre-images.ts';

/** A reply above this size may have been cut within a transaction. */
const CUT_BYTES = 12 * 1024 * 1024;
/**
 * The wait before the next request after a reply with changes, in milliseconds. A change after an idle time is read at
 * once. Continuous changes share a reply and an append; otherwise recording them would take more CPU time than the
 * writes themselves.
 */
const GATHERING_MS = 8;

/**
 * The maximum time for a reply, in milliseconds. The server replies when it finds a change of our database or the end
 * of the oplog. If it times out, we get no resume token for the oplog entries of other databases scanned so far, so the
 * next attempt scans the same entries and times out again. Hence so long.
 */
const LONGEST_MS = 600_000;

const BODIES = ['fullDocument', 'fullDocumentBeforeChange', 'updateDescription'];

type Replies = AsyncGenerator<ChangeStreamReply, void, void>;

/** How to open the next stream. */
export interface StreamStartOptions {
  /** `by-time` if the token is unknown, `single` and `bodiless` to get past an entry that does not fit into a reply. */
  readonly kind: 'normal' | 'by-time' | 'single' | 'bodiless';
  /** A token up to which all changes after this row have been read and made no row. */
  readonly seen: { readonly after: number; readonly token: string } | null;
  /** Tokens of changes that the log rejected with their documents. */
  readonly big: Set<string>;
  /** The timeout of the stream's next reply, in milliseconds. */
  readonly responseMs: number;
}

export interface RecorderRun {
  readonly data: Db;
  readonly log: EventLog;
  readonly newest: LogRow;
  readonly approach: StreamStartOptions;
  /** After how long without rows the resume token is stored, in milliseconds. */
  readonly markMs: number;
  /** Interval of retries for images that could not be enabled, in milliseconds. */
  readonly imagesMs: number;
  /** The timeout of a reply until one has timed out, in milliseconds. */
  readonly responseMs: number;
  readonly allowed: () => boolean;
  readonly signal: AbortSignal;
  readonly onRows: (rows: readonly LogRow[]) => void;
  readonly onReply: (empty: boolean) => void;
  /** Called with the input of the next run when this one fails. */
  readonly onApproach: (approach: StreamStartOptions) => void;
  readonly onLog: WriteServerLog | undefined;
}

/** Records until the stream ends or the lease is lost; returns how to open the next stream. Throws on errors. */
export async function recordChanges(run: RecorderRun): Promise<StreamStartOptions> {
  const { log, newest, markMs } = run;
  let approach = run.approach;
  const { kind } = approach;
  const creator = new LogRowBuilder(newest);
  const inner = new AbortController();
  const signal = AbortSignal.any([run.signal, inner.signal]);
  const responseMs = () => approach.responseMs;
  const stream = readChangeStream({ db: run.data, full: true, signal, responseMs, ...(await opening(run)) });
  let last: LogRow | LogPosition = newest;
  let quietSince = performance.now();
  let opened = false;
  images(run, signal);
  /** Ends when the rows of the last reply are stored. The next reply is read and made into rows meanwhile. */
  let writing: Promise<void> = Promise.resolve();
  const store = async (reply: ChangeStreamReply, rows: readonly LogRow[], holding: boolean, empty: boolean) => {
    if (rows.length > 0) {
      await log
        .append(rows, run.allowed, (written) => {
          last = written.at(-1) ?? last;
          if (!run.allowed()) return;
          run.onRows(written);
        })
        .catch((error: unknown) => remember(error, rows, approach));
      quietSince = performance.now();
      imagesFor(run, signal, rows);
    }
    if (reply.token !== null && !holding) {
      approach = { ...approach, seen: { after: last.number, token: reply.token } };
      run.onApproach(approach);
      if (performance.now() - quietSince >= markMs && run.allowed()) {
        await log.setMark(last.number, reply.token);
        quietSince = performance.now();
      }
    }
    run.onReply(empty);
  };
  try {
    let next = follow(stream);
    for (;;) {
      // A failed append ends the wait for the reply.
      const awaited = next;
      const step = await Promise.race([awaited, writing.then(() => awaited)]).catch(async (error: unknown) => {
        await writing;
        if (opened && isTimeout(error)) run.onApproach(patient(approach));
        throw error;
      });
      if (opened) approach = { ...approach, responseMs: run.responseMs };
      if (step.done || !run.allowed()) {
        await writing;
        return step.done ? { ...approach, kind: 'normal' } : approach;
      }
      const reply = step.value;
      next = follow(stream, reply.changes.length > 0 ? GATHERING_MS : 0);
      const ended = kind === 'normal' || kind === 'by-time' ? reply.bytes < CUT_BYTES : reply.changes.length === 0;
      const rows = creator.rows(judged(run, reply), ended);
      // The first reply is that of the opening and does not show what follows.
      const empty = opened && reply.changes.length === 0;
      opened = true;
      await writing;
      writing = store(reply, rows, creator.holding, empty);
      writing.catch(() => {});
      if ((kind === 'bodiless' && reply.changes.length > 0) || (kind === 'single' && empty)) {
        await writing;
        return { ...approach, kind: 'normal' };
      }
    }
  } finally {
    inner.abort();
    await stream.return().catch(() => {});
  }
}

/**
 * Whether our own deadline passed (lib/concurrency/deadline.ts): the driver wraps it in its own error while reading.
 */
function isTimeout(error: unknown): boolean {
  return error instanceof Error && (error.name === 'TimeoutError' || error.name === 'MongoOperationTimeoutError');
}

/** Doubles the timeout of the next stream. */
function patient(approach: StreamStartOptions): StreamStartOptions {
  return { ...approach, responseMs: Math.min(approach.responseMs * 2, LONGEST_MS) };
}

/** The next reply, requested ahead; its error is thrown when it is awaited. */
function follow(stream: Replies, afterMs = 0): ReturnType<Replies['next']> {
  const next = afterMs === 0 ? stream.next() : pause(afterMs).then(() => stream.next());
  next.catch(() => {});
  return next;
}

async function opening(run: RecorderRun): Promise<Pick<ChangeStreamOptions, 'from' | 'batchSize' | 'stages'>> {
  const { newest, approach } = run;
  if (approach.kind === 'by-time') return { from: { at: newest.time } };
  const marked = await run.log.mark(newest);
  const { seen } = approach;
  const after = seen?.after === newest.number && seen.token > marked ? seen.token : marked;
  if (approach.kind === 'normal') return { from: { after } };
  return { from: { after }, batchSize: 1, ...(approach.kind === 'bodiless' ? { stages: [{ $unset: BODIES }] } : {}) };
}

/**
 * The reply's changes without those that the log has already; those that must be stored without documents are marked.
 */
function judged(run: RecorderRun, reply: ChangeStreamReply): StreamChange[] {
  const { kind, big } = run.approach;
  const fresh = kind === 'by-time' ? reply.changes.filter((one) => one.token > run.newest.token) : reply.changes;
  return fresh.map((one) => (kind === 'bodiless' || big.has(one.token) ? { ...one, big: true } : one));
}

function remember(error: unknown, rows: readonly LogRow[], approach: StreamStartOptions): never {
  // An ordered insert reports the rejected row within its batch; the largest one is the culprit.
  if (error instanceof Error && 'index' in error) {
    const largest = rows.reduce((one, other) => (rowDocumentBytes(other) > rowDocumentBytes(one) ? other : one));
    approach.big.add(largest.token);
  }
  throw error;
}

/** Enables images in the named collection, or in all. Runs in the background, because it may wait for locks. */
function images({ data, imagesMs, onLog }: RecorderRun, signal: AbortSignal, name?: string): void {
  void enablePreImages({ db: data, againMs: imagesMs, signal, onLog, ...(name === undefined ? {} : { name }) });
}

function imagesFor(run: RecorderRun, signal: AbortSignal, rows: readonly LogRow[]): void {
  for (const row of rows) {
    const name = row.operation === 'rename' ? row.to : row.operation === 'create' ? row.collection : null;
    if (name !== null) images(run, signal, name);
  }
}
