/** Sort keys: how clients write them, and how two keys compare, as the server sorts. */
import { MillraceError } from '../../lib/errors.ts';
import { compareValues } from '../evaluate/bson-order.ts';
import { isArrayPosition, isEscapedPath, parseQueryPath, splitPath } from '../field-paths.ts';
import { QUERY_LIMITS } from '../limits.ts';

export interface SortKey {
  /** Stored path; no step of it is an array position. */
  readonly path: string;
  /** 1 ascending, -1 descending. */
  readonly direction: 1 | -1;
}

/** Keys in order of weight; the last is always `_id`, so that no two documents are equal. */
export type Sort = readonly SortKey[];

/** The sort of a query without one. */
export const SORT_BY_ID: Sort = [{ path: '_id', direction: 1 }];

/**
 * Parses `-a,b.c`: `-` is descending.
 * @throws MillraceError `invalid-parameter`
 */
export function parseSort(names: readonly string[]): Sort {
  if (names.length > QUERY_LIMITS.sortKeys) throw invalid(`A sort has at most ${QUERY_LIMITS.sortKeys} keys`);
  const keys = names.map((name): SortKey => {
    const [, key, direction] = /^(.+?)[:\s](asc|desc|ascending|descending)$/i.exec(name) ?? [];
    if (key !== undefined && direction !== undefined) throw directionAfter(name, key, direction);
    if (/^\s*(?:[[{]\s*)+"/.test(name)) throw jsonSort(names);
    const descending = name.startsWith('-');
    const path = parseQueryPath(descending ? name.slice(1) : name, 'invalid-parameter');
    if (splitPath(path).length > QUERY_LIMITS.nestedSteps)
      throw invalid(`A path to sort by has at most ${QUERY_LIMITS.nestedSteps} steps`);
    if (splitPath(path).some(isArrayPosition))
      throw invalid(`A sort cannot use a position of an array, such as '${name}'`);
    return { path, direction: descending ? -1 : 1 };
  });
  const paths = new Set(keys.map(({ path }) => path));
  if (paths.size < keys.length) throw invalid('A sort contains each field at most once');
  return paths.has('_id') ? keys : [...keys, ...SORT_BY_ID];
}

/** True if the database can sort by these paths; if not, documents are ordered by `toMongoSortOrStages` in page.ts. */
export function isDatabaseSortable(sort: Sort): boolean {
  return !sort.some(({ path }) => isEscapedPath(path));
}

/** The sort as MongoDB takes it. */
export function toMongoSort(sort: Sort): Map<string, 1 | -1> {
  return new Map(sort.map(({ path, direction }) => [path, direction]));
}

/** The opposite order of everything. */
export function reverseSort(sort: Sort): Sort {
  return sort.map(({ path, direction }) => ({ path, direction: direction === 1 ? -1 : 1 }));
}

/** The value of each sort key; undefined is the key of an empty array, which sorts before null. */
export type SortKeyValues = readonly unknown[];

/** Negative when `a` comes before `b`. */
export function compareSortKeys(a: SortKeyValues, b: SortKeyValues, sort: Sort): number {
  for (const [index, { direction }] of sort.entries()) {
    const order = compareValues(a[index], b[index]);
    if (order !== 0) return order * direction;
  }
  return 0;
}

/** The rest of the path of the sort key with that index. */
export interface SortPathRest {
  readonly index: number;
  readonly steps: readonly string[];
}

export function splitSortPaths(sort: Sort): SortPathRest[] {
  return sort.map(({ path }, index) => ({ index, steps: splitPath(path) }));
}

/** The keys grouped by their next step, each with the rest of its path. */
export function groupByFirstField(keys: readonly SortPathRest[]): [step: string, keys: SortPathRest[]][] {
  const groups = new Map<string, SortPathRest[]>();
  for (const { index, steps } of keys) {
    const [step = '', ...rest] = steps;
    groups.set(step, [...(groups.get(step) ?? []), { index, steps: rest }]);
  }
  return [...groups];
}

/** Other backends write the direction after the name. */
function directionAfter(name: string, key: string, direction: string): MillraceError {
  const bare = key.trim().replace(/^-/, '');
  const here = /^desc/i.test(direction) ? `-${bare}` : bare;
  return new MillraceError('invalid-parameter', `'${name.slice(0, 80)}' has its direction after the name`, {
    hint: `Write it as sort=${here.slice(0, 80)}; - means descending.`,
  });
}

/** React-admin and others write `["title","ASC"]`, MongoDB `{"title":-1}`. */
function jsonSort(names: readonly string[]): MillraceError {
  const text = names.join(',').slice(0, 200);
  const words = [...text.matchAll(/"([^"]*)"(?:\s*[:,]\s*"?(asc|desc|-?1)\b"?)?/gi)];
  const keys = words.map(([, key = '', direction = '']) => (/^(?:desc|-1)$/i.test(direction) ? `-${key}` : key));
  return new MillraceError('invalid-parameter', `A sort is not written as JSON, as '${text.slice(0, 80)}' is`, {
    hint: `Write it as sort=${keys.join(',').slice(0, 80)}; - means descending.`,
  });
}

function invalid(message: string): MillraceError {
  return new MillraceError('invalid-parameter', message, { hint: 'Write it as sort=-createdAt,name.' });
}
