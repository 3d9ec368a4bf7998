/**
 * A client's query, parsed and checked: the common form of URLs and `_query` bodies. It does not include the principal;
 * policies add their own filters to it.
 * The path of a list through this folder:
 * 1. parseQuery(readParameters(search)) or parseQueryJson(body) → Query, variables open
 * 2. bindVariables(query.filter, { now, user }) → Filter; pathsInFilter(query.filter) for field rules
 * 3. toMongoFilter(and([scope's filter, filter])) → the filter of every page
 * 4. decodeCursor(key, queryFingerprint(collection, query), query.cursor) → PagePosition
 * 5. buildPlainComparisonPageRequest(…), verifyPlainComparisonPage(…) → most pages after a position; null where not
 * 6. buildPageRequest(filter, query.sort, position) → find(filter), toMongoSort(sort), limit + 1
 * 7. isPageInOrder(…) or else aggregate([{ $match }, ...exactSortStages(…)]) → only for pages backwards over arrays
 * 8. slicePage(response, …) → the documents, and positions for encodeCursor
 * A document in memory is tested by compileMatcher(filter), ordered by documentComparator(sort) and reduced by
 * selectFields(document, toFieldTree(fields)).
 */
import { createHash } from 'node:crypto';
import { EJSON } from 'bson';
import type { FieldSelection } from '../evaluate/field-selection.ts';
import type { UnboundFilter } from '../filter.ts';
import type { Sort } from '../page/sort.ts';

export const COUNT_MODES = ['none', 'estimated', 'exact'] as const;

export type CountMode = (typeof COUNT_MODES)[number];

/** Documents whose id is in `path` are included in the response. */
export interface Expansion {
  /** Stored path of the id, or of a list of ids. */
  readonly path: string;
  /** A collection's name as written; not checked yet. */
  readonly collection: string;
}

export interface Query {
  /** All conditions together, variables still open. */
  readonly filter: UnboundFilter;
  /** Always ends with `_id`. */
  readonly sort: Sort;
  /** Null includes all. */
  readonly fields: FieldSelection | null;
  /** Documents of a page, 0 to 1,000; null is all of them. */
  readonly limit: number | null;
  /** The client's cursor; never together with `skip`. */
  readonly cursor: string | null;
  readonly skip: number;
  readonly count: CountMode;
  readonly expand: readonly Expansion[];
}

/**
 * A short text that is the same for equal queries and different for others. Cursors are bound to it, and subscriptions
 * with the same query are grouped by it. Variables count as written, so `$now` does not make every page another query.
 */
export function queryFingerprint(
  collection: string,
  { filter, sort, fields }: Pick<Query, 'filter' | 'sort' | 'fields'>,
): string {
  const query = EJSON.stringify({ collection, filter, sort, fields }, { relaxed: false });
  return createHash('sha256').update(query).digest('base64url');
}
