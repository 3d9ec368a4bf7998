/**
 * One function per database operation on users' collections: raw BSON in reads, compare-and-replace for every change.
 * Reads by id, pages, single creates and changes of many requests share database calls, because the driver's cost per
 * call is several times that of the HTTP request around it. Each request is authorized separately: reads are grouped by
 * the filter of their Scope, pages by their whole query, and a write was checked before.
 */
import type { ClientSession, Document, Filter } from 'mongodb';
import { MongoBulkWriteError, ObjectId } from 'mongodb';
import { decodeNamedFields } from '../../database/bson/partial-decode.ts';
import { decodeDocumentId, type OrderedDocument } from '../../database/bson/stored-document.ts';
import { requireRawBson } from '../../database/cursors/cursor-reply.ts';
import {
  type FirstBatch,
  findFirstBatch,
  findOptionsKey,
  findRaw,
  findRawBatches,
  type RawFindOptions,
  readFirstBatch,
} from '../../database/cursors/find-raw.ts';
import { translateError, withTranslatedErrors } from '../../database/errors.ts';
import type { Mongo } from '../../database/mongo.ts';
import type { CollectionName } from '../../database/parse-collection-name.ts';
import type { RequestStamp } from '../../database/system-collection.ts';
import { RequestCoalescer } from '../../lib/concurrency/coalescer.ts';
import {
  findByIdsOptions,
  findEach,
  type InsertRequest,
  insertEach,
  type ReadByIdRequest,
  type Replacement,
  replaceEach,
  replaceOneIfUnchanged,
} from './batched-database-calls.ts';
import {
  combineFilters,
  hasContentBesidesId,
  idFilter,
  sessionOption,
  toDeletionActorUpdate,
  toLockOperations,
  unchangedFilter,
  unconditionalReplaceOperation,
} from './compare-and-replace.ts';
import { type DocumentReader, READ_BATCH_SIZE, type ReadOptions } from './document-reader.ts';
import { needsFullReplacement } from './needs-full-replacement.ts';
import { NO_PRECONDITIONS, type Preconditions } from './preconditions.ts';
import type { StoredChange } from './stored-change.ts';
import { TransactionReader } from './transaction-reader.ts';
import { addViolatedIndexKeys, withViolatedIndex } from './violated-index.ts';

const SIZE = Buffer.from('bytes');
/** Bounds of one shared call: a larger one would delay other requests. */
const SHARED_READS = { count: 256, bytes: 0, bytesOf: () => 0 };
const SHARED_WRITES = {
  count: 256,
  bytes: 4 * 1024 * 1024,
  bytesOf: ({ bytes }: { readonly bytes: number }) => bytes,
};

export class DocumentStore implements DocumentReader {
  readonly #mongo: Mongo;
  readonly #queryTimeoutMs: number;
  readonly #reads: RequestCoalescer<ReadByIdRequest, Buffer | null>;
  readonly #pages: RequestCoalescer<{ readonly name: CollectionName; readonly find: RawFindOptions }, FirstBatch>;
  readonly #inserts: RequestCoalescer<InsertRequest, true>;
  readonly #replacements: RequestCoalescer<Replacement, boolean>;
  /** Numbers the filter objects: requests share a read only when they have the same filter object. */
  readonly #filters = new WeakMap<object, number>();
  #filterCount = 0;

  constructor(mongo: Mongo, queryTimeoutMs: number) {
    this.#mongo = mongo;
    this.#queryTimeoutMs = queryTimeoutMs;
    this.#reads = new RequestCoalescer((_key, reads) => findEach(mongo.data, reads, queryTimeoutMs), SHARED_READS);
    this.#pages = new RequestCoalescer(async (_key, pages) => {
      const [first] = pages;
      const found = first === undefined ? null : await findFirstBatch(mongo.data, first.name, first.find);
      return found === null ? [] : pages.map(() => found);
    }, SHARED_READS);
    this.#inserts = new RequestCoalescer<InsertRequest, true>(
      (_key, inserts) => insertEach(mongo.data, inserts),
      SHARED_WRITES,
    );
    this.#replacements = new RequestCoalescer<Replacement, boolean>(
      (_key, changes) => replaceEach(mongo.data, changes),
      SHARED_WRITES,
    );
  }

  async *list(name: CollectionName, filter: Filter<Document>, options: ReadOptions): AsyncGenerator<readonly Buffer[]> {
    try {
      yield* findRawBatches(this.#mongo.data, name, { filter, batchSize: READ_BATCH_SIZE, ...options });
    } catch (error) {
      throw translateError(error);
    }
  }

  /** The reads of an open transaction. */
  within(session: ClientSession): TransactionReader {
    return new TransactionReader(this.#mongo, session, this.#queryTimeoutMs);
  }

  page(
    name: CollectionName,
    filter: Filter<Document>,
    options: ReadOptions & { readonly limit: number },
  ): Promise<FirstBatch> {
    const find = { filter, batchSize: options.limit, ...options };
    // Equal queries that arrive while one runs share the next result.
    return withTranslatedErrors(() => this.#pages.submit(`${name}/${findOptionsKey(find)}`, { name, find }));
  }

  aggregate(name: CollectionName, stages: Document[], limit: number, timeoutMs: number): Promise<FirstBatch> {
    const options = { raw: true, maxTimeMS: timeoutMs, batchSize: limit + 1 };
    return withTranslatedErrors(() => readFirstBatch(this.#mongo.data.collection(name).aggregate(stages, options)));
  }

  count(name: CollectionName, filter: Filter<Document>, kind: 'exact' | 'estimated'): Promise<number> {
    const collection = this.#mongo.data.collection(name);
    const limits = { maxTimeMS: this.#queryTimeoutMs };
    return kind === 'exact' ? collection.countDocuments(filter, limits) : collection.estimatedDocumentCount(limits);
  }

  /** The documents with these ids that match the filter, in any order, as many as one reply holds. */
  findMany(name: CollectionName, ids: readonly unknown[], filter: Filter<Document>): Promise<FirstBatch> {
    return withTranslatedErrors(() =>
      findFirstBatch(this.#mongo.data, name, findByIdsOptions(ids, filter, this.#queryTimeoutMs)),
    );
  }

  /** The document with exactly this `_id`, or null. Ids of the usual types share a call with other requests. */
  async find(
    name: CollectionName,
    id: unknown,
    filter: Filter<Document>,
    session?: ClientSession,
  ): Promise<Buffer | null> {
    if (session === undefined && (typeof id === 'string' || id instanceof ObjectId)) {
      const number = this.#filters.get(filter) ?? ++this.#filterCount;
      this.#filters.set(filter, number);
      return withTranslatedErrors(() => this.#reads.submit(`${name}/${number}`, { name, id, filter }));
    }
    const [found] = await withTranslatedErrors(() => this.#findMany(name, [id], filter, session));
    return found ?? null;
  }

  /**
   * Inserts one document, together with those of other requests; throws the database's own error on a duplicate key.
   * @param bytes size of the document as BSON
   */
  async insert(name: CollectionName, document: Document, bytes: number, session?: ClientSession): Promise<void> {
    const collection = this.#mongo.data.collection(name);
    await withViolatedIndex<unknown>(collection, () =>
      session === undefined
        ? this.#inserts.submit(name, { name, document, bytes })
        : collection.insertOne(document, { session }),
    );
  }

  /** Inserts many documents in order within a transaction; throws the driver's own error on a duplicate key. */
  async insertMany(name: CollectionName, documents: readonly Document[], session: ClientSession): Promise<void> {
    const collection = this.#mongo.data.collection(name);
    try {
      await withViolatedIndex(collection, () => collection.insertMany([...documents], { session, ordered: true }));
    } catch (error) {
      if (error instanceof MongoBulkWriteError) await addViolatedIndexKeys(collection, [error.writeErrors].flat());
      throw error;
    }
  }

  /**
   * Replaces a document if it is still exactly what was read; changes of other requests share the call. `$literal`
   * keeps dotted, `$`-leading and empty names unchanged, and the change event is an update with the small difference.
   * In a transaction nothing is compared: the transaction itself keeps the document as it was read. A change without
   * effect is sent as well, so that the document is compared, and what was read of it is on a majority of the replica
   * set members before the response.
   * @param preconditions those that were checked on the document as it was read
   * @returns false when the document changed or disappeared meanwhile
   */
  async change(
    name: CollectionName,
    change: StoredChange,
    preconditions: Preconditions,
    session?: ClientSession,
  ): Promise<boolean> {
    if (session !== undefined) {
      const operations = change.unchanged && preconditions !== NO_PRECONDITIONS ? toLockOperations(change) : null;
      if (operations !== null) await this.#mongo.data.collection(name).bulkWrite(operations, { session });
      else await this.replaceMany(name, [change], session);
      return true;
    }
    // In a shared update, a removed document that has only an id would be indistinguishable from an unchanged one.
    const whole = needsFullReplacement(change);
    const isShared = hasContentBesidesId(change.old) && !whole;
    return withViolatedIndex(this.#mongo.data.collection(name), () =>
      isShared
        ? this.#replacements.submit(name, { name, change, bytes: change.bytes })
        : replaceOneIfUnchanged(this.#mongo.data, { name, change }, whole),
    );
  }

  /**
   * Stamps the actor and the request on a document before its deletion, so that the pre-image of the deletion includes
   * them. An update of `_meta` alone is not an event.
   * @param filter what must still match the document
   * @param old when given, the document must still equal it
   */
  async stamp(
    name: CollectionName,
    id: unknown,
    stamp: RequestStamp,
    filter: Filter<Document>,
    old?: OrderedDocument,
    session?: ClientSession,
  ): Promise<boolean> {
    const still = combineFilters({ ...idFilter(id), ...(old ? unchangedFilter(old) : {}) }, filter);
    const result = await this.#mongo.data
      .collection(name)
      .updateOne(still, toDeletionActorUpdate(stamp), sessionOption(session));
    return result.matchedCount === 1;
  }

  /** Deletes the document that has the stamp of this request; false when another request stamped it meanwhile. */
  async removeStamped(name: CollectionName, id: unknown, request: string, session?: ClientSession): Promise<boolean> {
    const result = await this.#mongo.data
      .collection(name)
      .deleteOne({ ...idFilter(id), '_meta.request': request }, sessionOption(session));
    return result.deletedCount === 1;
  }

  /** The ids that match a filter, with their exact types, up to a limit, and the total size of their documents. */
  async ids(
    name: CollectionName,
    filter: Filter<Document>,
    limit: number,
    session: ClientSession,
  ): Promise<{ readonly ids: readonly unknown[]; readonly bytes: number }> {
    const projection = { _id: 1, bytes: { $bsonSize: '$$ROOT' } };
    const options = { limit, session, projection, raw: true, maxTimeMS: this.#queryTimeoutMs };
    const found = await withTranslatedErrors(() => this.#mongo.data.collection(name).find(filter, options).toArray());
    const rows = found.map(requireRawBson);
    return {
      // Decoded with exact types: the driver would turn some ids into other values, which match other documents or
      // none.
      ids: rows.map(decodeDocumentId),
      bytes: rows.reduce((sum, row) => sum + Number(decodeNamedFields(row, [SIZE])['bytes']), 0),
    };
  }

  /** Replaces documents within a transaction, which keeps them as they were read. Unchanged ones are not written. */
  async replaceMany(name: CollectionName, changes: readonly StoredChange[], session: ClientSession): Promise<void> {
    const operations = changes.filter(({ unchanged }) => !unchanged).map(unconditionalReplaceOperation);
    if (operations.length === 0) return;
    const collection = this.#mongo.data.collection(name);
    try {
      await withViolatedIndex(collection, () => collection.bulkWrite(operations, { session, ordered: true }));
    } catch (error) {
      if (error instanceof MongoBulkWriteError) await addViolatedIndexKeys(collection, [error.writeErrors].flat());
      throw error;
    }
  }

  /** Stamps and deletes documents within a transaction. */
  async removeMany(
    name: CollectionName,
    ids: readonly unknown[],
    stamp: RequestStamp,
    session: ClientSession,
  ): Promise<void> {
    const collection = this.#mongo.data.collection(name);
    await collection.updateMany(idFilter({ $in: ids }), toDeletionActorUpdate(stamp), { session });
    await collection.deleteMany(idFilter({ $in: ids }), { session });
  }

  async #findMany(
    name: CollectionName,
    ids: readonly unknown[],
    filter: Filter<Document>,
    session?: ClientSession,
  ): Promise<readonly Buffer[]> {
    const find = findByIdsOptions(ids, filter, this.#queryTimeoutMs);
    if (session === undefined) return findRaw(this.#mongo.data, name, find);
    return this.within(session).all(name, find.filter, find.batchSize);
  }
}
