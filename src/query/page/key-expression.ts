/**
 * The sort key of a document as an aggregation expression: what `sortKeyOf` in sort-key.ts computes for a document in memory.
 * Comparing this key instead of the field makes page predicates exact over arrays, missing values and mixed types.
 */
import type { Document } from 'bson';
import { getFieldExpression } from '../evaluate/to-expression.ts';
import { isEscapedPath, joinPath } from '../field-paths.ts';
import {
  groupByFirstField,
  type Sort,
  type SortKey,
  type SortKeyValues,
  type SortPathRest,
  splitSortPaths,
} from './sort.ts';

/** A document with a field `k0`, `k1` … for each key; absent for the key of an empty array. */
export function sortKeyExpression(sort: Sort): Document {
  return bestKeys('$$ROOT', splitSortPaths(sort), sort, 0);
}

/** True if the document's key lies after `values` in the order of the sort, or before them when `backwards`. */
export function keyBeyondExpression(sort: Sort, values: SortKeyValues, backwards: boolean): Document {
  const key = (index: number): string => `$$key.k${index}`;
  // A value that is absent in an expression sorts before null, as the key of an empty array does.
  const bound = (index: number): unknown => (values[index] === undefined ? '$$REMOVE' : { $literal: values[index] });
  const beyond = sort.map(({ direction }, index) => {
    const comparison = (direction === 1) === backwards ? '$lt' : '$gt';
    const same = sort.slice(0, index).map((_, before) => ({ $eq: [key(before), bound(before)] }));
    return { $and: [...same, { [comparison]: [key(index), bound(index)] }] };
  });
  return { $let: { vars: { key: sortKeyExpression(sort) }, in: { $or: beyond } } };
}

/** The keys below `base`, which is a document and not an array. */
function bestKeys(base: string, keys: readonly SortPathRest[], sort: Sort, depth: number): Document {
  return {
    $mergeObjects: groupByFirstField(keys).map(([step, rest]) => keysAt(fieldAt(base, step), rest, sort, depth)),
  };
}

/** A field as an expression. */
type Field = string | Document;

function fieldAt(base: string, step: string): Field {
  return isEscapedPath(joinPath([step])) ? getFieldExpression(base, step) : `${base}.${step}`;
}

/** The keys at a field. If the field is an array, those of its first element in the order of the sort. */
function keysAt(field: Field, keys: readonly SortPathRest[], sort: Sort, depth: number): Document {
  const [only] = keys;
  if (only !== undefined && keys.length === 1 && only.steps.length === 0)
    return { [`k${only.index}`]: keyAt(field, sort[only.index]) };
  const [value, element] = [`v${depth}`, `e${depth}`];
  const ofEmpty = Object.fromEntries(
    keys.filter(({ steps }) => steps.length > 0).map(({ index }) => [`k${index}`, null]),
  );
  // A single value is treated as a list of one: a separate branch would double the expression at every step.
  const values = { $cond: [{ $isArray: `$$${value}` }, `$$${value}`, [`$$${value}`]] };
  const first = {
    $reduce: {
      input: { $map: { input: values, as: element, in: keysOf(`$$${element}`, keys, sort, depth + 1) } },
      initialValue: null,
      in: { $cond: [{ $or: [{ $eq: ['$$value', null] }, isFirst(keys, sort)] }, '$$this', '$$value'] },
    },
  };
  return { $let: { vars: { [value]: field }, in: { $cond: [{ $eq: [`$$${value}`, []] }, ofEmpty, first] } } };
}

/** The key of a field that belongs to one sort key only, as most do. An empty array has no first element, so no key. */
function keyAt(field: Field, key: SortKey | undefined): Document | string {
  if (key?.path === '_id') return field; // Never an array and never missing.
  const ofArray = { $first: { $sortArray: { input: field, sortBy: key?.direction ?? 1 } } };
  return { $cond: [{ $isArray: [field] }, ofArray, { $ifNull: [field, null] }] };
}

/** The keys of one value. An array here is an element of an array, and is not opened. */
function keysOf(value: string, keys: readonly SortPathRest[], sort: Sort, depth: number): Document {
  const here = keys.filter(({ steps }) => steps.length === 0);
  const below = keys.filter(({ steps }) => steps.length > 0);
  const own = Object.fromEntries(here.map(({ index }) => [`k${index}`, { $ifNull: [value, null] }]));
  if (below.length === 0) return own;
  const absent = Object.fromEntries(below.map(({ index }) => [`k${index}`, null]));
  const inside = { $cond: [{ $eq: [{ $type: value }, 'object'] }, bestKeys(value, below, sort, depth), absent] };
  return { $mergeObjects: [own, inside] };
}

/** Whether `$$this` comes before `$$value` by these keys, in the order of the sort. */
function isFirst(keys: readonly SortPathRest[], sort: Sort): Document {
  const indexes = keys.map(({ index }) => index).sort((a, b) => a - b);
  return {
    $or: indexes.map((index, nth) => ({
      $and: [
        ...indexes.slice(0, nth).map((before) => ({ $eq: [`$$this.k${before}`, `$$value.k${before}`] })),
        { [sort[index]?.direction === -1 ? '$gt' : '$lt']: [`$$this.k${index}`, `$$value.k${index}`] },
      ],
    })),
  };
}
