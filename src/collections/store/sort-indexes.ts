/**
 * Which indexes of a collection can serve a sort or a query. They are read at most every few seconds, so that pages can
 * be requested in an order that an index has. Outdated knowledge costs time but makes no page wrong.
 */
import type { Document } from 'mongodb';
import { MONGO_ERROR_CODES, mongoErrorCode } from '../../database/errors.ts';
import type { Mongo } from '../../database/mongo.ts';
import type { CollectionName } from '../../database/parse-collection-name.ts';
import { sortWithoutId } from '../../query/page/page-without-id-index.ts';
import type { Sort } from '../../query/page/sort.ts';
import type { SuggestedIndex } from './suggest-index.ts';

/** Milliseconds until the indexes are read again. */
const REAUTHENTICATION_MS = 10_000;
/** Collections whose indexes are remembered. */
const MAX_COLLECTIONS = 1_000;

/**
 * Most values of an `$in` for which its field counts as fixed: the server reads one range of the index for each value,
 * and could merge far more of them.
 */
const MAX_RANGES = 32;

type Key = readonly (readonly [path: string, direction: unknown])[];

/** The indexes of one collection. */
interface Listed {
  /** Keys of those that contain every document, in the order of plain values. */
  readonly keys: readonly Key[];
  /** True if there are others, such as sparse ones. */
  readonly hasOthers: boolean;
}

interface Known {
  readonly since: number;
  readonly listed: Promise<Listed>;
}

export class SortIndexes {
  readonly #mongo: Mongo;
  readonly #known = new Map<string, Known>();

  constructor(mongo: Mongo) {
    this.#mongo = mongo;
  }

  /**
   * True if some index has the sort's keys without the id after them, and no index has the complete sort.
   * @param filter as the database takes it: fields that must equal a value may come first in an index
   */
  async serveWithoutId(name: CollectionName, filter: Document, sort: Sort): Promise<boolean> {
    const keys = sortWithoutId(sort);
    if (keys === null) return false;
    const { keys: indexes } = await this.#listedOf(name);
    if (indexes.length === 0) return false;
    const fixed = new Set(fixedPaths(filter));
    return !indexes.some((index) => serves(index, sort, fixed)) && indexes.some((index) => serves(index, keys, fixed));
  }

  /** True if some index begins with these fields. */
  async has(name: CollectionName, { equal, rest }: SuggestedIndex): Promise<boolean> {
    const { keys: indexes } = await this.#listedOf(name);
    return indexes.some((index) => {
      const first = index.slice(0, equal.length);
      if (first.length < equal.length || !first.every(([path]) => equal.includes(path))) return false;
      return rest.length === 0 || serves(index.slice(equal.length), rest, new Set());
    });
  }

  /**
   * True if certainly no index can be used: the database then reads every document.
   * @param paths stored paths of the whole filter
   */
  async serveNothing(name: CollectionName, paths: ReadonlySet<string>, sort: Sort): Promise<boolean> {
    const { keys: indexes, hasOthers } = await this.#listedOf(name);
    // Every collection has an index by id: without any, this is a view, or the indexes are unknown.
    if (indexes.length === 0 || hasOthers) return false;
    const order = sortWithoutId(sort) ?? sort;
    return !indexes.some(
      (index) => paths.has(index[0]?.[0] ?? '') || (isById(order) ? false : serves(index, order, new Set())),
    );
  }

  /** This server has changed the indexes. */
  forget(name: CollectionName): void {
    this.#known.delete(name);
  }

  /** Processes rows of the event log, or null when some were lost: another collection may now have the name. */
  applyLogRows(rows: readonly { readonly operation: string; readonly collection: string | null }[] | null): void {
    if (rows === null) this.#known.clear();
    for (const { operation, collection } of rows ?? []) {
      if ((operation === 'drop' || operation === 'rename') && collection !== null) this.#known.delete(collection);
    }
  }

  /** While the indexes are read again, the old result is used. */
  #listedOf(name: CollectionName): Promise<Listed> {
    const known = this.#known.get(name);
    if (known !== undefined && performance.now() - known.since < REAUTHENTICATION_MS) return known.listed;
    const listed = this.#load(name);
    if (known === undefined) {
      this.#remember(name, listed);
      return listed;
    }
    this.#remember(name, known.listed);
    void listed.then(() => this.#known.has(name) && this.#remember(name, listed));
    return known.listed;
  }

  #remember(name: CollectionName, listed: Promise<Listed>): void {
    this.#known.delete(name);
    this.#known.set(name, { since: performance.now(), listed });
    const [oldest] = this.#known.keys();
    if (this.#known.size > MAX_COLLECTIONS && oldest !== undefined) this.#known.delete(oldest);
  }

  /** No indexes for a view, nor when the database is unavailable: then reading the page itself reports the error. */
  async #load(name: CollectionName): Promise<Listed> {
    try {
      const listed = await this.#mongo.data.collection(name).listIndexes().toArray();
      const keys = usableKeys(listed);
      return { keys, hasOthers: keys.length < listed.length };
    } catch (error) {
      if (mongoErrorCode(error) !== MONGO_ERROR_CODES.commandNotSupportedOnView) this.#known.delete(name);
      return { keys: [], hasOthers: true };
    }
  }
}

function usableKeys(listed: readonly Document[]): readonly Key[] {
  // The index by id shows the collation of the collection. With one, it is unknown which texts are equal.
  if (listed.some(({ name, collation }) => name === '_id_' && collation !== undefined)) return [];
  const usable = listed.filter(
    ({ sparse, partialFilterExpression, collation, hidden }) =>
      sparse !== true && partialFilterExpression === undefined && collation === undefined && hidden !== true,
  );
  return usable.map(({ key }) => Object.entries(key ?? {}));
}

const isById = ([key]: Sort): boolean => key?.path === '_id';

/** Whether the index, after fields with one value, continues with the sort, or with its exact opposite. */
function serves(index: Key, sort: Sort, fixed: ReadonlySet<string>): boolean {
  for (let from = 0; from + sort.length <= index.length; from++) {
    const turn = index[from]?.[1] === sort[0]?.direction ? 1 : -1;
    if (sort.every((key, at) => same(index[from + at], key.path, key.direction * turn))) return true;
    if (!fixed.has(index[from]?.[0] ?? '')) return false;
  }
  return false;
}

function same(part: Key[number] | undefined, path: string, direction: number): boolean {
  return part?.[0] === path && part[1] === direction;
}

/**
 * The fields that must equal one value, or one of a few. For a few values the server merges one range of the index for
 * each: a number in a URL may also mean a text.
 */
function fixedPaths(filter: Document): string[] {
  return Object.entries(filter).flatMap(([name, test]) => {
    if (name === '$and' && Array.isArray(test)) return test.flatMap(fixedPaths);
    if (name.startsWith('$') || typeof test !== 'object' || test === null) return [];
    const isFixed = '$eq' in test || ('$in' in test && Array.isArray(test.$in) && test.$in.length <= MAX_RANGES);
    return isFixed ? [name] : [];
  });
}
