/**
 * How a delivery that was taken is brought to its endpoint: what the senders differ in. Types only. Not here: the senders'
 * common part (queue-sender.ts).
 */
import type { EndpointTarget } from '../../endpoint/endpoint.ts';
import type { TryOutcome } from '../outcome.ts';
import type { SenderState } from '../sender.ts';
import type { Finished } from './delivery-store.ts';
import type { TakenDelivery } from './taken.ts';

/** What came of a try. */
export interface TryResult extends Pick<Finished, 'attempts' | 'tries' | 'handed'> {
  /** Decides how many calls may go at one time; null when none was made. */
  readonly succeeded: boolean | null;
  /** Whether the try counts for the breaker of the endpoint. */
  readonly judged: boolean;
  readonly outcome: TryOutcome;
  /** For how long no delivery of the endpoint can be sent, in milliseconds. */
  readonly holdMs?: number;
}

export interface Transport {
  start(): Promise<void>;
  stop(): Promise<void>;
  /** Told of each endpoint as it is now, before deliveries to it are passed. */
  ensureEndpoint(target: EndpointTarget): void;
  removeEndpoint(id: string): void;
  /** Why an endpoint cannot be sent to, as a sentence; null when it can. */
  fault(id: string): string | null;
  /** Why a header field cannot be sent, as a sentence without its subject; null when it can. */
  headerFault(name: string): string | null;
  /**
   * Makes one try. Never throws, and takes no longer than the sender's limit for one call.
   * @param now milliseconds since 1970
   */
  send(one: TakenDelivery, target: EndpointTarget, now: number): Promise<TryResult>;
  state(): SenderState;
}
