/**
 * An endpoint prepared for planning, with types and filter compiled once for each version; and an index of endpoints by
 * event type.
 */
import type { LogRow } from '../../events/log/log-row.ts';
import { EventFilter, EventFiltersByType } from '../../events/read/event-filter.ts';
import { eventPrefixesCausedBy } from '../../lib/event-types.ts';
import type { EndpointSubscription } from '../endpoint/endpoint.ts';
import type { EndpointStates } from './endpoint-states.ts';

/** Events about deliveries, which an endpoint receives only if it names them. */
const DELIVERY_EVENT_PREFIXES = eventPrefixesCausedBy('deliveries');

export function isDeliveryEvent(type: string): boolean {
  return DELIVERY_EVENT_PREFIXES.some((prefix) => type.startsWith(prefix));
}

export class CompiledEndpoint extends EventFilter {
  readonly subscription: EndpointSubscription;

  constructor(interest: EndpointSubscription) {
    super(interest.types, interest.filter, DELIVERY_EVENT_PREFIXES);
    this.subscription = interest;
  }

  get id(): string {
    return this.subscription.id;
  }
}

const planned = new WeakMap<EndpointSubscription, CompiledEndpoint>();

/** The compiled endpoint, cached for each version. */
export function compileEndpoint(interest: EndpointSubscription): CompiledEndpoint {
  const known = planned.get(interest) ?? new CompiledEndpoint(interest);
  planned.set(interest, known);
  return known;
}

/** Enabled endpoints by the types that they subscribe to. */
export class EndpointsByEventType {
  readonly states: EndpointStates;
  readonly #endpoints: EventFiltersByType<CompiledEndpoint>;

  constructor(states: EndpointStates) {
    this.states = states;
    this.#endpoints = new EventFiltersByType(
      [...states.values()].filter(({ enabled }) => enabled).map(compileEndpoint),
    );
  }

  /** The endpoints that subscribe to the type of a row. */
  by(row: LogRow): readonly CompiledEndpoint[] {
    return this.#endpoints.by(row);
  }
}
