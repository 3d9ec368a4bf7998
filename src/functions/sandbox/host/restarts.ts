/** Backoff before a runner is restarted, so that a runner that crashes repeatedly costs little. */
import { setTimeout as pause } from 'node:timers/promises';

/** Ends of the runner within a minute without a pause. */
const FREE_ENDS = 3;
const MINUTE_MS = 60_000;
const MAX_PAUSE_MS = 5_000;

export class RestartBackoff {
  readonly #firstPauseMs: number;
  /** Ends without the fault of a function. Ends attributed to a function count as its crashes and cause no pause. */
  readonly #ends: number[] = [];

  /** @param firstPauseMs milliseconds of the first pause; doubled each time */
  constructor(firstPauseMs: number) {
    this.#firstPauseMs = firstPauseMs;
  }

  /** A runner has ended without the fault of a function. */
  ended(): void {
    this.#ends.push(performance.now());
  }

  /** Resolves when the next runner may be started. */
  async wait(): Promise<void> {
    const since = performance.now() - MINUTE_MS;
    while ((this.#ends[0] ?? Number.POSITIVE_INFINITY) < since) this.#ends.shift();
    const extra = this.#ends.length - FREE_ENDS;
    if (extra > 0) await pause(Math.min(MAX_PAUSE_MS, this.#firstPauseMs * 2 ** (extra - 1)));
  }
}
