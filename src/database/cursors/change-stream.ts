/**
 * A change stream, read by commands, one `getMore` reply at a time. The driver's own `watch()` costs a third more, and
 * it resumes without notice. The stream ends when the server closes it (after an invalidate) or the signal aborts.
 * Every error is thrown unchanged.
 */
import { type ClientSession, type Db, type Document, Long, type Timestamp } from 'mongodb';
import { withTimeout } from '../../lib/concurrency/deadline.ts';
import { requireTimestamp } from '../bson/raw-bson.ts';
import { mongoErrorCode } from '../errors.ts';
import { RAW_CURSOR_OPTIONS, readCursorReply } from './cursor-reply.ts';
import { readChangeEntry, type StreamChange, toStreamChange } from './stream-change.ts';

export interface ChangeStreamOptions {
  /** The database to watch. */
  readonly db: Db;
  /** One collection of the database; all of them by default. */
  readonly collection?: string;
  /** Where to begin: after a token, or at a cluster time; now by default. */
  readonly from?: { readonly after: string } | { readonly at: Timestamp };
  /**
   * Whether to request the states before and after, schema changes, and entries above 16 MB in fragments if the server
   * can split them.
   */
  readonly full?: boolean;
  /**
   * Stages after `$changeStream`. Not a `$match` if the stream's tokens are kept: they become invalid when it is
   * changed.
   */
  readonly stages?: readonly object[];
  /** Maximum number of entries in a reply; by default as many as fit into 16 MB. */
  readonly batchSize?: number;
  /** How long the server waits for a change before it sends an empty reply, in whole milliseconds. */
  readonly maxTimeMs?: number;
  /** Timeout of each reply after the first, in milliseconds; then the connection is abandoned. */
  readonly responseMs?: () => number;
  readonly signal: AbortSignal;
}

export interface ChangeStreamReply {
  readonly changes: readonly StreamChange[];
  /** Everything before this token has been read; null while only a part of a split entry has arrived. */
  readonly token: string | null;
  /** Size of the reply's entries in bytes. */
  readonly bytes: number;
  /** The operation time that the server reported; null from a server that has just started and has none yet. */
  readonly time: Timestamp | null;
}

const UNKNOWN_STAGE = 40324;

/** Timeout of a reply, in milliseconds. */
export const CHANGE_STREAM_TIMEOUT_MS = 10_000;

/** Opens the stream and yields replies, empty ones included. The first one is the reply of the opening. */
export async function* readChangeStream(options: ChangeStreamOptions): AsyncGenerator<ChangeStreamReply, void, void> {
  const { db, signal } = options;
  const session = db.client.startSession();
  const request = (command: object, ms = CHANGE_STREAM_TIMEOUT_MS) =>
    withTimeout(ms, (end) => db.command(command, { session, ...RAW_CURSOR_OPTIONS, signal: end }), signal);
  let cursor = 0n;
  const fragments: ReturnType<typeof readChangeEntry>[] = [];
  try {
    let reply = await open(options, request);
    for (;;) {
      const batch = readCursorReply(reply['cursor']);
      cursor = batch.id;
      const changes: StreamChange[] = [];
      for (const bytes of batch.entries) {
        const entry = readChangeEntry(bytes);
        fragments.push(entry);
        const { split } = entry;
        if (split === null || split.fragment === split.of) changes.push(toStreamChange(fragments.splice(0)));
      }
      if (batch.token === null) throw new TypeError('The change stream returned no resume token');
      const token = fragments.length === 0 ? batch.token : null;
      yield { changes, token, bytes: batch.bytes, time: timeOf(reply) };
      if (cursor === 0n) return;
      const more = {
        getMore: Long.fromBigInt(cursor),
        collection: options.collection ?? '$cmd.aggregate',
        maxTimeMS: Math.trunc(options.maxTimeMs ?? 1000),
        ...(options.batchSize === undefined ? {} : { batchSize: options.batchSize }),
      };
      reply = await request(more, options.responseMs?.());
    }
  } finally {
    await close(db, options.collection, cursor, session);
  }
}

function timeOf(reply: Document): Timestamp | null {
  const time: unknown = reply['operationTime'];
  return time === undefined ? null : requireTimestamp(time);
}

async function open(options: ChangeStreamOptions, request: (command: object) => Promise<Document>) {
  const { from } = options;
  const begin =
    from === undefined
      ? {}
      : 'after' in from
        ? { startAfter: { _data: from.after } }
        : { startAtOperationTime: from.at };
  const bodies = options.full
    ? { fullDocument: 'whenAvailable', fullDocumentBeforeChange: 'whenAvailable', showExpandedEvents: true }
    : {};
  const pipeline = [{ $changeStream: { ...begin, ...bodies } }, ...(options.stages ?? [])];
  const command = { aggregate: options.collection ?? 1, cursor: { batchSize: 0 } };
  if (!options.full) return await request({ ...command, pipeline });
  try {
    return await request({ ...command, pipeline: [...pipeline, { $changeStreamSplitLargeEvent: {} }] });
  } catch (error) {
    if (mongoErrorCode(error) !== UNKNOWN_STAGE) throw error;
    return await request({ ...command, pipeline });
  }
}

async function close(db: Db, collection: string | undefined, cursor: bigint, session: ClientSession) {
  if (cursor !== 0n) {
    const command = { killCursors: collection ?? '$cmd.aggregate', cursors: [Long.fromBigInt(cursor)] };
    // The server closes an unused cursor after a while, so it does not matter if this fails.
    await db.command(command, { signal: AbortSignal.timeout(1000) }).catch(() => {});
  }
  await session.endSession().catch(() => {});
}
