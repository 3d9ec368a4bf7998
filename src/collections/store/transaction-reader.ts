/**
 * Reads of users' collections inside one open transaction: with its own writes, and everything else as of its start.
 * Nothing is shared with other requests or retried, because a transaction ends with its first error.
 */
import type { ClientSession, Document, Filter } from 'mongodb';
import { requireRawBson } from '../../database/cursors/cursor-reply.ts';
import {
  createFindCursor,
  type FirstBatch,
  readCursorBatches,
  readFirstBatch,
} from '../../database/cursors/find-raw.ts';
import { translateError, withTranslatedErrors } from '../../database/errors.ts';
import type { Mongo } from '../../database/mongo.ts';
import type { CollectionName } from '../../database/parse-collection-name.ts';
import { idFilter } from './compare-and-replace.ts';
import { type DocumentReader, READ_BATCH_SIZE, type ReadOptions } from './document-reader.ts';

export class TransactionReader implements DocumentReader {
  readonly #mongo: Mongo;
  readonly #session: ClientSession;
  readonly #queryTimeoutMs: number;

  constructor(mongo: Mongo, session: ClientSession, queryTimeoutMs: number) {
    this.#mongo = mongo;
    this.#session = session;
    this.#queryTimeoutMs = queryTimeoutMs;
  }

  async *list(name: CollectionName, filter: Filter<Document>, options: ReadOptions): AsyncGenerator<readonly Buffer[]> {
    try {
      yield* readCursorBatches(this.#find(name, filter, { batchSize: READ_BATCH_SIZE, ...options }));
    } catch (error) {
      throw translateError(error);
    }
  }

  page(
    name: CollectionName,
    filter: Filter<Document>,
    options: ReadOptions & { readonly limit: number },
  ): Promise<FirstBatch> {
    return withTranslatedErrors(() =>
      readFirstBatch(this.#find(name, filter, { batchSize: options.limit, ...options })),
    );
  }

  aggregate(name: CollectionName, stages: Document[], limit: number, timeoutMs: number): Promise<FirstBatch> {
    const options = { raw: true, maxTimeMS: timeoutMs, batchSize: limit + 1, session: this.#session };
    return withTranslatedErrors(() => readFirstBatch(this.#mongo.data.collection(name).aggregate(stages, options)));
  }

  count(name: CollectionName, filter: Filter<Document>): Promise<number> {
    const options = { maxTimeMS: this.#queryTimeoutMs, session: this.#session };
    return this.#mongo.data.collection(name).countDocuments(filter, options);
  }

  /** Documents by their ids, in the order of these, in raw batches. Throws the driver's errors. */
  byIds(name: CollectionName, ids: readonly unknown[]): AsyncGenerator<readonly Buffer[]> {
    return readCursorBatches(
      this.#find(name, idFilter({ $in: ids }), { sort: new Map([['_id', 1]]), batchSize: READ_BATCH_SIZE }),
    );
  }

  /** The documents that match a filter, all at once. Throws the driver's errors. */
  async all(name: CollectionName, filter: Filter<Document>, batchSize: number): Promise<readonly Buffer[]> {
    const found = await this.#find(name, filter, { batchSize, maxTimeMS: this.#queryTimeoutMs }).toArray();
    return found.map(requireRawBson);
  }

  #find(name: CollectionName, filter: Filter<Document>, read: Partial<ReadOptions> & { readonly batchSize: number }) {
    return createFindCursor(this.#mongo.data, name, { filter, ...read, session: this.#session });
  }
}
