/**
 * An endpoint made ready for planning: its types and its filter, compiled once for each version of it; and the endpoints
 * that want events of a type. Pure. Not here: what its principal may read (row-deliveries.ts).
 */
import type { Document } from 'mongodb';
import type { Principal } from '../../auth/identity/principal.ts';
import { eventType } from '../../events/log/event.ts';
import type { LogRow } from '../../events/log/row.ts';
import { wanting, wantsRow } from '../../events/read/wanted-types.ts';
import { bindingsOf } from '../../policies/bindings.ts';
import { bind } from '../../query/evaluate/bind.ts';
import { costOf } from '../../query/evaluate/cost.ts';
import { compileMatch, type Match } from '../../query/evaluate/match.ts';
import { nothing, type OpenFilter } from '../../query/filter.ts';
import { parseFilterJson } from '../../query/parse/parse-json.ts';
import type { EndpointInterest } from '../endpoint/endpoint.ts';
import type { EndpointStates } from './endpoint-states.ts';

/** Types that an index remembers. */
const MOST_KNOWN = 1_000;
/** For how long a filter goes on with one value of `$now`, in milliseconds. */
const NOW_MS = 1_000;
/** Events of deliveries. An endpoint gets them only if it names them: otherwise each delivery could make another one. */
export const OF_DELIVERIES = 'system.delivery.';

interface Bound {
  readonly principal: Principal;
  readonly match: Match;
  readonly at: number;
}

export class PlannedEndpoint {
  readonly interest: EndpointInterest;
  /** What its filter costs (query/evaluate/cost.ts); 0 without a filter. */
  readonly cost: number;
  readonly #filter: OpenFilter | null;
  readonly #namesNow: boolean;
  readonly #wants: (type: string) => boolean;
  #bound: Bound | null = null;

  constructor(interest: EndpointInterest) {
    this.interest = interest;
    this.#filter = readFilter(interest.filter);
    this.cost = this.#filter === null ? 0 : costOf(this.#filter);
    this.#namesNow = JSON.stringify(interest.filter).includes('$now');
    const wants = wanting(interest.types);
    const named = wanting(interest.types.filter((type) => type.startsWith(OF_DELIVERIES)));
    this.#wants = (type) => (type.startsWith(OF_DELIVERIES) ? named(type) : wants(type));
  }

  get id(): string {
    return this.interest.id;
  }

  /** Whether a row is wanted by its type. */
  wantsRow(row: LogRow, type = eventType(row)): boolean {
    return wantsRow(this.#wants, row, type);
  }

  /** Its filter with the values of its principal; null without a filter. */
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
function boundTo(filter: OpenFilter, principal: Principal, now: number) {
  try {
    return bind(filter, bindingsOf(principal, new Date(now))).filter;
  } catch {
    return nothing;
  }
}

/** A filter that cannot be read, such as another program may write, matches nothing. */
function readFilter(filter: EndpointInterest['filter']): OpenFilter | null {
  if (filter === null) return null;
  try {
    return parseFilterJson(filter);
  } catch {
    return nothing;
  }
}

const planned = new WeakMap<EndpointInterest, PlannedEndpoint>();

/** The endpoint made ready: once for each version of it. */
export function toPlanned(interest: EndpointInterest): PlannedEndpoint {
  const known = planned.get(interest) ?? new PlannedEndpoint(interest);
  planned.set(interest, known);
  return known;
}

/** The enabled endpoints by the types that they want, so that a row that none wants costs one look into a map. */
export class WantedRows {
  readonly states: EndpointStates;
  readonly #endpoints: readonly PlannedEndpoint[];
  readonly #known = new Map<string, readonly PlannedEndpoint[]>();

  constructor(states: EndpointStates) {
    this.states = states;
    this.#endpoints = [...states.values()].filter(({ enabled }) => enabled).map(toPlanned);
  }

  /** The endpoints that want a row by its type. */
  by(row: LogRow): readonly PlannedEndpoint[] {
    if (this.#endpoints.length === 0) return [];
    const type = eventType(row);
    if (type === null) return [];
    const key = row.operation === 'rename' ? `${type} ${row.to}` : type;
    const known = this.#known.get(key);
    if (known !== undefined) return known;
    const found = this.#endpoints.filter((endpoint) => endpoint.wantsRow(row, type));
    if (this.#known.size >= MOST_KNOWN) this.#known.clear();
    this.#known.set(key, found);
    return found;
  }
}
