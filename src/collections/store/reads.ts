/**
 * Reads of users' collections, apart from where they are made: on their own (store.ts), or inside an open transaction
 * (transaction-reads.ts).
 */
import type { Document, Filter } from 'mongodb';
import type { FirstFound, RawFind } from '../../database/cursors/find-raw.ts';
import type { CollectionName } from '../../database/names.ts';

/** Documents of one driver batch; the server cuts a batch at 16 MB, too. */
export const BATCH = 1_000;

/** What a read asks for besides its filter. */
export type ReadOptions = Omit<RawFind, 'filter' | 'batchSize'>;

export interface Reads {
  /** The documents that a filter finds, in raw batches. The first batch is asked for when iteration starts. */
  list(name: CollectionName, filter: Filter<Document>, options: ReadOptions): AsyncGenerator<readonly Buffer[]>;
  /** The documents that a filter finds up to a limit, raw, in one call: as many as one reply holds. */
  page(
    name: CollectionName,
    filter: Filter<Document>,
    options: ReadOptions & { readonly limit: number },
  ): Promise<FirstFound>;
  /** The same of an aggregation that ends with a limit. */
  aggregate(name: CollectionName, stages: Document[], limit: number, timeoutMs: number): Promise<FirstFound>;
  /** How many documents a filter finds; an estimate ignores the filter. */
  count(name: CollectionName, filter: Filter<Document>, kind: 'exact' | 'estimated'): Promise<number>;
}
