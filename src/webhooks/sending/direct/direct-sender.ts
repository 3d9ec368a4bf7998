/**
 * The sender that needs nothing but MongoDB: this process signs deliveries and calls their endpoints itself. Not here: where
 * they wait and when they are tried (queue/), and a call itself (callee.ts).
 */
import type { EndpointTarget } from '../../endpoint/endpoint.ts';
import { outcomeOf } from '../outcome.ts';
import { QueueSender, type QueueSenderOptions } from '../queue/queue-sender.ts';
import { SENDER_LIMITS, type TakenDelivery } from '../queue/taken.ts';
import type { Transport, TryResult } from '../queue/transport.ts';
import type { SenderState } from '../sender.ts';
import { Callee, type Poster } from './callee.ts';

export interface DirectSenderOptions extends QueueSenderOptions {
  readonly egress: Poster;
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
  readonly #poster: Poster;
  readonly #agent: string;
  readonly #random: () => number;
  readonly #timeoutMs: number;
  readonly #callees = new Map<string, Callee>();

  constructor({ egress, version, random = Math.random, limits }: DirectSenderOptions) {
    this.#poster = egress;
    this.#agent = `Millrace/${version}`;
    this.#random = random;
    this.#timeoutMs = limits?.timeoutMs ?? SENDER_LIMITS.timeoutMs;
  }

  async start(): Promise<void> {}

  async stop(): Promise<void> {}

  ensureEndpoint(target: EndpointTarget): void {
    this.#callees.set(target.id, new Callee(target, this.#agent));
  }

  removeEndpoint(id: string): void {
    this.#callees.delete(id);
  }

  fault(): null {
    return null;
  }

  headerFault(): null {
    return null;
  }

  async send({ row, body }: TakenDelivery, target: EndpointTarget, now: number): Promise<TryResult> {
    const { trigger, event } = row;
    const callee = this.#callees.get(target.id) ?? new Callee(target, this.#agent);
    const { answered, attempt } = await callee.call(this.#poster, { event, body, trigger }, now, this.#timeoutMs);
    const succeeded = answered.error === null;
    const tries = row.tries + 1;
    const ended = now + attempt.ms;
    const outcome = outcomeOf(answered, { trigger, schedule: target.schedule, tries }, this.#random(), ended);
    return { succeeded, judged: trigger !== 'test', outcome, attempts: [attempt], tries };
  }

  state(): SenderState {
    return { kind: 'direct' };
  }
}
