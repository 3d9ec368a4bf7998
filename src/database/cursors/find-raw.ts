/**
 * Reads documents as raw BSON by commands, usually in one round trip; the driver's cursor takes twice as long. The
 * driver's cursor is used only if the result needs more than one reply, and after an error, because it knows which
 * errors can be retried.
 */
import {
  type AggregationCursor,
  BSON,
  type ClientSession,
  type Db,
  type Document,
  type FindCursor,
  Long,
  MongoNetworkError,
} from 'mongodb';
import { mongoErrorCode } from '../errors.ts';
import { mongoErrorMeaning } from '../mongo-error-codes.ts';
import { type CursorReply, RAW_CURSOR_OPTIONS, readCursorReply, requireRawBson } from './cursor-reply.ts';
import { FIRST_BATCH_SIZE, OpenCursor } from './open-cursor.ts';

export interface RawFindOptions {
  readonly filter: Document;
  /**
   * Maximum number of documents in one reply. To get all documents in one reply: the largest possible number of them.
   */
  readonly batchSize: number;
  readonly sort?: ReadonlyMap<string, 1 | -1>;
  /** Stages of an aggregation instead of `sort`, before and after `skip` and `limit`. */
  readonly order?: { readonly first: readonly Document[]; readonly last: readonly Document[] };
  readonly projection?: ReadonlyMap<string, 0 | 1>;
  readonly skip?: number;
  readonly limit?: number;
  /** Time limit of the server, in milliseconds. */
  readonly maxTimeMS: number;
}

/** A text that is equal only for equal reads, with equal types of their values. */
export function findOptionsKey(find: RawFindOptions): string {
  return Buffer.from(BSON.serialize(find)).toString('latin1');
}

/** The first documents of a result, in order. */
export interface FirstBatch {
  readonly documents: readonly Buffer[];
  /** Whether there are more documents: a reply has at most 16 MB, but always at least one document. */
  readonly more: boolean;
}

/** The documents of a result that fit into one reply. Throws the driver's errors. */
export async function findFirstBatch(db: Db, collection: string, find: RawFindOptions): Promise<FirstBatch> {
  try {
    const reply = await db.command(commandOf(db, collection, find), RAW_CURSOR_OPTIONS);
    const { id, entries } = readCursorReply(reply['cursor']);
    if (id !== 0n) await db.command({ killCursors: collection, cursors: [Long.fromBigInt(id)] });
    return { documents: entries, more: id !== 0n };
  } catch (error) {
    if (!mayPass(error)) throw error;
  }
  return readFirstBatch(createFindCursor(db, collection, find));
}

/** The documents in the first reply of a raw cursor; the rest is not read. */
export async function readFirstBatch(cursor: FindCursor | AggregationCursor): Promise<FirstBatch> {
  try {
    await cursor.hasNext();
    const documents = cursor.readBufferedDocuments().map(requireRawBson);
    return { documents, more: cursor.id?.isZero() === false };
  } finally {
    await cursor.close();
  }
}

/** All documents of a result, in order. Throws the driver's errors. */
export async function findRaw(db: Db, collection: string, find: RawFindOptions): Promise<readonly Buffer[]> {
  const { documents, more } = await findFirstBatch(db, collection, find);
  return more ? (await createFindCursor(db, collection, find).toArray()).map(requireRawBson) : documents;
}

/**
 * The same in batches of about 1 MB and at most `batchSize` documents. The next batch is requested when the last one
 * has been consumed. No batch is empty.
 */
export async function* findRawBatches(
  db: Db,
  collection: string,
  find: RawFindOptions,
): AsyncGenerator<readonly Buffer[]> {
  const session = db.client.startSession({ causalConsistency: false });
  const request = async (command: Document) =>
    readCursorReply((await db.command(command, { session, ...RAW_CURSOR_OPTIONS }))['cursor']);
  const command = commandOf(db, collection, { ...find, batchSize: Math.min(find.batchSize, FIRST_BATCH_SIZE) });
  let first: CursorReply;
  try {
    first = await request(command).catch((error: unknown) => {
      if (!mayPass(error)) throw error;
      return request(command);
    });
  } catch (error) {
    await session.endSession();
    throw error;
  }
  const cursor = new OpenCursor({ db, collection, session, batchSize: find.batchSize, request }, first.id, first);
  try {
    if (first.entries.length > 0) yield first.entries;
    yield* cursor.rest();
  } finally {
    await cursor.close();
  }
}

/** The documents of a raw cursor in batches. The cursor is closed at the end. */
export async function* readCursorBatches(cursor: FindCursor | AggregationCursor): AsyncGenerator<readonly Buffer[]> {
  try {
    while (await cursor.hasNext()) yield cursor.readBufferedDocuments().map(requireRawBson);
  } finally {
    await cursor.close();
  }
}

function commandOf(db: Db, collection: string, find: RawFindOptions): Document {
  const concern = db.readConcern === undefined ? {} : { readConcern: db.readConcern.toJSON() };
  return { ...buildFindCommand(collection, find), ...concern };
}

/** The command of a read: `find`, or `aggregate` for an order that `find` cannot sort by. */
export function buildFindCommand(
  collection: string,
  { order, batchSize, ...find }: Omit<RawFindOptions, 'maxTimeMS'> & { readonly maxTimeMS?: number },
): Document {
  if (order === undefined) return { find: collection, batchSize, ...find };
  const { filter, sort, projection, skip, limit, ...options } = find;
  return { aggregate: collection, pipeline: pipelineOf({ ...find, order }), cursor: { batchSize }, ...options };
}

function pipelineOf({
  filter,
  order = { first: [], last: [] },
  projection,
  skip = 0,
  limit,
}: Pick<RawFindOptions, 'filter' | 'order' | 'projection' | 'skip' | 'limit'>): Document[] {
  return [
    { $match: filter },
    ...order.first,
    ...(skip === 0 ? [] : [{ $skip: skip }]),
    ...(limit === undefined ? [] : [{ $limit: limit }]),
    ...order.last,
    ...(projection === undefined ? [] : [{ $project: projection }]),
  ];
}

/** The driver's cursor for a read. */
export function createFindCursor(
  db: Db,
  collection: string,
  find: Omit<RawFindOptions, 'maxTimeMS'> & { readonly maxTimeMS?: number; readonly session?: ClientSession },
): FindCursor | AggregationCursor {
  const { filter, sort, projection, order, ...options } = find;
  if (order !== undefined) {
    const { skip, limit, ...others } = options;
    return db.collection(collection).aggregate(pipelineOf(find), { ...others, raw: true });
  }
  return db.collection(collection).find(filter, {
    ...options,
    ...(sort ? { sort: new Map(sort) } : {}),
    ...(projection ? { projection } : {}),
    raw: true,
  });
}

/** Whether the same read may succeed a moment later. */
function mayPass(error: unknown): boolean {
  return (
    error instanceof MongoNetworkError || mongoErrorMeaning(mongoErrorCode(error), '')?.code === 'database-unavailable'
  );
}
