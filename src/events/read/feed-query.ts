/**
 * Parses the parameters of the feeds (position, wait, limit, types, filter) and of histories (limit, cursor). Unknown
 * parameters are rejected by name, because ignoring one would silently change the result.
 */
import { MillraceError } from '../../lib/errors.ts';
import { parseQueryParameters, queryString, type RequestLike } from '../../lib/request.ts';
import { requireAffordableFilter } from '../../query/evaluate/filter-cost.ts';
import type { UnboundFilter } from '../../query/filter.ts';
import { QUERY_LIMITS } from '../../query/limits.ts';
import { parseQuery, RESERVED_PARAMETERS } from '../../query/parse/parse-query.ts';
import { parseQueryString, type QueryParameter } from '../../query/parse/parse-query-string.ts';
import { parsePosition } from '../log/position.ts';
import { requireEventTypes } from './type-patterns.ts';

export const MAX_FEED_LIMIT = 1000;
export const MAX_FEED_WAIT_S = 60;
/** Default number of events on one page of a document's history. */
const HISTORY_LIMIT = 50;
const MAX_TYPES = 50;
const MAX_TYPE_LENGTH = 200;

export interface FeedQuery {
  readonly since: string | null;
  /** How many rows before the end of the log the page begins, instead of `since`. */
  readonly last: number | null;
  readonly waitMs: number;
  readonly limit: number;
  /** Event types; `*` is a wildcard; null for all. */
  readonly types: readonly string[] | null;
}

/** Reads `since` or `last`, `types`, `wait`, `limit`, and `filter` as JSON; throws their errors. */
export function parseEventsQuery(url: string): FeedQuery & { readonly filter: UnboundFilter } {
  const known = ['since', 'last', 'types', 'wait', 'limit', 'filter'];
  const found = parseQueryString(queryString({ url }));
  for (const [name] of found) if (!known.includes(name)) throw unknown(name, known);
  const isFilter = ([name]: QueryParameter) => name === 'filter';
  return {
    ...common(found.filter((one) => !isFilter(one))),
    filter: requireAffordableFilter(parseQuery(found.filter(isFilter)).filter, QUERY_LIMITS.liveCost),
  };
}

/** Reads `since`, `wait`, `limit` and the conditions of a filter in the query language; throws their errors. */
export function parseChangesQuery(url: string): FeedQuery & { readonly filter: UnboundFilter } {
  const own = ['since', 'wait', 'limit'];
  const found = parseQueryString(queryString({ url }));
  const rest = found.filter(([name]) => !own.includes(name));
  const known: readonly string[] = [...own, 'filter'];
  for (const [name] of rest)
    if (RESERVED_PARAMETERS.some((one) => one === name) && name !== 'filter') throw unknown(name, known);
  return {
    ...common(found.filter(([name]) => own.includes(name))),
    filter: requireAffordableFilter(parseQuery(rest).filter, QUERY_LIMITS.liveCost),
  };
}

export interface HistoryParameters {
  readonly limit: number;
  /** The number in the log below which the page begins; null for the newest events. */
  readonly cursor: number | null;
}

/** Reads `limit` and `cursor`. Throws MillraceError `unknown-parameter`, `invalid-parameter`, `cursor-mismatch`. */
export function parseHistoryQuery(request: RequestLike): HistoryParameters {
  const found = parseQueryParameters(request, ['limit', 'cursor']);
  const cursor = found.get('cursor');
  const position = cursor === null ? null : parsePosition(cursor);
  if (cursor !== null && position === null) {
    throw new MillraceError('cursor-mismatch', 'The cursor is not one of this list');
  }
  const limit = integer(new Map(found), 'limit', HISTORY_LIMIT, 1, MAX_FEED_LIMIT);
  return { limit, cursor: position?.number ?? null };
}

function unknown(name: string, known: readonly string[]): MillraceError {
  const hint = `Known: ${known.join(', ')}`;
  return new MillraceError('unknown-parameter', `The parameter '${name.slice(0, 80)}' is not known here`, { hint });
}

function common(parameters: readonly QueryParameter[]): FeedQuery {
  const found = new Map<string, string>();
  for (const [name, value] of parameters) {
    if (found.has(name)) throw invalid(name, 'must be given at most once');
    found.set(name, value);
  }
  const since = found.get('since') ?? null;
  if (since === '') throw invalid('since', 'must be a position, or be omitted');
  const last = found.has('last') ? integer(found, 'last', 0, 1, MAX_FEED_LIMIT) : null;
  if (since !== null && last !== null) throw invalid('last', "replaces 'since'");
  return {
    since,
    last,
    waitMs: 1000 * integer(found, 'wait', 0, 0, MAX_FEED_WAIT_S),
    limit: integer(found, 'limit', 500, 1, MAX_FEED_LIMIT),
    types: types(found.get('types') ?? null),
  };
}

function types(text: string | null): readonly string[] | null {
  if (text === null) return null;
  const requested = text.split(',').map((one) => one.trim());
  if (requested.length > MAX_TYPES || requested.some((one) => one === '' || one.length > MAX_TYPE_LENGTH)) {
    throw invalid('types', `must be a list of up to ${MAX_TYPES} event types, such as todos.created,system.file.*`);
  }
  requireEventTypes(requested);
  return requested;
}

function integer(found: ReadonlyMap<string, string>, name: string, absent: number, low: number, high: number): number {
  const text = found.get(name);
  if (text === undefined) return absent;
  const value = Number(text);
  if (/^\d{1,6}$/.test(text) && value >= low && value <= high) return value;
  throw invalid(name, `must be a whole number from ${low} to ${high}`);
}

function invalid(name: string, what: string): MillraceError {
  return new MillraceError('invalid-parameter', `The parameter '${name}' ${what}`);
}
