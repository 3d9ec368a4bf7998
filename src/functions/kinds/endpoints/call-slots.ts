/**
 * How many calls of endpoints are under way at one time: in all, and of one client. Others wait in turn; beyond a bound they
 * are refused at once. Not here: the limits of one call (sandbox/), and how often a client may ask (http/access/rate-limit).
 */
import { FairSemaphore } from '../../../kernel/concurrency/fair-semaphore.ts';
import { MillraceError } from '../../../kernel/errors.ts';

export interface CallBounds {
  /** Calls that run at one time. */
  readonly running: number;
  /** Of one client. */
  readonly runningOfOne: number;
  /** Calls that run or wait. */
  readonly held: number;
  /** Of one client. */
  readonly heldOfOne: number;
}

const BOUNDS: CallBounds = { running: 256, runningOfOne: 64, held: 2_000, heldOfOne: 250 };

export class CallSlots {
  readonly #bounds: CallBounds;
  readonly #running: FairSemaphore;
  readonly #held = new Map<string, number>();
  #all = 0;

  constructor(bounds: CallBounds = BOUNDS) {
    this.#bounds = bounds;
    this.#running = new FairSemaphore(bounds.running, bounds.runningOfOne);
  }

  /**
   * Runs a call when its turn comes.
   * @param client the text that limits count it under
   * @throws MillraceError `rate-limited` when too many of the client wait, `overloaded` when too many do in all
   */
  async run<T>(client: string, call: () => Promise<T>): Promise<T> {
    const headers = { 'retry-after': '1' };
    const mine = this.#held.get(client) ?? 0;
    if (mine >= this.#bounds.heldOfOne) {
      throw new MillraceError('rate-limited', 'Too many calls of functions of this client wait already', { headers });
    }
    if (this.#all >= this.#bounds.held) {
      throw new MillraceError('overloaded', 'Too many calls of functions wait already', { headers });
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
