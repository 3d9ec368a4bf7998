/**
 * Reads the page after a cursor with plain `$gt`/`$lt`, which MongoDB plans quickly. Plain comparisons unwind arrays
 * and match one type only, so the result can be wrong. `optimisticPage` detects that and returns null; the caller then
 * uses `requestPage` (page.ts).
 */
import type { Document } from 'bson';
import { equalValues, KIND, type Kind, kindOf, type Members } from '../evaluate/order.ts';
import type { PagePosition, PageRequest } from './page.ts';
import { compareKeys, isSortable, reversed, type Sort } from './sort.ts';
import { sortKeyOf } from './sort-key.ts';

export interface OptimisticRequest extends PageRequest {
  /** How many documents to ask for. */
  readonly limit: number;
  /** True if the document of the position is asked for too: if it is unchanged, it comes first in the answer. */
  readonly withOwn: boolean;
}

/**
 * Kinds for which a plain comparison finds all values of the same kind, except NaN; other kinds sort before or after
 * them.
 */
const PLAIN: ReadonlySet<Kind> = new Set([KIND.number, KIND.string, KIND.objectId, KIND.date]);

/**
 * If the position's value is unique, one range that begins with that value. Otherwise, for sorts by one field, two
 * parts: the range beyond the value, and the documents with the same value and a further id. Ids are compared across
 * types: after the ids of one type, those of the next type come before the next value of the field.
 * @param filter what else a document of the list must match, as a MongoDB filter document
 * @param limit documents of the page
 * @returns null where the sort or the position is not simple enough
 */
export function optimisticRequest(
  filter: Document,
  sort: Sort,
  position: PagePosition,
  limit: number,
): OptimisticRequest | null {
  const order = position.direction === 'prev' ? reversed(sort) : sort;
  const [key, id] = order;
  const [value, lastId] = position.values;
  if (!isSortable(sort)) return null;
  if (key === undefined || !PLAIN.has(kindOf(value)) || String(value) === 'NaN') return null;
  const others = Object.keys(filter).length === 0 ? [] : [filter];
  const within = (...conditions: Document[]): Document => ({ $and: [...conditions, ...others] });
  const [further, notBefore] = key.direction === 1 ? ['$gt', '$gte'] : ['$lt', '$lte'];
  const beyond = within({ [key.path]: { [further]: value } });
  // No two documents have the same id.
  if (key.path === '_id') return { filter: beyond, sort: order, limit: limit + 1, withOwn: false };
  if (position.alone === true) {
    return { filter: within({ [key.path]: { [notBefore]: value } }), sort: order, limit: limit + 2, withOwn: true };
  }
  if (id?.path !== '_id') return null;
  const furtherId = { $expr: { [id.direction === 1 ? '$gt' : '$lt']: ['$_id', { $literal: lastId }] } };
  const ranges = [beyond, within({ [key.path]: { $eq: value } }, furtherId)];
  return { filter: { $or: ranges }, sort: order, limit: limit + 1, withOwn: false };
}

/**
 * The documents of the page and one more after it, or null when the answer may be wrong. The answer must be full (as
 * far as one reply goes), otherwise documents of other kinds may follow. An array that matches the comparison but does
 * not belong there comes first or is not reached, so no array may occur in the answer.
 */
export function optimisticPage<T>(
  answer: readonly T[],
  asked: {
    readonly request: OptimisticRequest;
    readonly position: PagePosition;
    readonly limit: number;
    /** True if the answer was cut before its limit, and more documents follow. */
    readonly more?: boolean;
  },
  { read, holdsArray }: { readonly read: (answered: T) => Members; readonly holdsArray: (answered: T) => boolean },
): readonly T[] | null {
  const page = asked.request.withOwn ? behindOwn(answer, asked.request.sort, asked.position, read) : answer;
  if (page === null || page.length <= (asked.more ? 0 : asked.limit) || answer.some(holdsArray)) return null;
  return page.slice(0, asked.limit + 1);
}

/**
 * The documents beyond the position in an answer that begins at its value. The order is the server's, and only equality
 * is checked here: the collection may order texts by a collation of its own.
 */
function behindOwn<T>(
  answer: readonly T[],
  sort: Sort,
  { values }: PagePosition,
  read: (answered: T) => Members,
): readonly T[] | null {
  const [first] = answer;
  if (first === undefined) return null;
  const found = sortKeyOf(read(first), sort);
  if (compareKeys(found, values, sort) === 0) return answer.slice(1);
  // The document of the position is gone. Another one with the same value may lie before the position or after it.
  const told = kindOf(values[0]) !== KIND.string && !equalValues(found[0], values[0]);
  return told ? answer : null;
}
