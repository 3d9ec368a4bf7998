/**
 * One run of the recorder: from the log's newest row along the stream, reply by reply, until the stream ends, the lease
 * is lost or something fails. While one batch is acknowledged the next reply fills, and never are two batches on their
 * way: a later one could be kept where an earlier one is lost.
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
 * How long after a reply with changes the next one is asked for, in milliseconds. A change after a quiet time is read at
 * once; those of writers that do not rest share their reply and their append, which otherwise would take more of the
 * machine than the writes.
 */
const GATHERING_MS = 8;

/**
 * The longest time for an answer, in milliseconds. The server answers when it has met a change of ours or the end of the
 * oplog, and what others wrote in between gives no place to go on from: a time that is too short is so again every time.
 */
const LONGEST_MS = 600_000;

const BODIES = ['fullDocument', 'fullDocumentBeforeChange', 'updateDescription'];

type Replies = AsyncGenerator<StreamReply, void, void>;

/** How the stream is to be opened next. */
export interface Approach {
  /** `by-time` when the token is not known, `single` and `bodiless` to pass an entry that fits into no reply. */
  readonly kind: 'normal' | 'by-time' | 'single' | 'bodiless';
  /** A token up to which everything behind this row has been seen and made no row. */
  readonly seen: { readonly after: number; readonly token: string } | null;
  /** Tokens of changes whose row the log refused with its bodies. */
  readonly big: Set<string>;
  /** How long the stream's next answer may take, in milliseconds. */
  readonly answerMs: number;
}

export interface Recording {
  readonly data: Db;
  readonly log: EventLog;
  readonly newest: LogRow;
  readonly approach: Approach;
  /** After how long without rows the place is noted, in milliseconds. */
  readonly markMs: number;
  /** After how long images are tried again where they could not be switched on, in milliseconds. */
  readonly imagesMs: number;
  /** How long an answer may take as long as none has failed to come, in milliseconds. */
  readonly answerMs: number;
  readonly allowed: () => boolean;
  readonly signal: AbortSignal;
  readonly onRows: (rows: readonly LogRow[]) => void;
  readonly onReply: (empty: boolean) => void;
  /** Told of what a later run must know when this one fails. */
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

/** Whether our own deadline passed (kernel/concurrency/deadline.ts): the driver puts it in its own words where it was reading. */
function isTimeout(error: unknown): boolean {
  return error instanceof Error && (error.name === 'TimeoutError' || error.name === 'MongoOperationTimeoutError');
}

/** Gives the next stream twice the time for an answer. */
function patient(approach: Approach): Approach {
  return { ...approach, answerMs: Math.min(approach.answerMs * 2, LONGEST_MS) };
}

/** The next reply, asked for ahead; its failure is met when it is awaited. */
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

/** The reply's changes without those the log has already, and with a word on those that must go without bodies. */
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

/** In the named collection, or in all; not waited for, because a switch waits for others and the record must not. */
function images({ data, imagesMs, onNote }: Recording, signal: AbortSignal, name?: string): void {
  void keepImages({ db: data, againMs: imagesMs, signal, onNote, ...(name === undefined ? {} : { name }) });
}

function imagesFor(run: Recording, signal: AbortSignal, rows: readonly LogRow[]): void {
  for (const row of rows) {
    const name = row.operation === 'rename' ? row.to : row.operation === 'create' ? row.collection : null;
    if (name !== null) images(run, signal, name);
  }
}
