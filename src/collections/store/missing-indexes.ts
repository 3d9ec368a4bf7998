/**
 * Tells which index a slow list lacks. It looks only after a slow answer: at the indexes that exist, and if these do
 * not decide, the database explains the question once, later, while nothing waits for it. Not here: which index a
 * question wants (wanted-index.ts).
 */
import type { Document } from 'mongodb';
import type { Mongo } from '../../database/mongo.ts';
import type { CollectionName } from '../../database/names.ts';
import type { Filter } from '../../query/filter.ts';
import { type Sort, toMongoSort } from '../../query/page/sort.ts';
import { withoutId } from '../../query/page/tied-order.ts';
import type { SortIndexes } from './sort-indexes.ts';
import { fieldsOf, wantedIndex } from './wanted-index.ts';

/** A list is wasteful when the database reads more than so many documents for each one that it gives. */
const WASTE = 50;
/** Database time of one count, and of one explanation. */
const COUNT_MS = 500;
const EXPLAIN_MS = 5_000;
/** After so many milliseconds it is found out again how much a question reads. */
const AGAIN_MS = 600_000;
/** Questions that are remembered. */
const MAX_KNOWN = 1_000;

/** A list that was slow. */
export interface SlowList {
  readonly name: CollectionName;
  /** What the client asks, without the filter of its Scope. */
  readonly asked: Filter;
  /** The whole filter as the database took it, and the stored paths in it. */
  readonly filter: Document;
  readonly paths: ReadonlySet<string>;
  readonly sort: Sort;
  readonly skip: number;
  /** Null for a list of everything. */
  readonly limit: number | null;
  /** Documents of the answer; null if it goes on after its first batch. */
  readonly found: number | null;
  readonly tookMs: number;
}

export interface MissingIndexesParts {
  readonly mongo: Mongo;
  readonly sortIndexes: SortIndexes;
  /** Told of each index that is missing, once. */
  readonly onAdvice: (text: string) => void;
}

/** What is known of one kind of question. */
interface Known {
  /** Documents, or keys of an index, that the database reads for it. */
  readonly read: number;
  /** Documents that it gives, for a list that goes on after its first batch. */
  readonly given: number;
  readonly until: number;
  /** True if the log has it. */
  readonly isTold: boolean;
}

export class MissingIndexes {
  readonly #parts: MissingIndexesParts;
  /** By collection and fields of the index, those used last at the end. */
  readonly #known = new Map<string, Known>();
  #isExplaining = false;

  constructor(parts: MissingIndexesParts) {
    this.#parts = parts;
  }

  /** A sentence about the index that a slow list lacks; none when it lacks none, or that is not known yet. */
  async hints(list: SlowList): Promise<readonly string[]> {
    const wanted = wantedIndex(list.asked, list.sort);
    if (wanted === null || (await this.#parts.sortIndexes.has(list.name, wanted))) return [];
    const fields = JSON.stringify(fieldsOf(wanted));
    const known = this.#known.get(keyOf(list, fields));
    if (known === undefined || known.until < performance.now()) {
      const read = await this.#readsAll(list).catch(() => null);
      if (read === null) void this.#explain(list, fields);
      else this.#learn(list, fields, read, 0);
    }
    return this.#tell(list, fields) ? [`This list took long because an index on ${fields} is missing.`] : [];
  }

  /** How many documents the database read, if it certainly read all of them; else null. */
  async #readsAll({ name, paths, sort, limit, found }: SlowList): Promise<number | null> {
    if (found === null) return null;
    // In the order of the id the database stops when the page is full.
    const mayStop = sort[0]?.path === '_id' && limit !== null && found >= limit;
    if (mayStop || !(await this.#parts.sortIndexes.serveNothing(name, paths, sort))) return null;
    return this.#parts.mongo.data.collection(name).estimatedDocumentCount({ maxTimeMS: COUNT_MS });
  }

  /** One at a time: what is asked meanwhile is explained with a later slow answer. */
  async #explain(list: SlowList, fields: string): Promise<void> {
    if (this.#isExplaining) return;
    this.#isExplaining = true;
    try {
      const { name, filter, skip, limit } = list;
      const tied = await this.#parts.sortIndexes.serveWithoutId(name, filter, list.sort);
      const sort = toMongoSort((tied ? withoutId(list.sort) : null) ?? list.sort);
      const find = { find: name, filter, sort, skip, ...(limit === null ? {} : { limit }) };
      const command = { explain: find, verbosity: 'executionStats', maxTimeMS: EXPLAIN_MS };
      const { executionStats = {} } = await this.#parts.mongo.data.command(command);
      const { totalDocsExamined = 0, totalKeysExamined = 0, nReturned = 0 } = executionStats;
      this.#learn(list, fields, Math.max(Number(totalDocsExamined), Number(totalKeysExamined)), Number(nReturned));
      this.#tell(list, fields);
    } catch {
      // Not explained in its time: it is not tried again soon.
      this.#learn(list, fields, 0, 0);
    } finally {
      this.#isExplaining = false;
    }
  }

  #learn(list: SlowList, fields: string, read: number, given: number): void {
    const key = keyOf(list, fields);
    const isTold = this.#known.get(key)?.isTold === true;
    this.#known.delete(key);
    this.#known.set(key, { read, given, until: performance.now() + AGAIN_MS, isTold });
    const [oldest] = this.#known.keys();
    if (this.#known.size > MAX_KNOWN && oldest !== undefined) this.#known.delete(oldest);
  }

  /** Whether this list is wasteful; the log hears of it once. */
  #tell(list: SlowList, fields: string): boolean {
    const key = keyOf(list, fields);
    const known = this.#known.get(key);
    const given = list.found ?? known?.given ?? 0;
    if (known === undefined || known.read <= WASTE * Math.max(given, 1)) return false;
    if (known.isTold) return true;
    this.#known.set(key, { ...known, isTold: true });
    const [ms, read] = [Math.round(list.tookMs), known.read.toLocaleString('en')];
    this.#parts.onAdvice(
      `A list of '${list.name}' took ${ms} ms and read ${read} documents to give ${given}: an index on ${fields} is missing`,
    );
    return true;
  }
}

const keyOf = ({ name, found }: SlowList, fields: string): string => `${name} ${fields} ${found === null}`;
