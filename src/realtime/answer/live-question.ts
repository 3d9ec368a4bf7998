/**
 * What a subscription to documents asks, read, bound and checked: the filter with its variables filled, order, window,
 * fields, and the Scope it is asked with. It answers for one document in hand; following the answer over time is
 * live-query.ts.
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
  readonly scope: Scope;
  /** What was asked, without what the Scope adds. */
  readonly filter: Filter;
  readonly sort: Sort;
  /** Documents of a window; null when all that match are told. */
  readonly limit: number | null;
  readonly fields: Fields | null;
  /** Whether sort keys are told with documents. */
  readonly keyed: boolean;
  /** Whether a document matches and may be seen. */
  readonly match: Match;
  /** Whether what the database finds matches for certain. */
  readonly certain: boolean;
  /** What `match` costs (query/evaluate/cost.ts). */
  readonly cost: number;
  /** Equal for questions with equal answers. */
  readonly key: string;
}

/** A question as a client put it, before anybody's Scope. */
export interface RequestedQuestion {
  readonly query: Query;
  /** The moment `$now` means. */
  readonly now: Date;
  /** Whether the client named an order or a limit. */
  readonly keyed: boolean;
}

/** @throws MillraceError `too-expensive`, and `unknown-parameter` or `invalid-parameter` for what has no meaning in a subscription */
export function toRequestedQuestion(query: Query, keyed: boolean, now: Date): RequestedQuestion {
  const idle = query.cursor === null && query.skip === 0 && query.count === 'none' && query.expand.length === 0;
  if (!idle) {
    throw new MillraceError('unknown-parameter', 'cursor, skip, count and expand mean nothing in a subscription', {
      hint: 'Known: filter, sort, limit, fields',
    });
  }
  if (query.limit === 0) throw new MillraceError('invalid-parameter', "A subscription's limit is 1 to 1,000");
  affordable(query.filter, LIMITS.liveCost);
  return { query, keyed: keyed || query.limit !== null, now };
}

/** Whether time alone changes the answer: then what happened since is not all that an earlier answer lacks. */
export function moves({ query, now }: RequestedQuestion, scope: Scope): boolean {
  if (scope.until !== null) return true;
  const at = (moment: Date) => {
    const { filter } = bind(query.filter, bindingsOf(scope.principal, moment));
    return questionOf('', { ...query, filter });
  };
  return at(now) !== at(new Date(now.getTime() + 1));
}

/**
 * The question with a Scope. Asked again with another Scope when policies change.
 * @throws MillraceError `field-hidden`
 */
export function toLiveQuestion(collection: CollectionName, asked: RequestedQuestion, scope: Scope): LiveQuestion {
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
