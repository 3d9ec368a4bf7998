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
}

export interface Transport {
  start(): Promise<void>;
  stop(): Promise<void>;
  /** Told of each endpoint as it is now, before deliveries to it are passed. */
  ensureEndpoint(target: EndpointTarget): void;
  removeEndpoint(id: string): void;
  /**
   * Makes one try. Never throws, and takes no longer than the sender's limit for one call.
   * @param now milliseconds since 1970
   */
  send(one: TakenDelivery, target: EndpointTarget, now: number): Promise<TryResult>;
  state(): SenderState;
}
