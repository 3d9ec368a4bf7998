/**
 * Pages by key: what to ask the database for the page behind or before a position, and what of the answer is the page.
 * Positions are sort keys, so page 10,000 costs what page 1 costs when an index has the sort. How a position travels
 * is in cursor.ts, how most pages are asked for in optimistic-page.ts.
 */
import type { Document } from 'bson';
import { MillraceError } from '../../kernel/errors.ts';
import { equalValues, type Members } from '../evaluate/order.ts';
import { keyExpression } from './key-expression.ts';
import { rangesBeyond } from './key-ranges.ts';
import { compareKeys, type KeyValues, reversed, type Sort, sortKeyOf } from './sort.ts';

/** A place in a sorted list: behind (`next`) or before (`prev`) the document with this key. */
export interface PagePosition {
  readonly direction: 'next' | 'prev';
  readonly values: KeyValues;
  /** As far as was seen, no other document has the first of the values: a hint how to ask, which may be wrong. */
  readonly alone?: boolean;
}

/** What to ask for one page: the documents that meet `filter`, in the order of `sort`, one more than fit. */
export interface PageRequest {
  readonly filter: Document;
  /** The order to ask in; for a page before a position it is turned around. */
  readonly sort: Sort;
}

/** @param filter whatever else a document of the list must meet, as a MongoDB filter document */
export function requestPage(filter: Document, sort: Sort, position: PagePosition | null): PageRequest {
  if (position === null) return { filter, sort };
  const backwards = position.direction === 'prev';
  return { filter: beyond(filter, sort, position.values, backwards), sort: backwards ? reversed(sort) : sort };
}

/**
 * With `$or` outermost the server plans each range by itself and merges them in order; further in, and with a second
 * index at hand, it was seen to read the whole index instead.
 */
function beyond(filter: Document, sort: Sort, values: KeyValues, backwards: boolean): Document {
  const others = Object.keys(filter).length === 0 ? [] : [filter];
  const ranges = rangesBeyond(sort, values, backwards).map((range) => ({ $and: [range, ...others] }));
  return ranges.length === 1 ? (ranges[0] ?? filter) : { $or: ranges };
}

/**
 * Whether the documents answered for a page before a position are in the true order. The server, asked to sort the
 * other way around, takes the other end of an array for its key. As long as no document of the answer has an array at
 * a sort path, none has been put in a wrong place; else ask again with `exactStages`.
 */
export function isInOrder(documents: readonly Members[], sort: Sort, position: PagePosition | null): boolean {
  return position?.direction !== 'prev' || !documents.some((document) => hasArray(document, sort));
}

function hasArray(document: Members, sort: Sort): boolean {
  return sort.some(({ path }) => {
    let value: unknown = document;
    for (const step of path.split('.')) {
      if (typeof value !== 'object' || value === null || !Object.hasOwn(value, step)) return false;
      value = Reflect.get(value, step);
      if (Array.isArray(value)) return true;
    }
    return false;
  });
}

/** Aggregation stages, behind a `$match`, that put the documents before a position in exact order, without an index. */
export function exactStages(sort: Sort, limit: number): Document[] {
  return [
    { $project: { _id: 0, document: '$$ROOT', key: keyExpression(sort) } },
    { $set: { by: Object.fromEntries(sort.map((_, index) => [`k${index}`, wrapped(`$key.k${index}`)])) } },
    { $sort: Object.fromEntries(sort.map(({ direction }, index) => [`by.k${index}`, -direction])) },
    { $limit: limit },
    { $replaceRoot: { newRoot: '$document' } },
  ];
}

/**
 * A key as a document that sorts as the key does, whatever it is: an array by itself would be opened once more. The
 * key of an empty array is absent and has its place between MinKey and null.
 */
function wrapped(key: string): Document {
  const type = { $type: key };
  const rank = { $cond: [{ $eq: [type, 'minKey'] }, 0, { $cond: [{ $eq: [type, 'missing'] }, 1, 2] }] };
  return { rank, value: key };
}

/** One page in the order of the sort, with the positions to go on from. */
export interface Page<T> {
  readonly documents: readonly T[];
  readonly next: PagePosition | null;
  readonly prev: PagePosition | null;
}

/** What an answer was asked for. */
export interface PageCut {
  readonly sort: Sort;
  readonly limit: number;
  readonly position: PagePosition | null;
  /** Whether the answer was ended before its limit, and others follow: the page is a shorter one. */
  readonly more?: boolean;
}

/** The sort's values of the document at a place of an answer, and before it those of the position; null where nothing is. */
type Keys = (place: number) => KeyValues | null;

/**
 * Cuts the page out of an answer.
 * @param answer what was found, in the order asked for, up to one more than `limit`
 * @param read the document with at least the sort's fields, exactly typed
 * @throws MillraceError `sort-impossible` when no position can be told that the page ends at
 */
export function cutPage<T>(
  answer: readonly T[],
  { sort, limit, position, more = false }: PageCut,
  read: (answered: T) => Members,
): Page<T> {
  const backwards = position?.direction === 'prev';
  /** By place: where a page ends is asked more than once. */
  const known = new Map<number, KeyValues>();
  const keys: Keys = (place) => {
    const answered = answer[place];
    if (answered === undefined) return place < 0 && position !== null ? position.values : null;
    const values = known.get(place) ?? sortKeyOf(read(answered), sort);
    known.set(place, values);
    return values;
  };
  const kept = answer.slice(0, lengthOf(answer.length, { sort, limit, more }, keys));
  const documents = backwards ? [...kept].reverse() : kept;
  // In the order asked for, the page lies between the position, if any, and the one document more, if any.
  const far = more || answer.length > limit ? at(kept.length - 1, keys, sort) : null;
  const near = position !== null && kept.length > 0 ? at(0, keys, sort) : null;
  const [next, prev] = backwards ? [near, far] : [far, near];
  return {
    documents,
    next: next && { direction: 'next', ...next },
    prev: prev && { direction: 'prev', ...prev },
  };
}

/**
 * How many documents of an answer are the page. Documents of a view may share their id, and no position stands between
 * those that share all of the sort: the page ends before them, where it can.
 */
function lengthOf(
  found: number,
  { sort, limit, more }: Pick<Required<PageCut>, 'sort' | 'limit' | 'more'>,
  keys: Keys,
): number {
  const shares = (place: number): boolean => {
    const [before, behind] = [keys(place - 1), keys(place)];
    return before !== null && behind !== null && compareKeys(before, behind, sort) === 0;
  };
  if (found <= limit && (!more || found <= 1)) return found;
  // Of an answer that was ended early the last document is taken for the one more: what follows it is not known.
  let length = Math.min(limit, found - 1);
  while (length > 0 && shares(length)) length--;
  if (length > 0 || limit === 0) return length;
  throw new MillraceError(
    'sort-impossible',
    'Too many documents have the same sort key and id to continue after this page',
    {
      hint: 'Sort by a field in which they differ, or ask without limit',
    },
  );
}

function at(place: number, keys: Keys, sort: Sort): Omit<PagePosition, 'direction'> {
  const values = keys(place) ?? [];
  // Of ids it is known.
  if (sort[0]?.path === '_id') return { values };
  const differs = (other: KeyValues | null): boolean => other !== null && !equalValues(other[0], values[0]);
  return { values, alone: differs(keys(place - 1)) && differs(keys(place + 1)) };
}
