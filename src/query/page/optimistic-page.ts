/**
 * Reads the page after a cursor with plain `$gt`/`$lt`, which MongoDB plans quickly. Plain comparisons unwind arrays
 * and match one type only, so the result can be wrong. `verifyPlainComparisonPage` detects that and returns null; the
 * caller then uses `buildPageRequest` (page.ts).
 */
import type { Document } from 'bson';
import { BSON_KIND, type BsonKind, bsonKindOf, type EmbeddedDocument, equalValues } from '../evaluate/bson-order.ts';
import type { PagePosition, PageQuery } from './page.ts';
import { compareSortKeys, isDatabaseSortable, reverseSort, type Sort } from './sort.ts';
import { sortKeyOf } from './sort-key.ts';

export interface OptimisticPageRequest extends PageQuery {
  /** How many documents to request. */
  readonly limit: number;
  /** True if the document of the position is requested too: if it is unchanged, it comes first in the result. */
  readonly withOwn: boolean;
}

/**
 * Kinds for which a plain comparison matches all values of the same kind, except NaN; other kinds sort before or after
 * them.
 */
const PLAIN: ReadonlySet<BsonKind> = new Set([BSON_KIND.number, BSON_KIND.string, BSON_KIND.objectId, BSON_KIND.date]);

/**
 * If the position's value is unique, one range that begins with that value. Otherwise, for sorts by one field, two
 * parts: the range beyond the value, and the documents with the same value and a further id. Ids are compared across
 * types: after the ids of one type, those of the next type come before the next value of the field.
 * @param filter additional MongoDB filter document for the list's documents
 * @param limit documents of the page
 * @returns null where the sort or the position is not simple enough
 */
export function buildPlainComparisonPageRequest(
  filter: Document,
  sort: Sort,
  position: PagePosition,
  limit: number,
): OptimisticPageRequest | null {
  const order = position.direction === 'prev' ? reverseSort(sort) : sort;
  const [key, id] = order;
  const [value, lastId] = position.values;
  if (!isDatabaseSortable(sort)) return null;
  if (key === undefined || !PLAIN.has(bsonKindOf(value)) || String(value) === 'NaN') return null;
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
 * The documents of the page and one more after it, or null when the result may be wrong. The result must be full (as
 * far as one reply goes), otherwise documents of other kinds may follow. An array that matches the comparison but does
 * not belong there comes first or is not reached, so the result must not contain an array.
 */
export function verifyPlainComparisonPage<T>(
  response: readonly T[],
  requested: {
    readonly request: OptimisticPageRequest;
    readonly position: PagePosition;
    readonly limit: number;
    /** True if the result was cut before its limit, and more documents follow. */
    readonly more?: boolean;
  },
  { read, holdsArray }: { readonly read: (result: T) => EmbeddedDocument; readonly holdsArray: (result: T) => boolean },
): readonly T[] | null {
  const page = requested.request.withOwn
    ? behindOwn(response, requested.request.sort, requested.position, read)
    : response;
  if (page === null || page.length <= (requested.more ? 0 : requested.limit) || response.some(holdsArray)) return null;
  return page.slice(0, requested.limit + 1);
}

/**
 * The documents beyond the position in a result that begins at its value. The order is the server's, and only equality
 * is checked here: the collection may order texts by a collation of its own.
 */
function behindOwn<T>(
  response: readonly T[],
  sort: Sort,
  { values }: PagePosition,
  read: (result: T) => EmbeddedDocument,
): readonly T[] | null {
  const [first] = response;
  if (first === undefined) return null;
  const found = sortKeyOf(read(first), sort);
  if (compareSortKeys(found, values, sort) === 0) return response.slice(1);
  // The document of the position was removed. Another one with the same value may be before the position or after it.
  const reported = bsonKindOf(values[0]) !== BSON_KIND.string && !equalValues(found[0], values[0]);
  return reported ? response : null;
}
