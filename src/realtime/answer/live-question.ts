/**
 * What a subscription to documents asks: the filter with the values of its variables, order, window, fields, and the
 * Scope of its principal. It decides whether one given document matches. Not here: the answer over time
 * (live-query.ts).
 */
import type { CollectionName } from '../../database/names.ts';
import { MillraceError } from '../../kernel/errors.ts';
import { bindingsOf } from '../../policies/bindings.ts';
import { costOfScope, databaseDecides, reaches, requireReadable, requireShown } from '../../policies/reach.ts';
import type { Scope } from '../../policies/scope.ts';
import { scopeKey } from '../../policies/scope-key.ts';
import { bind } from '../../query/evaluate/bind.ts';
import { isCertain } from '../../query/evaluate/certainty.ts';
import { affordable, costOf } from '../../query/evaluate/cost.ts';
import type { Fields } from '../../query/evaluate/fields.ts';
import { compileMatch, type Match } from '../../query/evaluate/match.ts';
import { type Filter, pathsOf } from '../../query/filter.ts';
import { LIMITS } from '../../query/limits.ts';
import type { Sort } from '../../query/page/sort.ts';
import { type Query, questionOf } from '../../query/parse/query.ts';

export interface LiveQuestion {
  readonly collection: CollectionName;
  readonly scope: Scope<'read'>;
  /** The requested filter, without the filter of the Scope. */
  readonly filter: Filter;
  readonly sort: Sort;
  /** The number of documents shown by the window; null for all that match, without a window. */
  readonly limit: number | null;
  readonly fields: Fields | null;
  /** Whether messages contain sort keys. */
  readonly keyed: boolean;
  /** Whether a document matches and may be seen. */
  readonly match: Match;
  /** Whether every document that the database finds matches for certain. */
  readonly certain: boolean;
  /** What `match` costs (query/evaluate/cost.ts). */
  readonly cost: number;
  /** Equal for questions with equal answers. */
  readonly key: string;
}

/** A question as a client put it, before a Scope is applied. */
export interface RequestedQuestion {
  readonly query: Query;
  /** The moment `$now` means. */
  readonly now: Date;
  /** Whether the client named an order or a limit. */
  readonly keyed: boolean;
}

/**
 * @throws MillraceError `too-expensive`; `unknown-parameter` or `invalid-parameter` for parameters that mean nothing
 *   in a subscription
 */
export function toRequestedQuestion(query: Query, keyed: boolean, now: Date): RequestedQuestion {
  const idle = query.cursor === null && query.skip === 0 && query.count === 'none' && query.expand.length === 0;
  if (!idle) {
    throw new MillraceError('unknown-parameter', 'cursor, skip, count and expand cannot be used in a subscription', {
      hint: 'Known: filter, sort, limit, fields',
    });
  }
  if (query.limit === 0) throw new MillraceError('invalid-parameter', "A subscription's limit must be from 1 to 1,000");
  affordable(query.filter, LIMITS.liveCost);
  return { query, keyed: keyed || query.limit !== null, now };
}

/** Whether the answer changes by time alone. Then the rows since a position do not tell all that has changed in it. */
export function moves({ query, now }: RequestedQuestion, scope: Scope<'read'>): boolean {
  if (scope.until !== null) return true;
  const at = (moment: Date) => {
    const { filter } = bind(query.filter, bindingsOf(scope.principal, moment));
    return questionOf('', { ...query, filter });
  };
  return at(now) !== at(new Date(now.getTime() + 1));
}

/**
 * The question with a Scope. It is made again with a new Scope when policies change.
 * @throws MillraceError `field-hidden`
 */
export function toLiveQuestion(
  collection: CollectionName,
  asked: RequestedQuestion,
  scope: Scope<'read'>,
): LiveQuestion {
  const { query, now, keyed } = asked;
  const sortPaths = keyed ? query.sort.map(({ path }) => path) : [];
  requireReadable(scope, [...pathsOf(query.filter), ...sortPaths]);
  if (query.fields?.mode === 'include') requireShown(scope, query.fields.paths);
  const { filter } = bind(query.filter, bindingsOf(scope.principal, now));
  const asks = compileMatch(filter);
  const text = questionOf(collection, { ...query, filter });
  return {
    collection,
    scope,
    filter,
    sort: query.sort,
    limit: query.limit,
    fields: query.fields,
    keyed,
    match: (document) => reaches(scope, document) && asks(document),
    certain: databaseDecides(scope) && isCertain(filter),
    cost: costOf(filter) + costOfScope(scope),
    key: `${text} ${query.limit ?? ''} ${keyed} ${scopeKey(scope)}`,
  };
}
