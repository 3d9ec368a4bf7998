/**
 * Keyset pages: the query for the page after or before a position, and the part of the result that is the page.
 * Positions are sort keys, so page 10,000 costs as much as page 1 when an index has the sort.
 */
import type { Document } from 'bson';
import { MillraceError } from '../../lib/errors.ts';
import { type EmbeddedDocument, equalValues } from '../evaluate/bson-order.ts';
import { splitPath } from '../field-paths.ts';
import { sortKeyExpression } from './key-expression.ts';
import { sortKeyRanges } from './key-ranges.ts';
import {
  compareSortKeys,
  isDatabaseSortable,
  reverseSort,
  type Sort,
  type SortKeyValues,
  toMongoSort,
} from './sort.ts';
import { sortKeyOf } from './sort-key.ts';

/** A position in a sorted list: after (`next`) or before (`prev`) the document with this key. */
export interface PagePosition {
  readonly direction: 'next' | 'prev';
  readonly values: SortKeyValues;
  /** True if no other document was seen with the same first value: a hint for the query plan, which may be wrong. */
  readonly alone?: boolean;
}

/** The query for one page: the documents that match `filter`, in the order of `sort`, one more than fit. */
export interface PageQuery {
  readonly filter: Document;
  /** The order of the query; reversed for a page before a position. */
  readonly sort: Sort;
}

/** @param filter additional MongoDB filter document for the list's documents */
export function buildPageRequest(filter: Document, sort: Sort, position: PagePosition | null): PageQuery {
  if (position === null) return { filter, sort };
  const backwards = position.direction === 'prev';
  return { filter: beyond(filter, sort, position.values, backwards), sort: backwards ? reverseSort(sort) : sort };
}

/**
 * With `$or` outermost the server plans each range separately and merges them in order. With `$or` nested and a second
 * index available, it has been observed to read the whole index instead.
 */
function beyond(filter: Document, sort: Sort, values: SortKeyValues, backwards: boolean): Document {
  const others = Object.keys(filter).length === 0 ? [] : [filter];
  const ranges = sortKeyRanges(sort, values, backwards).map((range) => ({ $and: [range, ...others] }));
  return ranges.length === 1 ? (ranges[0] ?? filter) : { $or: ranges };
}

/**
 * True if the documents returned for a page before a position are in the right order. For a reversed sort the server
 * uses the other end of an array as its key. If no returned document has an array at a sort path, none is in a wrong
 * position; otherwise query again with `exactSortStages`.
 */
export function isPageInOrder(
  documents: readonly EmbeddedDocument[],
  sort: Sort,
  position: PagePosition | null,
): boolean {
  return position?.direction !== 'prev' || !documents.some((document) => hasArray(document, sort));
}

function hasArray(document: EmbeddedDocument, sort: Sort): boolean {
  return sort.some(({ path }) => {
    let value: unknown = document;
    for (const step of splitPath(path)) {
      if (typeof value !== 'object' || value === null || !Object.hasOwn(value, step)) return false;
      value = Reflect.get(value, step);
      if (Array.isArray(value)) return true;
    }
    return false;
  });
}

/** Aggregation stages, after a `$match`, that put the documents before a position in exact order, without an index. */
export function exactSortStages(sort: Sort, limit: number): Document[] {
  const [order, shown] = stagesOf(sort, -1);
  return [...order, { $limit: limit }, shown];
}

/** The order of a read: as the database sorts, or by the stages of {@link MongoSortSpec}. */
export function toMongoSortOrStages(sort: Sort): MongoSortSpec {
  if (isDatabaseSortable(sort)) return { sort: toMongoSort(sort) };
  const [order, shown] = stagesOf(sort, 1);
  return { order: { first: order, last: [shown] } };
}

/** Part of a read: the order, and for one that the database cannot sort, the stages before and after its limits. */
export interface MongoSortSpec {
  readonly sort?: Map<string, 1 | -1>;
  readonly order?: { readonly first: readonly Document[]; readonly last: readonly Document[] };
}

/** @param turn -1 for the opposite order */
function stagesOf(sort: Sort, turn: 1 | -1): readonly [order: Document[], shown: Document] {
  const order = [
    { $project: { _id: 0, document: '$$ROOT', key: sortKeyExpression(sort) } },
    { $set: { by: Object.fromEntries(sort.map((_, index) => [`k${index}`, wrapped(`$key.k${index}`)])) } },
    { $sort: Object.fromEntries(sort.map(({ direction }, index) => [`by.k${index}`, direction * turn])) },
  ];
  return [order, { $replaceRoot: { newRoot: '$document' } }];
}

/**
 * Wraps a key in a document that sorts as the key does, whatever its type: an array as such would be opened again. The
 * key of an empty array is absent, and sorts between MinKey and null.
 */
function wrapped(key: string): Document {
  const type = { $type: key };
  const rank = { $cond: [{ $eq: [type, 'minKey'] }, 0, { $cond: [{ $eq: [type, 'missing'] }, 1, 2] }] };
  return { rank, value: key };
}

/** One page in the order of the sort, with the positions of neighboring pages. */
export interface PageResult<T> {
  readonly documents: readonly T[];
  readonly next: PagePosition | null;
  readonly prev: PagePosition | null;
}

/** The request of a result. */
export interface PageSliceOptions {
  readonly sort: Sort;
  readonly limit: number;
  readonly position: PagePosition | null;
  /** True if the result was cut before its limit and more documents follow: the page is then shorter. */
  readonly more?: boolean;
}

/**
 * The sort's values of the document at an index of the result; those of the position at the index before it; null if
 * neither exists.
 */
type Keys = (index: number) => SortKeyValues | null;

/**
 * Cuts the page out of an answer.
 * @param response what was found, in the order asked for, up to one more than `limit`
 * @param read the document with at least the sort's fields, exactly typed
 * @throws MillraceError `sort-not-possible` when there is no position at which the page could end
 */
export function slicePage<T>(
  response: readonly T[],
  { sort, limit, position, more = false }: PageSliceOptions,
  read: (result: T) => EmbeddedDocument,
): PageResult<T> {
  const backwards = position?.direction === 'prev';
  /** Cached by index: the end of a page is read several times. */
  const known = new Map<number, SortKeyValues>();
  const keys: Keys = (index) => {
    const result = response[index];
    if (result === undefined) return index < 0 && position !== null ? position.values : null;
    const values = known.get(index) ?? sortKeyOf(read(result), sort);
    known.set(index, values);
    return values;
  };
  const kept = response.slice(0, lengthOf(response.length, { sort, limit, more }, keys));
  const documents = backwards ? [...kept].reverse() : kept;
  // In the requested order, the page is between the position, if any, and the one extra document, if any.
  const far = more || response.length > limit ? at(kept.length - 1, keys, sort) : null;
  const near = position !== null && kept.length > 0 ? at(0, keys, sort) : null;
  const [next, prev] = backwards ? [near, far] : [far, near];
  return {
    documents,
    next: next && { direction: 'next', ...next },
    prev: prev && { direction: 'prev', ...prev },
  };
}

/**
 * How many documents of a result belong to the page. Documents of a view may share their id, and no position is between
 * two that share all sort keys: the page ends before such documents, if it can.
 */
function lengthOf(
  found: number,
  { sort, limit, more }: Pick<Required<PageSliceOptions>, 'sort' | 'limit' | 'more'>,
  keys: Keys,
): number {
  const shares = (index: number): boolean => {
    const [before, behind] = [keys(index - 1), keys(index)];
    return before !== null && behind !== null && compareSortKeys(before, behind, sort) === 0;
  };
  if (found <= limit && (!more || found <= 1)) return found;
  // If the result was cut early, its last document counts as the extra one: what follows it is unknown.
  let length = Math.min(limit, found - 1);
  while (length > 0 && shares(length)) length--;
  if (length > 0 || limit === 0) return length;
  throw new MillraceError(
    'sort-not-possible',
    'Too many documents have the same sort key and id to continue after this page',
    {
      hint: 'Sort by a field in which they differ, or omit the limit',
    },
  );
}

function at(index: number, keys: Keys, sort: Sort): Omit<PagePosition, 'direction'> {
  const values = keys(index) ?? [];
  // Ids are unique.
  if (sort[0]?.path === '_id') return { values };
  const differs = (other: SortKeyValues | null): boolean => other !== null && !equalValues(other[0], values[0]);
  return { values, alone: differs(keys(index - 1)) && differs(keys(index + 1)) };
}
