/**
 * Limits concurrent calls of HTTP functions, in total and per client. Further calls are queued fairly; beyond a bound
 * they are rejected immediately.
 */
import { FairSemaphore } from '../../lib/concurrency/fair-semaphore.ts';
import { MillraceError } from '../../lib/errors.ts';

export interface CallLimits {
  /** Concurrent calls. */
  readonly running: number;
  /** Per client. */
  readonly runningPerClient: number;
  /** Running and queued calls. */
  readonly held: number;
  /** Per client. */
  readonly heldPerClient: number;
}

const BOUNDS: CallLimits = { running: 256, runningPerClient: 64, held: 2_000, heldPerClient: 250 };

export class CallLimiter {
  readonly #bounds: CallLimits;
  readonly #running: FairSemaphore;
  readonly #held = new Map<string, number>();
  #all = 0;

  constructor(bounds: CallLimits = BOUNDS) {
    this.#bounds = bounds;
    this.#running = new FairSemaphore(bounds.running, bounds.runningPerClient);
  }

  /**
   * Runs a call when a slot is free.
   * @param client the rate-limit key of the client
   * @throws MillraceError `rate-limited` when too many calls of the client wait, `overloaded` when too many wait in
   * total
   */
  async run<T>(client: string, call: () => Promise<T>): Promise<T> {
    const headers = { 'retry-after': '1' };
    const mine = this.#held.get(client) ?? 0;
    if (mine >= this.#bounds.heldPerClient) {
      throw new MillraceError('rate-limited', 'Too many calls of this client are waiting', { headers });
    }
    if (this.#all >= this.#bounds.held) {
      throw new MillraceError('overloaded', 'Too many function calls are waiting', { headers });
    }
    this.#held.set(client, mine + 1);
    this.#all += 1;
    try {
      return await this.#running.run(client, call);
    } finally {
      this.#all -= 1;
      const left = (this.#held.get(client) ?? 1) - 1;
      if (left > 0) this.#held.set(client, left);
      else this.#held.delete(client);
    }
  }
}
