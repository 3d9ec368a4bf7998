/** The transport of a leased delivery to its endpoint: how the senders differ. */
import type { EndpointDeliverySettings } from '../../endpoint/endpoint.ts';
import type { AttemptOutcome } from '../attempt-outcome.ts';
import type { SenderHealth } from '../sender.ts';
import type { FinishedAttempt } from './delivery-store.ts';
import type { LeasedDelivery } from './queue-types.ts';

/** The result of an attempt. */
export interface SendResult extends Pick<FinishedAttempt, 'attempts' | 'attempt' | 'handed'> {
  /** Adjusts the concurrency limit; null if no request was sent. */
  readonly succeeded: boolean | null;
  /** Whether the attempt counts for the endpoint's breaker. */
  readonly countsForBreaker: boolean;
  readonly outcome: AttemptOutcome;
  /** How long no delivery of the endpoint can be sent, in milliseconds. */
  readonly holdMs?: number;
}

export interface Transport {
  start(): Promise<void>;
  stop(): Promise<void>;
  /** Called with each endpoint's current version before its deliveries are passed. */
  ensureEndpoint(target: EndpointDeliverySettings): void;
  removeEndpoint(id: string): void;
  /** Why an endpoint cannot receive deliveries, as a sentence; null if it can. */
  issue(id: string): string | null;
  /** Why a header field cannot be sent, as a sentence without its subject; null if it can. */
  headerIssue(name: string): string | null;
  /**
   * Makes one attempt. Never throws, and takes no longer than the sender's limit for one request.
   * @param now milliseconds since 1970
   */
  send(one: LeasedDelivery, target: EndpointDeliverySettings, now: number): Promise<SendResult>;
  state(): SenderHealth;
}
