/**
 * The query of a document subscription: filter with bound variables, order, window, fields, and the Scope of its
 * principal. It decides whether one document matches.
 */
import type { CollectionName } from '../../database/parse-collection-name.ts';
import { MillraceError } from '../../lib/errors.ts';
import { principalBindings } from '../../policies/bindings.ts';
import type { Scope } from '../../policies/scope.ts';
import {
  isDatabaseFilterExact,
  isInScope,
  requireFilterableFields,
  requireSelectableFields,
  scopeMatchCost,
} from '../../policies/scope-filter.ts';
import { scopeKey } from '../../policies/scope-key.ts';
import { bindVariables } from '../../query/evaluate/bind-variables.ts';
import type { FieldSelection } from '../../query/evaluate/field-selection.ts';
import { filterCost, requireAffordableFilter } from '../../query/evaluate/filter-cost.ts';
import { compileMatcher, type DocumentMatcher } from '../../query/evaluate/match.ts';
import { isServerMatchReliable } from '../../query/evaluate/server-match-reliability.ts';
import { type Filter, pathsInFilter } from '../../query/filter.ts';
import { QUERY_LIMITS } from '../../query/limits.ts';
import type { Sort } from '../../query/page/sort.ts';
import { type Query, queryFingerprint } from '../../query/parse/query.ts';

export interface LiveQuerySpec {
  readonly collection: CollectionName;
  readonly scope: Scope<'read'>;
  /** The requested filter, without the filter of the Scope. */
  readonly filter: Filter;
  readonly sort: Sort;
  /** The number of documents in the window; null for all that match, without a window. */
  readonly limit: number | null;
  readonly fields: FieldSelection | null;
  /** Whether messages contain sort keys. */
  readonly keyed: boolean;
  /** Whether a document matches and is visible. */
  readonly match: DocumentMatcher;
  /** Whether every document that the database returns is certain to match. */
  readonly certain: boolean;
  /** The cost of `match` (query/evaluate/filter-cost.ts). */
  readonly cost: number;
  /** Equal for queries with equal results. */
  readonly key: string;
}

/** A client's query, before a Scope is applied. */
export interface RequestedQuery {
  readonly query: Query;
  /** The time that `$now` means. */
  readonly now: Date;
  /** Whether the client gave an order or a limit. */
  readonly keyed: boolean;
}

/**
 * @throws MillraceError `filter-too-expensive`; `unknown-parameter` or `invalid-parameter` for parameters that mean nothing
 *   in a subscription
 */
export function toSubscriptionQuery(query: Query, keyed: boolean, now: Date): RequestedQuery {
  const idle = query.cursor === null && query.skip === 0 && query.count === 'none' && query.expand.length === 0;
  if (!idle) {
    throw new MillraceError('unknown-parameter', 'cursor, skip, count and expand cannot be used in a subscription', {
      hint: 'Known: filter, sort, limit, fields',
    });
  }
  if (query.limit === 0) throw new MillraceError('invalid-parameter', "A subscription's limit must be from 1 to 1,000");
  requireAffordableFilter(query.filter, QUERY_LIMITS.liveCost);
  return { query, keyed: keyed || query.limit !== null, now };
}

/** Whether the result changes by time alone. Then the rows since a position do not contain all its changes. */
export function dependsOnTime({ query, now }: RequestedQuery, scope: Scope<'read'>): boolean {
  if (scope.until !== null) return true;
  const at = (moment: Date) => {
    const { filter } = bindVariables(query.filter, principalBindings(scope.principal, moment));
    return queryFingerprint('', { ...query, filter });
  };
  return at(now) !== at(new Date(now.getTime() + 1));
}

/**
 * The query with a Scope. It is built again with a new Scope when policies change.
 * @throws MillraceError `field-hidden`
 */
export function toLiveQuerySpec(
  collection: CollectionName,
  requested: RequestedQuery,
  scope: Scope<'read'>,
): LiveQuerySpec {
  const { query, now, keyed } = requested;
  const sortPaths = keyed ? query.sort.map(({ path }) => path) : [];
  requireFilterableFields(scope, [...pathsInFilter(query.filter), ...sortPaths]);
  if (query.fields?.mode === 'include') requireSelectableFields(scope, query.fields.paths);
  const { filter } = bindVariables(query.filter, principalBindings(scope.principal, now));
  const requests = compileMatcher(filter);
  const text = queryFingerprint(collection, { ...query, filter });
  return {
    collection,
    scope,
    filter,
    sort: query.sort,
    limit: query.limit,
    fields: query.fields,
    keyed,
    match: (document) => isInScope(scope, document) && requests(document),
    certain: isDatabaseFilterExact(scope) && isServerMatchReliable(filter),
    cost: filterCost(filter) + scopeMatchCost(scope),
    key: `${text} ${query.limit ?? ''} ${keyed} ${scopeKey(scope)}`,
  };
}
