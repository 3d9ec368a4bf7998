/**
 * The sort key of a document in memory, as the server computes it. It can pause within a long array
 * (lib/concurrency/cooperative-yield.ts).
 */
import { countStepAndYield, resumableProgress } from '../../lib/concurrency/cooperative-yield.ts';
import {
  cachedFieldNames,
  compareValues,
  type EmbeddedDocument,
  isEmbeddedDocument,
  type ListFieldNames,
} from '../evaluate/bson-order.ts';
import {
  compareSortKeys,
  groupByFirstField,
  type Sort,
  type SortKeyValues,
  type SortPathRest,
  splitSortPaths,
} from './sort.ts';

/**
 * The sort key of a document. A missing value is null. For an array it is the smallest element, or the largest when
 * descending. Keys that reach into one array are taken from the same element.
 */
export function sortKeyOf(document: EmbeddedDocument, sort: Sort): SortKeyValues {
  const values: unknown[] = sort.map(() => null);
  take(document, planOf(sort), values);
  return values;
}

/** A comparison of documents in memory, for `Array.sort` and windows. */
export function documentComparator(sort: Sort): (a: EmbeddedDocument, b: EmbeddedDocument) => number {
  return (a, b) => compareSortKeys(sortKeyOf(a, sort), sortKeyOf(b, sort), sort);
}

/** The sort keys whose paths go through the same field. */
interface Branch {
  readonly step: string;
  /** The positions of the keys in the sort, in its order. */
  readonly keys: readonly number[];
  /** The keys whose path ends here. */
  readonly ends: readonly number[];
  readonly below: readonly Branch[];
  readonly sort: Sort;
}

/** Computed once for each sort: an array needs it again at each element. */
const plans = new WeakMap<Sort, readonly Branch[]>();

function planOf(sort: Sort): readonly Branch[] {
  const known = plans.get(sort);
  if (known !== undefined) return known;
  const plan = branchesOf(splitSortPaths(sort), sort);
  plans.set(sort, plan);
  return plan;
}

function branchesOf(rests: readonly SortPathRest[], sort: Sort): readonly Branch[] {
  return groupByFirstField(rests).map(([step, keys]) => ({
    step,
    keys: keys.map(({ index }) => index),
    ends: keys.filter(({ steps }) => steps.length === 0).map(({ index }) => index),
    below: branchesOf(
      keys.filter(({ steps }) => steps.length > 0),
      sort,
    ),
    sort,
  }));
}

function take(node: EmbeddedDocument, branches: readonly Branch[], values: unknown[]): void {
  for (const branch of branches) {
    const value = Object.hasOwn(node, branch.step) ? node[branch.step] : null;
    if (!Array.isArray(value)) takeOne(value, branch, values);
    else if (value.length > 0) takeBest(value, branch, values);
    else for (const index of branch.keys) values[index] = branch.ends.includes(index) ? undefined : null;
  }
}

/** The keys of one value. An array here is an element of an array, and is not opened. */
function takeOne(value: unknown, { ends, below }: Branch, values: unknown[]): void {
  for (const index of ends) values[index] = value;
  if (below.length === 0) return;
  if (isEmbeddedDocument(value)) take(value, below, values);
  else for (const { keys } of below) for (const index of keys) values[index] = null;
}

/** Progress of the search for the best element of an array. */
interface Search {
  at: number;
  best: unknown[];
  /** The keys of the current element; the array is reused for the next one. */
  next: unknown[];
  /** The best element may be large, and is compared with all others. */
  readonly names: ListFieldNames;
}

/** The keys of the element that comes first in the order of the sort. */
function takeBest(array: readonly unknown[], branch: Branch, values: unknown[]): void {
  const done = resumableProgress(
    branch,
    array,
    (): Search => ({ at: 0, best: [], next: [], names: cachedFieldNames() }),
  );
  while (done.at < array.length) {
    takeOne(array[done.at], branch, done.next);
    if (done.at === 0 || comesBefore(done, branch)) [done.best, done.next] = [done.next, done.best];
    done.at += 1;
    countStepAndYield();
  }
  for (const index of branch.keys) values[index] = done.best[index];
}

function comesBefore({ best, next, names }: Search, { keys, sort }: Branch): boolean {
  for (const index of keys) {
    const order = compareValues(next[index], best[index], names) * (sort[index]?.direction ?? 1);
    if (order !== 0) return order < 0;
  }
  return false;
}
