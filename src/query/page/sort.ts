/**
 * Sort keys: how clients write them, which key a document has, and which of two documents comes first, as the server
 * sorts. Not here: the same keys as an expression for the server (key-expression.ts).
 */
import { MillraceError } from '../../kernel/errors.ts';
import { compareValues, isMembers, type Members } from '../evaluate/order.ts';
import { LIMITS } from '../limits.ts';
import { askedPath, isPosition } from '../paths.ts';

export interface SortKey {
  /** Stored path; no step of it is an array's position. */
  readonly path: string;
  /** 1 ascending, -1 descending. */
  readonly direction: 1 | -1;
}

/** Keys in order of weight; the last is always `_id`, so that no two documents are equal. */
export type Sort = readonly SortKey[];

/** The sort of a query that names none. */
export const BY_ID: Sort = [{ path: '_id', direction: 1 }];

/**
 * Reads `-a,b.c`: `-` is descending.
 * @throws MillraceError `invalid-parameter`
 */
export function parseSort(names: readonly string[]): Sort {
  if (names.length > LIMITS.sortKeys) throw invalid(`A sort has at most ${LIMITS.sortKeys} keys`);
  const keys = names.map((name): SortKey => {
    const [, key, direction] = /^(.+?)[:\s](asc|desc|ascending|descending)$/i.exec(name) ?? [];
    if (key !== undefined && direction !== undefined) throw directionAfter(name, key, direction);
    const descending = name.startsWith('-');
    const path = askedPath(descending ? name.slice(1) : name, 'invalid-parameter');
    if (path.split('.').some(isPosition)) throw invalid(`A sort cannot name a position of an array, as '${path}' does`);
    return { path, direction: descending ? -1 : 1 };
  });
  const paths = new Set(keys.map(({ path }) => path));
  if (paths.size < keys.length) throw invalid('A sort names each field once');
  return paths.has('_id') ? keys : [...keys, ...BY_ID];
}

/** The sort as MongoDB takes it. */
export function toMongoSort(sort: Sort): Map<string, 1 | -1> {
  return new Map(sort.map(({ path, direction }) => [path, direction]));
}

/** The opposite order of everything. */
export function reversed(sort: Sort): Sort {
  return sort.map(({ path, direction }) => ({ path, direction: direction === 1 ? -1 : 1 }));
}

/** The value of each sort key; undefined is the key of an empty array, which sorts before null. */
export type KeyValues = readonly unknown[];

/**
 * The sort key of a document. A missing value is null. For an array it is the smallest element, or the largest when
 * descending. Keys that reach into one array are taken from the same element.
 */
export function sortKeyOf(document: Members, sort: Sort): KeyValues {
  const values: unknown[] = sort.map(() => null);
  for (const [index, value] of bestKeys(document, stepsOf(sort), sort)) values[index] = value;
  return values;
}

/** Negative when `a` comes before `b`. */
export function compareKeys(a: KeyValues, b: KeyValues, sort: Sort): number {
  for (const [index, { direction }] of sort.entries()) {
    const order = compareValues(a[index], b[index]);
    if (order !== 0) return order * direction;
  }
  return 0;
}

/** A comparison of documents in hand, for `Array.sort` and windows. */
export function compareBy(sort: Sort): (a: Members, b: Members) => number {
  return (a, b) => compareKeys(sortKeyOf(a, sort), sortKeyOf(b, sort), sort);
}

/** The rest of the path of the sort key with that index. */
export interface Rest {
  readonly index: number;
  readonly steps: readonly string[];
}

export function stepsOf(sort: Sort): Rest[] {
  return sort.map(({ path }, index) => ({ index, steps: path.split('.') }));
}

/** The keys grouped by their next step, each with the rest of its path. */
export function byNextStep(keys: readonly Rest[]): [step: string, keys: Rest[]][] {
  const groups = new Map<string, Rest[]>();
  for (const { index, steps } of keys) {
    const [step = '', ...rest] = steps;
    groups.set(step, [...(groups.get(step) ?? []), { index, steps: rest }]);
  }
  return [...groups];
}

type Key = readonly [index: number, value: unknown];

function bestKeys(node: Members, keys: readonly Rest[], sort: Sort): Key[] {
  return byNextStep(keys).flatMap(([step, rest]) => {
    const value = Object.hasOwn(node, step) ? node[step] : null;
    if (!Array.isArray(value)) return keysOf(value, rest, sort);
    if (value.length === 0) return rest.map(({ index, steps }): Key => [index, steps.length === 0 ? undefined : null]);
    const tuples = value.map((element) => keysOf(element, rest, sort));
    return tuples.reduce((best, tuple) => (compareTuples(tuple, best, sort) < 0 ? tuple : best));
  });
}

/** The keys that one value gives. An array here is an element of an array, and is not opened. */
function keysOf(value: unknown, keys: readonly Rest[], sort: Sort): Key[] {
  const here = keys.filter(({ steps }) => steps.length === 0).map(({ index }): Key => [index, value]);
  const below = keys.filter(({ steps }) => steps.length > 0);
  if (below.length === 0) return here;
  if (!isMembers(value)) return [...here, ...below.map(({ index }): Key => [index, null])];
  return [...here, ...bestKeys(value, below, sort)];
}

/** Two tuples of the same keys, weighed in the order of the sort. */
function compareTuples(a: readonly Key[], b: readonly Key[], sort: Sort): number {
  const [first, second] = [new Map(a), new Map(b)];
  for (const [index, { direction }] of sort.entries()) {
    if (!first.has(index)) continue;
    const order = compareValues(first.get(index), second.get(index));
    if (order !== 0) return order * direction;
  }
  return 0;
}

/** Other backends write the direction after the name. */
function directionAfter(name: string, key: string, direction: string): MillraceError {
  const bare = key.trim().replace(/^-/, '');
  const here = /^desc/i.test(direction) ? `-${bare}` : bare;
  return new MillraceError('invalid-parameter', `'${name.slice(0, 80)}' has its direction after the name`, {
    hint: `Write it as sort=${here.slice(0, 80)}; - means descending.`,
  });
}

function invalid(message: string): MillraceError {
  return new MillraceError('invalid-parameter', message, { hint: 'Write it as sort=-createdAt,name.' });
}
