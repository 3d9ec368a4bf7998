/**
 * Reading documents as raw BSON in one round trip. The driver's cursor takes twice as long as the command by itself, for
 * what is nearly always a single reply; it is still asked where that is not so, and after a failure, which it knows when
 * to try again. Not here: lists without a limit, and reads within a session.
 */
import {
  type AggregationCursor,
  BSON,
  type Db,
  type Document,
  type FindCursor,
  Long,
  MongoNetworkError,
} from 'mongodb';
import { asRaw, RAW_ENTRIES, readCursorReply } from './cursor-reply.ts';
import { serverCode } from './errors.ts';
import { meaningOf } from './server-codes.ts';

export interface RawFind {
  readonly filter: Document;
  /** Documents of the reply, at least as many as there can be. */
  readonly batchSize: number;
  readonly sort?: ReadonlyMap<string, 1 | -1>;
  readonly projection?: ReadonlyMap<string, 0 | 1>;
  readonly skip?: number;
  readonly limit?: number;
  /** How long the server may take, in milliseconds. */
  readonly maxTimeMS: number;
}

/** The same text for the very same question, to the last type of a value, and for no other. */
export function wordsOf(find: RawFind): string {
  return Buffer.from(BSON.serialize(find)).toString('latin1');
}

/** The first documents of what was found, in their order. */
export interface FirstFound {
  readonly documents: readonly Buffer[];
  /** Whether there are others: one reply of the server holds 16 MB, and one document at least. */
  readonly more: boolean;
}

/** The documents found, as many as one reply holds. Throws the driver's errors. */
export async function findFirst(db: Db, collection: string, find: RawFind): Promise<FirstFound> {
  const concern = db.readConcern === undefined ? {} : { readConcern: db.readConcern.toJSON() };
  try {
    const reply = await db.command({ find: collection, ...find, ...concern }, RAW_ENTRIES);
    const { id, entries } = readCursorReply(reply['cursor']);
    if (id !== 0n) await db.command({ killCursors: collection, cursors: [Long.fromBigInt(id)] });
    return { documents: entries, more: id !== 0n };
  } catch (error) {
    if (!mayPass(error)) throw error;
  }
  return firstOf(cursorOf(db, collection, find));
}

/** What the first reply of a raw cursor holds; the rest is not asked for. */
export async function firstOf(cursor: FindCursor | AggregationCursor): Promise<FirstFound> {
  try {
    await cursor.hasNext();
    const documents = cursor.readBufferedDocuments().map(asRaw);
    return { documents, more: cursor.id?.isZero() === false };
  } finally {
    await cursor.close();
  }
}

/** The documents found, in their order, however many they are. Throws the driver's errors. */
export async function findRaw(db: Db, collection: string, find: RawFind): Promise<readonly Buffer[]> {
  const { documents, more } = await findFirst(db, collection, find);
  return more ? (await cursorOf(db, collection, find).toArray()).map(asRaw) : documents;
}

function cursorOf(db: Db, collection: string, find: RawFind): FindCursor {
  const { filter, sort, projection, ...options } = find;
  return db.collection(collection).find(filter, {
    ...options,
    ...(sort ? { sort: new Map(sort) } : {}),
    ...(projection ? { projection } : {}),
    raw: true,
  });
}

/** Whether the same question may be answered in a moment. */
function mayPass(error: unknown): boolean {
  return error instanceof MongoNetworkError || meaningOf(serverCode(error), '')?.code === 'database-unavailable';
}
