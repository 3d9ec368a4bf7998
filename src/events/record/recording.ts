/**
 * One run of the recorder: it reads the change stream from the log's newest row on, until the stream ends, the lease is
 * lost or something fails. The next reply is read while a batch is written. Two batches are never written at one time:
 * the later one could be kept while the earlier one is lost. Not here: what to do after a failure (recorder.ts).
 */
import { setTimeout as pause } from 'node:timers/promises';
import type { Db } from 'mongodb';
import type { StreamChange } from '../../database/cursors/change.ts';
import { type ChangeStreamOptions, changeStream, type StreamReply } from '../../database/cursors/change-stream.ts';
import type { EventLog } from '../log/event-log.ts';
import type { Note } from '../log/note.ts';
import type { LogPosition } from '../log/position.ts';
import { bodyBytes, type LogRow } from '../log/row.ts';
import { keepImages } from './pre-images.ts';
import { RowMaker } from './row-maker.ts';

/** A reply above this size may have been cut within a transaction. */
const CUT_BYTES = 12 * 1024 * 1024;
/**
 * The wait before the next request after a reply with changes, in milliseconds. A change after a quiet time is read at
 * once. Changes that come without a pause share a reply and an append; otherwise recording them would take more CPU
 * time than the writes themselves.
 */
const GATHERING_MS = 8;

/**
 * The longest time for an answer, in milliseconds. The server answers when it finds a change of our database or the end
 * of the oplog. If it times out, we get no resume token for the oplog entries of other databases scanned so far, so the
 * next attempt scans the same entries and times out again. Hence so long.
 */
const LONGEST_MS = 600_000;

const BODIES = ['fullDocument', 'fullDocumentBeforeChange', 'updateDescription'];

type Replies = AsyncGenerator<StreamReply, void, void>;

/** How the stream is to be opened next. */
export interface Approach {
  /**
   * `by-time` when the token is unknown, `single` and `bodiless` to get past an entry that does not fit into a reply.
   */
  readonly kind: 'normal' | 'by-time' | 'single' | 'bodiless';
  /** A token up to which all changes after this row have been seen and made no row. */
  readonly seen: { readonly after: number; readonly token: string } | null;
  /** Tokens of changes that the log refused with their documents. */
  readonly big: Set<string>;
  /** How long the stream's next answer may take, in milliseconds. */
  readonly answerMs: number;
}

export interface Recording {
  readonly data: Db;
  readonly log: EventLog;
  readonly newest: LogRow;
  readonly approach: Approach;
  /** After how long without rows the resume token is stored, in milliseconds. */
  readonly markMs: number;
  /** After how long images are tried again where they could not be switched on, in milliseconds. */
  readonly imagesMs: number;
  /** How long an answer may take until one has timed out, in milliseconds. */
  readonly answerMs: number;
  readonly allowed: () => boolean;
  readonly signal: AbortSignal;
  readonly onRows: (rows: readonly LogRow[]) => void;
  readonly onReply: (empty: boolean) => void;
  /** Called with what the next run must know when this one fails. */
  readonly onApproach: (approach: Approach) => void;
  readonly onNote: Note | undefined;
}

/** Records until the stream ends or the lease is lost; returns how to open the stream next. Throws what fails. */
export async function record(run: Recording): Promise<Approach> {
  const { log, newest, markMs } = run;
  let approach = run.approach;
  const { kind } = approach;
  const maker = new RowMaker(newest);
  const inner = new AbortController();
  const signal = AbortSignal.any([run.signal, inner.signal]);
  const answerMs = () => approach.answerMs;
  const stream = changeStream({ db: run.data, full: true, signal, answerMs, ...(await opening(run)) });
  let last: LogRow | LogPosition = newest;
  let quietSince = performance.now();
  let opened = false;
  images(run, signal);
  try {
    let next = follow(stream);
    for (;;) {
      const step = await next.catch((error: unknown) => {
        if (opened && isTimeout(error)) run.onApproach(patient(approach));
        throw error;
      });
      if (opened) approach = { ...approach, answerMs: run.answerMs };
      if (step.done) return { ...approach, kind: 'normal' };
      if (!run.allowed()) return approach;
      const reply = step.value;
      next = follow(stream, reply.changes.length > 0 ? GATHERING_MS : 0);
      const ended = kind === 'normal' || kind === 'by-time' ? reply.bytes < CUT_BYTES : reply.changes.length === 0;
      const rows = maker.rows(judged(run, reply), ended);
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
      if (reply.token !== null && !maker.holding) {
        approach = { ...approach, seen: { after: last.number, token: reply.token } };
        run.onApproach(approach);
        if (performance.now() - quietSince >= markMs && run.allowed()) {
          await log.setMark(last.number, reply.token);
          quietSince = performance.now();
        }
      }
      // The first reply answers the opening and says nothing about what follows.
      const empty = opened && reply.changes.length === 0;
      opened = true;
      run.onReply(empty);
      if (kind === 'bodiless' && reply.changes.length > 0) return { ...approach, kind: 'normal' };
      if (kind === 'single' && empty) return { ...approach, kind: 'normal' };
    }
  } finally {
    inner.abort();
    await stream.return().catch(() => {});
  }
}

/**
 * Whether our own deadline passed (kernel/concurrency/deadline.ts): the driver puts it in its own words where it was
 * reading.
 */
function isTimeout(error: unknown): boolean {
  return error instanceof Error && (error.name === 'TimeoutError' || error.name === 'MongoOperationTimeoutError');
}

/** Gives the next stream twice the time for an answer. */
function patient(approach: Approach): Approach {
  return { ...approach, answerMs: Math.min(approach.answerMs * 2, LONGEST_MS) };
}

/** The next reply, requested ahead; an error of it is thrown when it is awaited. */
function follow(stream: Replies, afterMs = 0): ReturnType<Replies['next']> {
  const next = afterMs === 0 ? stream.next() : pause(afterMs).then(() => stream.next());
  next.catch(() => {});
  return next;
}

async function opening(run: Recording): Promise<Pick<ChangeStreamOptions, 'from' | 'batchSize' | 'stages'>> {
  const { newest, approach } = run;
  if (approach.kind === 'by-time') return { from: { at: newest.time } };
  const marked = await run.log.mark(newest);
  const { seen } = approach;
  const after = seen?.after === newest.number && seen.token > marked ? seen.token : marked;
  if (approach.kind === 'normal') return { from: { after } };
  return { from: { after }, batchSize: 1, ...(approach.kind === 'bodiless' ? { stages: [{ $unset: BODIES }] } : {}) };
}

/** The reply's changes without those that the log has already; those that must go without documents are marked. */
function judged(run: Recording, reply: StreamReply): StreamChange[] {
  const { kind, big } = run.approach;
  const fresh = kind === 'by-time' ? reply.changes.filter((one) => one.token > run.newest.token) : reply.changes;
  return fresh.map((one) => (kind === 'bodiless' || big.has(one.token) ? { ...one, big: true } : one));
}

function remember(error: unknown, rows: readonly LogRow[], approach: Approach): never {
  // An ordered insert names the row that was refused within its batch; the largest one is the culprit.
  if (error instanceof Error && 'index' in error) {
    const largest = rows.reduce((one, other) => (bodyBytes(other) > bodyBytes(one) ? other : one));
    approach.big.add(largest.token);
  }
  throw error;
}

/** Switches images on in the named collection, or in all. Nothing waits for it, because it may wait for locks. */
function images({ data, imagesMs, onNote }: Recording, signal: AbortSignal, name?: string): void {
  void keepImages({ db: data, againMs: imagesMs, signal, onNote, ...(name === undefined ? {} : { name }) });
}

function imagesFor(run: Recording, signal: AbortSignal, rows: readonly LogRow[]): void {
  for (const row of rows) {
    const name = row.operation === 'rename' ? row.to : row.operation === 'create' ? row.collection : null;
    if (name !== null) images(run, signal, name);
  }
}
