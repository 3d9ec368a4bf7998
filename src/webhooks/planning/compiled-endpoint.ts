/**
 * An endpoint prepared for planning, with types and filter compiled once for each version; and an index of endpoints by
 * event type.
 */
import type { LogRow } from '../../events/log/row.ts';
import { EventFilter, FiltersByType } from '../../events/read/event-filter.ts';
import type { EndpointInterest } from '../endpoint/endpoint.ts';
import type { EndpointStates } from './endpoint-states.ts';

/**
 * Events about deliveries. An endpoint receives them only if it names them: otherwise each delivery could cause another
 * one.
 */
export const OF_DELIVERIES = 'system.delivery.';

export class PlannedEndpoint extends EventFilter {
  readonly interest: EndpointInterest;

  constructor(interest: EndpointInterest) {
    super(interest.types, interest.filter, [OF_DELIVERIES]);
    this.interest = interest;
  }

  get id(): string {
    return this.interest.id;
  }
}

const planned = new WeakMap<EndpointInterest, PlannedEndpoint>();

/** The compiled endpoint, cached for each version. */
export function toPlanned(interest: EndpointInterest): PlannedEndpoint {
  const known = planned.get(interest) ?? new PlannedEndpoint(interest);
  planned.set(interest, known);
  return known;
}

/** Enabled endpoints by the types that they subscribe to. */
export class EndpointFilters {
  readonly states: EndpointStates;
  readonly #endpoints: FiltersByType<PlannedEndpoint>;

  constructor(states: EndpointStates) {
    this.states = states;
    this.#endpoints = new FiltersByType([...states.values()].filter(({ enabled }) => enabled).map(toPlanned));
  }

  /** The endpoints that subscribe to the type of a row. */
  by(row: LogRow): readonly PlannedEndpoint[] {
    return this.#endpoints.by(row);
  }
}
