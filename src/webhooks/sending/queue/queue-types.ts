/** Types that the parts of the queue share: leased deliveries, endpoint states, and the limits. */
import type { Worker } from '../../../queue/worker.ts';
import { type EndpointDeliverySettings, MAX_ENDPOINTS } from '../../endpoint/endpoint.ts';
import type { CircuitBreaker } from '../breaker.ts';
import type { ConcurrencyLimits, EndpointConcurrency, QueuedDelivery } from '../endpoint-concurrency.ts';
import type { DueDelivery } from './delivery-row.ts';
import type { DeliveryStore } from './delivery-store.ts';
import type { HealthStore } from './health-store.ts';
import type { ServerClock } from './server-clock.ts';

/** Limits of sending. */
export interface SenderLimits {
  /** Timeout of one request, in milliseconds. */
  readonly timeoutMs: number;
  /** Duration of a lease, in milliseconds. */
  readonly leaseMs: number;
  /** Concurrent requests. */
  readonly calls: ConcurrencyLimits;
}

export const SENDER_LIMITS: SenderLimits = {
  timeoutMs: 15_000,
  leaseMs: 45_000,
  calls: { own: MAX_ENDPOINTS, shared: 256 },
};

export interface LeasedDelivery extends QueuedDelivery {
  readonly row: DueDelivery;
  /** Null if it is no longer stored. */
  readonly body: string | null;
  readonly token: string;
  /** After this monotonic time, in milliseconds, a request could outlast the lease. */
  readonly sendBefore: number;
  /** Whether it is the probe of a half-open breaker. */
  readonly probe: boolean;
}

export interface EndpointState {
  target: EndpointDeliverySettings;
  readonly breaker: CircuitBreaker;
  /** The first failure after the last success, in milliseconds since 1970. */
  failingSince: number | null;
  /** When the next delivery may be leased, in milliseconds since 1970: the end of the reserved rate slots. */
  notBefore: number;
  /** Nothing can be sent to it before this time, in milliseconds since 1970. */
  heldUntil: number;
}

export interface QueueContext {
  readonly store: DeliveryStore;
  readonly health: HealthStore;
  readonly clock: ServerClock;
  readonly endpoints: ReadonlyMap<string, EndpointState>;
  readonly slots: EndpointConcurrency<LeasedDelivery>;
  readonly limits: SenderLimits;
  readonly worker: Worker<LeasedDelivery>;
}

/** The time until which a delivery leased now may be sent. */
export function sendDeadline({ leaseMs, timeoutMs }: SenderLimits): number {
  return performance.now() + leaseMs * 0.9 - timeoutMs;
}
