/**
 * A stored filter of events: types with wildcards, and a document filter, compiled once. An index of such filters by
 * type makes an unwanted row cost one map lookup.
 */
import type { Document } from 'mongodb';
import type { Principal } from '../../auth/identity/principal.ts';
import { principalBindings } from '../../policies/bindings.ts';
import { bindVariables } from '../../query/evaluate/bind-variables.ts';
import { filterCost, requireAffordableFilter } from '../../query/evaluate/filter-cost.ts';
import { compileMatcher, type DocumentMatcher } from '../../query/evaluate/match.ts';
import { type Filter, matchNoneFilter, type UnboundFilter } from '../../query/filter.ts';
import { QUERY_LIMITS } from '../../query/limits.ts';
import { parseFilterJson } from '../../query/parse/parse-filter-json.ts';
import { eventType } from '../log/event.ts';
import type { LogRow } from '../log/log-row.ts';
import { eventTypeMatcher, matchesRowType } from './type-patterns.ts';

/** Types that an index caches. */
const MOST_KNOWN = 1_000;
/** How long a filter uses one value of `$now`, in milliseconds. */
const NOW_MS = 1_000;

type FilterJson = Readonly<Record<string, unknown>>;

/**
 * Refuses a filter that cannot be stored with a wish for events.
 * @throws MillraceError `invalid-filter`, `unknown-operator`, `filter-too-expensive`
 */
export function validateEventFilter(filter: object): void {
  const read = requireAffordableFilter(parseFilterJson(filter), QUERY_LIMITS.liveCost);
  // Later no event may fail because its variables cannot be bound.
  bindVariables(read, { now: new Date(), user: null });
}

interface Bound {
  readonly principal: Principal;
  readonly match: DocumentMatcher;
  readonly at: number;
}

export class EventFilter {
  /** The cost of the filter (query/evaluate/filter-cost.ts); 0 without a filter. */
  readonly cost: number;
  readonly #filter: UnboundFilter | null;
  readonly #namesNow: boolean;
  readonly #wants: (type: string) => boolean;
  #bound: Bound | null = null;

  /**
   * @param filter as stored; null for none
   * @param own prefixes of types that must be named explicitly: events that the filter itself causes would cause the
   * next ones
   */
  constructor(types: readonly string[], filter: FilterJson | null, own: readonly string[]) {
    this.#filter = filter === null ? null : stored(filter);
    this.cost = this.#filter === null ? 0 : filterCost(this.#filter);
    this.#namesNow = JSON.stringify(filter).includes('$now');
    const wants = eventTypeMatcher(types);
    const isOwn = (type: string) => own.some((beginning) => type.startsWith(beginning));
    const named = eventTypeMatcher(types.filter(isOwn));
    this.#wants = (type) => (isOwn(type) ? named(type) : wants(type));
  }

  /** Whether a row's type matches. */
  wantsRow(row: LogRow, type = eventType(row)): boolean {
    return matchesRowType(this.#wants, row, type);
  }

  /** The filter bound to a principal; null without a filter. */
  matchFor(principal: Principal, now: number): ((document: Document) => boolean) | null {
    if (this.#filter === null) return null;
    const { principal: by, match, at } = this.#bound ?? this.#bind(this.#filter, principal, now);
    const isOld = by !== principal || (this.#namesNow && now - at > NOW_MS);
    return isOld ? this.#bind(this.#filter, principal, now).match : match;
  }

  #bind(filter: UnboundFilter, principal: Principal, now: number): Bound {
    this.#bound = { principal, match: compileMatcher(boundTo(filter, principal, now)), at: now };
    return this.#bound;
  }
}

/** A filter that cannot be bound, because a claim has become a list of too many values, matches nothing. */
function boundTo(filter: UnboundFilter, principal: Principal, now: number): Filter {
  try {
    return bindVariables(filter, principalBindings(principal, new Date(now))).filter;
  } catch {
    return matchNoneFilter;
  }
}

/** A filter that cannot be parsed, written by another program, matches nothing. */
function stored(filter: FilterJson): UnboundFilter {
  try {
    return parseFilterJson(filter);
  } catch {
    return matchNoneFilter;
  }
}

/** Event filters indexed by type. */
export class EventFiltersByType<T extends Pick<EventFilter, 'wantsRow'>> {
  readonly #all: readonly T[];
  readonly #known = new Map<string, readonly T[]>();

  constructor(all: readonly T[]) {
    this.#all = all;
  }

  /** Those that match a row's type. */
  by(row: LogRow): readonly T[] {
    if (this.#all.length === 0) return [];
    const type = eventType(row);
    if (type === null) return [];
    const key = row.operation === 'rename' ? `${type} ${row.to}` : type;
    const known = this.#known.get(key);
    if (known !== undefined) return known;
    const found = this.#all.filter((one) => one.wantsRow(row, type));
    if (this.#known.size >= MOST_KNOWN) this.#known.clear();
    this.#known.set(key, found);
    return found;
  }
}
