/**
 * What is stored of a wish for events: types in which `*` stands for anything, and a filter of documents, compiled once. And
 * several such wishes by type, so that a row that none wants costs one look into a map. Pure. Not here: what a principal may read
 * of a row (visible-row.ts).
 */
import type { Document } from 'mongodb';
import type { Principal } from '../../auth/identity/principal.ts';
import { bindingsOf } from '../../policies/bindings.ts';
import { bind } from '../../query/evaluate/bind.ts';
import { affordable, costOf } from '../../query/evaluate/cost.ts';
import { compileMatch, type Match } from '../../query/evaluate/match.ts';
import { type Filter, nothing, type OpenFilter } from '../../query/filter.ts';
import { LIMITS } from '../../query/limits.ts';
import { parseFilterJson } from '../../query/parse/parse-json.ts';
import { eventType } from '../log/event.ts';
import type { LogRow } from '../log/row.ts';
import { wanting, wantsRow } from './wanted-types.ts';

/** Types that an index remembers. */
const MOST_KNOWN = 1_000;
/** For how long a filter goes on with one value of `$now`, in milliseconds. */
const NOW_MS = 1_000;

type FilterJson = Readonly<Record<string, unknown>>;

/**
 * Refuses a filter that cannot be stored with a wish for events.
 * @throws MillraceError `invalid-filter`, `unknown-operator`, `too-expensive`
 */
export function requireFilter(filter: object): void {
  const read = affordable(parseFilterJson(filter), LIMITS.liveCost);
  // Later no event may fail because its variables cannot be filled.
  bind(read, { now: new Date(), user: null });
}

interface Bound {
  readonly principal: Principal;
  readonly match: Match;
  readonly at: number;
}

export class WantedEvents {
  /** What the filter costs (query/evaluate/cost.ts); 0 without a filter. */
  readonly cost: number;
  readonly #filter: OpenFilter | null;
  readonly #namesNow: boolean;
  readonly #wants: (type: string) => boolean;
  #bound: Bound | null = null;

  /**
   * @param filter as it was stored; null for none
   * @param own the beginning of types that must be wanted by name: events that the wish itself leads to would make the next ones
   */
  constructor(types: readonly string[], filter: FilterJson | null, own: string) {
    this.#filter = filter === null ? null : stored(filter);
    this.cost = this.#filter === null ? 0 : costOf(this.#filter);
    this.#namesNow = JSON.stringify(filter).includes('$now');
    const wants = wanting(types);
    const named = wanting(types.filter((type) => type.startsWith(own)));
    this.#wants = (type) => (type.startsWith(own) ? named(type) : wants(type));
  }

  /** Whether a row is wanted by its type. */
  wantsRow(row: LogRow, type = eventType(row)): boolean {
    return wantsRow(this.#wants, row, type);
  }

  /** The filter with the values of a principal; null without a filter. */
  matchFor(principal: Principal, now: number): ((document: Document) => boolean) | null {
    if (this.#filter === null) return null;
    const { principal: by, match, at } = this.#bound ?? this.#bind(this.#filter, principal, now);
    const isOld = by !== principal || (this.#namesNow && now - at > NOW_MS);
    return isOld ? this.#bind(this.#filter, principal, now).match : match;
  }

  #bind(filter: OpenFilter, principal: Principal, now: number): Bound {
    this.#bound = { principal, match: compileMatch(boundTo(filter, principal, now)), at: now };
    return this.#bound;
  }
}

/** A filter that cannot be filled, because a claim has become a list of too many values, matches nothing. */
function boundTo(filter: OpenFilter, principal: Principal, now: number): Filter {
  try {
    return bind(filter, bindingsOf(principal, new Date(now))).filter;
  } catch {
    return nothing;
  }
}

/** A filter that cannot be read, such as another program may write, matches nothing. */
function stored(filter: FilterJson): OpenFilter {
  try {
    return parseFilterJson(filter);
  } catch {
    return nothing;
  }
}

/** Wishes for events by the types that they want. */
export class WantedByType<T extends Pick<WantedEvents, 'wantsRow'>> {
  readonly #all: readonly T[];
  readonly #known = new Map<string, readonly T[]>();

  constructor(all: readonly T[]) {
    this.#all = all;
  }

  /** Those that want a row by its type. */
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
