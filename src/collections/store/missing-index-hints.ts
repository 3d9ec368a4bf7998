/**
 * Finds the index that a slow list lacks. Only after a slow response it checks the existing indexes, and if these do
 * not decide, the database explains the query once, later, in the background.
 */
import type { Document } from 'mongodb';
import type { Mongo } from '../../database/mongo.ts';
import type { CollectionName } from '../../database/parse-collection-name.ts';
import type { Filter } from '../../query/filter.ts';
import { sortWithoutId } from '../../query/page/page-without-id-index.ts';
import { type Sort, toMongoSort } from '../../query/page/sort.ts';
import type { SortIndexes } from './sort-indexes.ts';
import { suggestedIndexFields, suggestIndex } from './suggest-index.ts';

/** A list is inefficient when the database reads more than this many documents for each returned one. */
const WASTE = 50;
/** Database time of one count, and of one explanation. */
const COUNT_MS = 500;
const EXPLAIN_MS = 5_000;
/** Milliseconds until the number of documents that a query reads is determined again. */
const AGAIN_MS = 600_000;
/** Queries that are remembered. */
const MAX_KNOWN = 1_000;

/** A list that was slow. */
export interface SlowListQuery {
  readonly name: CollectionName;
  /** The client's filter, without the filter of its Scope. */
  readonly requested: Filter;
  /** The whole filter as sent to the database, and the stored paths in it. */
  readonly filter: Document;
  readonly paths: ReadonlySet<string>;
  readonly sort: Sort;
  readonly skip: number;
  /** Null for an unlimited list. */
  readonly limit: number | null;
  /** Documents in the response; null if it continues after its first batch. */
  readonly found: number | null;
  readonly tookMs: number;
}

export interface MissingIndexHintsDeps {
  readonly mongo: Mongo;
  readonly sortIndexes: SortIndexes;
  /** Called once with each missing index. */
  readonly onAdvice: (text: string) => void;
}

/** What is known of one kind of query. */
interface Known {
  /** Documents, or index keys, that the database reads for it. */
  readonly read: number;
  /** Documents that it returns, for a list that continues after its first batch. */
  readonly given: number;
  readonly until: number;
  /** True if it was logged. */
  readonly isReported: boolean;
}

export class MissingIndexHints {
  readonly #deps: MissingIndexHintsDeps;
  /** By collection and fields of the index, the most recently used last. */
  readonly #known = new Map<string, Known>();
  #isExplaining = false;

  constructor(deps: MissingIndexHintsDeps) {
    this.#deps = deps;
  }

  /** A sentence about the index that a slow list lacks; none when it lacks none, or that is not known yet. */
  async hints(list: SlowListQuery): Promise<readonly string[]> {
    const requested = suggestIndex(list.requested, list.sort);
    if (requested === null || (await this.#deps.sortIndexes.has(list.name, requested))) return [];
    const fields = JSON.stringify(suggestedIndexFields(requested));
    const known = this.#known.get(keyOf(list, fields));
    if (known === undefined || known.until < performance.now()) {
      const read = await this.#readsAll(list).catch(() => null);
      if (read === null) void this.#explain(list, fields);
      else this.#learn(list, fields, read, 0);
    }
    return this.#report(list, fields) ? [`This list took long because an index on ${fields} is missing.`] : [];
  }

  /** How many documents the database read, if it certainly read all of them; else null. */
  async #readsAll({ name, paths, sort, limit, found }: SlowListQuery): Promise<number | null> {
    if (found === null) return null;
    // In id order the database stops when the page is full.
    const mayStop = sort[0]?.path === '_id' && limit !== null && found >= limit;
    if (mayStop || !(await this.#deps.sortIndexes.serveNothing(name, paths, sort))) return null;
    return this.#deps.mongo.data.collection(name).estimatedDocumentCount({ maxTimeMS: COUNT_MS });
  }

  /** One at a time: queries that arrive meanwhile are explained with a later slow response. */
  async #explain(list: SlowListQuery, fields: string): Promise<void> {
    if (this.#isExplaining) return;
    this.#isExplaining = true;
    try {
      const { name, filter, skip, limit } = list;
      const tied = await this.#deps.sortIndexes.serveWithoutId(name, filter, list.sort);
      const sort = toMongoSort((tied ? sortWithoutId(list.sort) : null) ?? list.sort);
      const find = { find: name, filter, sort, skip, ...(limit === null ? {} : { limit }) };
      const command = { explain: find, verbosity: 'executionStats', maxTimeMS: EXPLAIN_MS };
      const { executionStats = {} } = await this.#deps.mongo.data.command(command);
      const { totalDocsExamined = 0, totalKeysExamined = 0, nReturned = 0 } = executionStats;
      this.#learn(list, fields, Math.max(Number(totalDocsExamined), Number(totalKeysExamined)), Number(nReturned));
      this.#report(list, fields);
    } catch {
      // Not explained in time: not retried soon.
      this.#learn(list, fields, 0, 0);
    } finally {
      this.#isExplaining = false;
    }
  }

  #learn(list: SlowListQuery, fields: string, read: number, given: number): void {
    const key = keyOf(list, fields);
    const isReported = this.#known.get(key)?.isReported === true;
    this.#known.delete(key);
    this.#known.set(key, { read, given, until: performance.now() + AGAIN_MS, isReported });
    const [oldest] = this.#known.keys();
    if (this.#known.size > MAX_KNOWN && oldest !== undefined) this.#known.delete(oldest);
  }

  /** Whether this list is inefficient; logged once. */
  #report(list: SlowListQuery, fields: string): boolean {
    const key = keyOf(list, fields);
    const known = this.#known.get(key);
    const given = list.found ?? known?.given ?? 0;
    if (known === undefined || known.read <= WASTE * Math.max(given, 1)) return false;
    if (known.isReported) return true;
    this.#known.set(key, { ...known, isReported: true });
    const [ms, read] = [Math.round(list.tookMs), known.read.toLocaleString('en')];
    this.#deps.onAdvice(
      `A list of '${list.name}' took ${ms} ms and read ${read} documents to return ${given}: an index on ${fields} is missing`,
    );
    return true;
  }
}

const keyOf = ({ name, found }: SlowListQuery, fields: string): string => `${name} ${fields} ${found === null}`;
