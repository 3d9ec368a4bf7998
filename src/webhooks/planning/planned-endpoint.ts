/**
 * An endpoint made ready for planning: its types and its filter, compiled once for each version of it; and the endpoints
 * that want events of a type. Pure. Not here: what its principal may read (row-deliveries.ts).
 */
import type { LogRow } from '../../events/log/row.ts';
import { WantedByType, WantedEvents } from '../../events/read/wanted-events.ts';
import type { EndpointInterest } from '../endpoint/endpoint.ts';
import type { EndpointStates } from './endpoint-states.ts';

/** Events of deliveries. An endpoint gets them only if it names them: otherwise each delivery could make another one. */
export const OF_DELIVERIES = 'system.delivery.';

export class PlannedEndpoint extends WantedEvents {
  readonly interest: EndpointInterest;

  constructor(interest: EndpointInterest) {
    super(interest.types, interest.filter, OF_DELIVERIES);
    this.interest = interest;
  }

  get id(): string {
    return this.interest.id;
  }
}

const planned = new WeakMap<EndpointInterest, PlannedEndpoint>();

/** The endpoint made ready: once for each version of it. */
export function toPlanned(interest: EndpointInterest): PlannedEndpoint {
  const known = planned.get(interest) ?? new PlannedEndpoint(interest);
  planned.set(interest, known);
  return known;
}

/** The enabled endpoints by the types that they want. */
export class WantedRows {
  readonly states: EndpointStates;
  readonly #endpoints: WantedByType<PlannedEndpoint>;

  constructor(states: EndpointStates) {
    this.states = states;
    this.#endpoints = new WantedByType([...states.values()].filter(({ enabled }) => enabled).map(toPlanned));
  }

  /** The endpoints that want a row by its type. */
  by(row: LogRow): readonly PlannedEndpoint[] {
    return this.#endpoints.by(row);
  }
}
