/**
 * Most pages behind a position in one cheap question: by plain comparisons, which the server plans in little time, and
 * which open arrays and know no other kind of value. It says of each answer whether it is the page; where it is not,
 * only `requestPage` (page.ts) says what the page is.
 */
import type { Document } from 'bson';
import { equalValues, KIND, type Kind, kindOf, type Members } from '../evaluate/order.ts';
import type { PagePosition, PageRequest } from './page.ts';
import { compareKeys, reversed, type Sort, sortKeyOf } from './sort.ts';

export interface OptimisticRequest extends PageRequest {
  /** How many documents to ask for. */
  readonly limit: number;
  /** Whether the position's own document is asked for too: if it is as it was, it comes first. */
  readonly withOwn: boolean;
}

/** Of these a plain comparison finds all of the same kind, but NaN, and those of other kinds lie beyond them. */
const PLAIN: ReadonlySet<Kind> = new Set([KIND.number, KIND.string, KIND.objectId, KIND.date]);

/**
 * Where the position's value is alone, one range that begins with it; else, for sorts by one field, the range beyond it
 * and the documents of the same value with a further id. The id is compared across kinds: behind the ids of one kind,
 * those of the next come before the next value of the field.
 * @param filter whatever else a document of the list must meet, as a MongoDB filter document
 * @param limit documents of the page
 * @returns null where the sort or the position is not so simple
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
 * The documents of the page and the one more behind it, or null when the answer does not tell. It must be full, as far as
 * one goes, or documents of other kinds follow. An array at a key that meets the comparison and does not belong there
 * comes first or is not reached, so none may be seen.
 */
export function optimisticPage<T>(
  answer: readonly T[],
  asked: {
    readonly request: OptimisticRequest;
    readonly position: PagePosition;
    readonly limit: number;
    /** Whether the answer was ended before its limit, and others follow. */
    readonly more?: boolean;
  },
  { read, holdsArray }: { readonly read: (answered: T) => Members; readonly holdsArray: (answered: T) => boolean },
): readonly T[] | null {
  const page = asked.request.withOwn ? behindOwn(answer, asked.request.sort, asked.position, read) : answer;
  if (page === null || page.length <= (asked.more ? 0 : asked.limit) || answer.some(holdsArray)) return null;
  return page.slice(0, asked.limit + 1);
}

/**
 * What lies beyond the position in an answer that begins at its value. The server's order is trusted, and of ours only
 * what is equal: the collection may order texts by a collation of its own.
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
  // Its document is gone. Another of the same value may lie before the position as well as beyond it.
  const told = kindOf(values[0]) !== KIND.string && !equalValues(found[0], values[0]);
  return told ? answer : null;
}
