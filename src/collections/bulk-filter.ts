/** Which documents a write by filter affects. Pure. */
import type { Document } from 'mongodb';
import { principalBindings } from '../policies/bindings.ts';
import type { Scope } from '../policies/scope.ts';
import {
  fieldHidden,
  isDatabaseFilterExact,
  isInScope,
  requireFilterableFields,
  restrictFilterToScopes,
} from '../policies/scope-filter.ts';
import { bindVariables } from '../query/evaluate/bind-variables.ts';
import { compileMatcher, type DocumentMatcher } from '../query/evaluate/match.ts';
import { isServerMatchReliable } from '../query/evaluate/server-match-reliability.ts';
import { type Filter, pathsInFilter, type UnboundFilter } from '../query/filter.ts';

/** The filter, and the maximum number of affected documents. */
export interface BulkTarget {
  readonly filter: UnboundFilter;
  readonly maxAffected: number;
}

/** The filter of a query, with the principal's values for its variables. */
function boundFilter({ principal }: Scope, { filter }: Pick<BulkTarget, 'filter'>, now: Date): Filter {
  return bindVariables(filter, principalBindings(principal, now)).filter;
}

/**
 * The filter of a write. It may use readable fields only, and is combined with the filter of readable documents: the
 * number of affected documents would reveal something about the others. A filter by id alone is exempt, because the
 * client knows that id.
 * @throws MillraceError `field-hidden`
 */
export function bulkWriteFilter(
  scope: Scope<'update' | 'delete'>,
  query: Pick<BulkTarget, 'filter'>,
  now: Date,
): Document {
  const requested = boundFilter(scope, query, now);
  const { reader } = scope;
  const [path, ...others] = [...pathsInFilter(query.filter)].filter((one) => one !== '_id');
  if (path === undefined) return restrictFilterToScopes(requested, scope);
  if (reader === null) throw fieldHidden(path);
  requireFilterableFields(reader, [path, ...others]);
  return restrictFilterToScopes(requested, reader, scope);
}

/**
 * The filter of {@link bulkWriteFilter} as a test in memory, for writes where the database may have returned too many
 * documents; null where the database's result is certain.
 */
export function compileBulkWriteMatcher(
  scope: Scope<'update' | 'delete'>,
  query: Pick<BulkTarget, 'filter'>,
  now: Date,
): DocumentMatcher | null {
  const requested = boundFilter(scope, query, now);
  const { reader } = scope;
  const readers = reader === null || [...pathsInFilter(query.filter)].every((path) => path === '_id') ? [] : [reader];
  const scopes = [scope, ...readers];
  if (isServerMatchReliable(requested) && scopes.every(isDatabaseFilterExact)) return null;
  const match = compileMatcher(requested);
  return (document) => match(document) && scopes.every((one) => isInScope(one, document));
}
