/**
 * What the parts of the queue share: a delivery that this process has taken, an endpoint as it knows it, and where both are.
 * Types and words only.
 */
import { type EndpointTarget, MAX_ENDPOINTS } from '../../endpoint/endpoint.ts';
import type { Breaker } from '../breaker.ts';
import type { SlotBounds, Slots, Waiting } from '../slots.ts';
import type { DueRow } from './delivery-row.ts';
import type { DeliveryStore } from './delivery-store.ts';
import type { HealthStore } from './health-store.ts';
import type { ServerClock } from './server-clock.ts';

/** Bounds of the sending. */
export interface SenderLimits {
  /** Time for one call, in milliseconds. */
  readonly timeoutMs: number;
  /** How long a process may keep what it has taken, in milliseconds. */
  readonly leaseMs: number;
  /** Calls at one time. */
  readonly calls: SlotBounds;
}

export const SENDER_LIMITS: SenderLimits = {
  timeoutMs: 15_000,
  leaseMs: 45_000,
  calls: { own: MAX_ENDPOINTS, shared: 256 },
};

export interface TakenDelivery extends Waiting {
  readonly row: DueRow;
  /** Null when it is no longer stored. */
  readonly body: string | null;
  readonly take: string;
  /** After this time of the monotonic clock, in milliseconds, a call could last longer than the lease. */
  readonly sendBefore: number;
  /** Whether it is the probe of a half-open breaker. */
  readonly probe: boolean;
}

export interface EndpointState {
  target: EndpointTarget;
  readonly breaker: Breaker;
  /** The first failure after the last success, in milliseconds since 1970. */
  failingSince: number | null;
  /** When the next delivery may be taken, in milliseconds since 1970: the end of the places of an endpoint with a rate. */
  notBefore: number;
  /** Nothing can be sent to it before this time, in milliseconds since 1970. */
  heldUntil: number;
}

export interface Shared {
  readonly store: DeliveryStore;
  readonly health: HealthStore;
  readonly clock: ServerClock;
  readonly endpoints: ReadonlyMap<string, EndpointState>;
  readonly slots: Slots<TakenDelivery>;
  readonly limits: SenderLimits;
}

/** The time up to which a delivery may be sent that is taken now. */
export function sendBefore({ leaseMs, timeoutMs }: SenderLimits): number {
  return performance.now() + leaseMs * 0.9 - timeoutMs;
}
