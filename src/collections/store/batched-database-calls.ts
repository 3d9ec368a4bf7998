/**
 * Database calls for several requests at once, each with its own outcome. A single request uses a command of its own,
 * which costs the driver a fifth less than a batch of one.
 */
import { type Db, type Document, type Filter, MongoServerError, type ObjectId } from 'mongodb';
import { findRaw, type RawFindOptions } from '../../database/cursors/find-raw.ts';
import { bulkWriteErrors, MONGO_ERROR_CODES, mongoErrorCode } from '../../database/errors.ts';
import { idKey, storedIdKey } from '../../database/json/transcode-document.ts';
import type { CollectionName } from '../../database/parse-collection-name.ts';
import { combineFilters, compareAndReplaceExpression, idFilter, unchangedFilter } from './compare-and-replace.ts';
import type { DocumentChange } from './needs-full-replacement.ts';
import { addViolatedIndexKeys } from './violated-index.ts';

export interface ReadByIdRequest {
  readonly name: CollectionName;
  readonly id: ObjectId | string;
  readonly filter: Filter<Document>;
}

export interface InsertRequest {
  readonly name: CollectionName;
  readonly document: Document;
  /** Size of the document as BSON. */
  readonly bytes: number;
}

export interface Replacement {
  readonly name: CollectionName;
  readonly change: DocumentChange;
  /** Size of both states together as BSON. */
  readonly bytes: number;
}

/** The query for documents with these ids that match the filter. */
export function findByIdsOptions(ids: readonly unknown[], filter: Filter<Document>, maxTimeMS: number): RawFindOptions {
  const requested = combineFilters(idFilter(ids.length === 1 ? ids[0] : { $in: ids }), filter);
  return { filter: requested, batchSize: ids.length + 1, maxTimeMS };
}

/** The documents of reads that share a collection and a filter; null for those that are not found. */
export async function findEach(
  db: Db,
  reads: readonly ReadByIdRequest[],
  maxTimeMS: number,
): Promise<(Buffer | null)[]> {
  const [first] = reads;
  if (first === undefined) return [];
  const ids = new Map(reads.map(({ id }) => [idKey(id), id]));
  const found = new Map<string | null, Buffer>();
  const find = findByIdsOptions([...ids.values()], first.filter, maxTimeMS);
  for (const raw of await findRaw(db, first.name, find)) found.set(storedIdKey(raw), raw);
  return reads.map(({ id }) => found.get(idKey(id)) ?? null);
}

/** Inserts documents of one collection separately; an Error for each that failed. */
export async function insertEach(db: Db, inserts: readonly InsertRequest[]): Promise<readonly (true | Error)[]> {
  const outcomes: (true | Error)[] = inserts.map(() => true);
  const [first, second] = inserts;
  if (first === undefined) return outcomes;
  const collection = db.collection(first.name);
  if (second === undefined) {
    await collection.insertOne(first.document);
    return outcomes;
  }
  try {
    await collection.insertMany(
      inserts.map(({ document }) => document),
      { ordered: false },
    );
  } catch (error) {
    const failed = bulkWriteErrors(error);
    await addViolatedIndexKeys(collection, failed);
    for (const { index, err } of failed) outcomes[index] = new MongoServerError({ ...err, message: err.errmsg });
  }
  return outcomes;
}

/**
 * Replaces a document; false if it is not what was read. The filter has the id alone: an additional condition costs the
 * server a tenth of a replacement.
 */
export async function replaceOneIfUnchanged(
  db: Db,
  { name, change: { id, old, next } }: Omit<Replacement, 'bytes'>,
  whole: boolean,
): Promise<boolean> {
  const collection = db.collection(name);
  try {
    const result = whole
      ? await collection.replaceOne({ ...idFilter(id), ...unchangedFilter(old) }, next)
      : await collection.updateOne(idFilter(id), [{ $replaceWith: compareAndReplaceExpression(old, next) }]);
    return result.matchedCount === 1;
  } catch (error) {
    if (mongoErrorCode(error) === MONGO_ERROR_CODES.conversionFailure) return false;
    throw error;
  }
}

/** Replaces documents of one collection separately; false for one that is not what was read, an Error for a failure. */
export async function replaceEach(db: Db, replacements: readonly Replacement[]): Promise<readonly (boolean | Error)[]> {
  const [first, second] = replacements;
  if (first === undefined) return [];
  if (second === undefined) return [await replaceOneIfUnchanged(db, first, false)];
  const outcomes: (boolean | Error)[] = replacements.map(() => true);
  const collection = db.collection(first.name);
  const operations = replacements.map(({ change: { id, old, next } }) => ({
    updateOne: {
      filter: idFilter(id),
      update: [{ $replaceWith: compareAndReplaceExpression(old, next) }],
      upsert: true,
    },
  }));
  try {
    await collection.bulkWrite(operations, { ordered: false });
  } catch (error) {
    const failed = bulkWriteErrors(error);
    const others = failed.filter(({ code }) => code !== MONGO_ERROR_CODES.conversionFailure);
    await addViolatedIndexKeys(collection, others);
    for (const { index } of failed) outcomes[index] = false;
    for (const { index, err } of others) outcomes[index] = new MongoServerError({ ...err, message: err.errmsg });
  }
  return outcomes;
}
