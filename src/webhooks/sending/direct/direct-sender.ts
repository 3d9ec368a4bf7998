/** The sender that needs only MongoDB: this process signs deliveries and calls their endpoints itself. */
import type { EndpointTarget } from '../../endpoint/endpoint.ts';
import { decideAttemptOutcome } from '../attempt-outcome.ts';
import { QueueSender, type QueueSenderOptions } from '../queue/queue-sender.ts';
import { type LeasedDelivery, SENDER_LIMITS } from '../queue/queue-types.ts';
import type { SendResult, Transport } from '../queue/transport.ts';
import type { SenderHealth } from '../sender.ts';
import { type HttpPoster, PreparedEndpoint } from './http-attempt.ts';

export interface DirectSenderOptions extends QueueSenderOptions {
  readonly egress: HttpPoster;
  /** Version of the program, for `user-agent`. */
  readonly version: string;
  /** From 0 to 1. */
  readonly random?: () => number;
}

export class DirectSender extends QueueSender {
  constructor(options: DirectSenderOptions) {
    super(new DirectTransport(options), options);
  }
}

class DirectTransport implements Transport {
  readonly #poster: HttpPoster;
  readonly #agent: string;
  readonly #random: () => number;
  readonly #timeoutMs: number;
  readonly #callees = new Map<string, PreparedEndpoint>();

  constructor({ egress, version, random = Math.random, limits }: DirectSenderOptions) {
    this.#poster = egress;
    this.#agent = `Millrace/${version}`;
    this.#random = random;
    this.#timeoutMs = limits?.timeoutMs ?? SENDER_LIMITS.timeoutMs;
  }

  async start(): Promise<void> {}

  async stop(): Promise<void> {}

  ensureEndpoint(target: EndpointTarget): void {
    this.#callees.set(target.id, new PreparedEndpoint(target, this.#agent));
  }

  removeEndpoint(id: string): void {
    this.#callees.delete(id);
  }

  issue(): null {
    return null;
  }

  headerIssue(): null {
    return null;
  }

  async send({ row, body }: LeasedDelivery, target: EndpointTarget, now: number): Promise<SendResult> {
    const { trigger, event } = row;
    const callee = this.#callees.get(target.id) ?? new PreparedEndpoint(target, this.#agent);
    const { response, attempt } = await callee.call(this.#poster, { event, body, trigger }, now, this.#timeoutMs);
    const succeeded = response.error === null;
    const attempts = row.attempt + 1;
    const ended = now + attempt.ms;
    const outcome = decideAttemptOutcome(
      response,
      { trigger, schedule: target.retrySchedule, attempts },
      this.#random(),
      ended,
    );
    return { succeeded, countsForBreaker: trigger !== 'test', outcome, attempts: [attempt], attempt: attempts };
  }

  state(): SenderHealth {
    return { kind: 'direct' };
  }
}
