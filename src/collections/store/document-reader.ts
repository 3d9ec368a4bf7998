/**
 * Reads of users' collections, implemented separately (store.ts) and inside an open transaction (transaction-reader.ts).
 */
import type { Document, Filter } from 'mongodb';
import type { FirstBatch, RawFindOptions } from '../../database/cursors/find-raw.ts';
import type { CollectionName } from '../../database/parse-collection-name.ts';

/** Documents of one driver batch; the server cuts a batch at 16 MB, too. */
export const READ_BATCH_SIZE = 1_000;

/** Options of a read besides its filter. */
export type ReadOptions = Omit<RawFindOptions, 'filter' | 'batchSize'>;

export interface DocumentReader {
  /** The documents that match a filter, in raw batches. The first batch is requested when iteration starts. */
  list(name: CollectionName, filter: Filter<Document>, options: ReadOptions): AsyncGenerator<readonly Buffer[]>;
  /** The raw documents that match a filter, up to a limit, in one call: as many as one reply holds. */
  page(
    name: CollectionName,
    filter: Filter<Document>,
    options: ReadOptions & { readonly limit: number },
  ): Promise<FirstBatch>;
  /** The same for an aggregation that ends with a limit. */
  aggregate(name: CollectionName, stages: Document[], limit: number, timeoutMs: number): Promise<FirstBatch>;
  /** Number of documents that match a filter; an estimate ignores the filter. */
  count(name: CollectionName, filter: Filter<Document>, kind: 'exact' | 'estimated'): Promise<number>;
}
