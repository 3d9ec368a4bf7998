/**
 * The circuit breaker of one endpoint: after many failures its deliveries wait, so that a server that is down does not
 * use up their attempts. A state machine without a clock.
 */

const MAX_IN_ROW = 10;
/** Also opens when this share of the newest attempts failed, of at least `MIN_COUNT`. */
const MAX_PART = 0.7;
const MIN_COUNT = 10;
const WINDOW_MS = 5 * 60_000;
const BUCKET_MS = 30_000;
const FIRST_PAUSE_MS = 30_000;
const MAX_PAUSE_MS = 5 * 60_000;

/** The stored state. */
export interface OpenBreakerState {
  /** When the next probe may be sent, in milliseconds since 1970. */
  readonly openUntil: number;
  /** How long it was last open, in milliseconds. */
  readonly pauseMs: number;
}

interface Bucket {
  /** Number of the half minute since 1970. */
  readonly at: number;
  count: number;
  failed: number;
}

export class CircuitBreaker {
  #open: OpenBreakerState | null = null;
  #inRow = 0;
  #buckets: Bucket[] = [];

  /** Null while closed. */
  get open(): OpenBreakerState | null {
    return this.#open;
  }

  /** Whether deliveries may be sent. `half-open`: one probe may, if this process gets the right to send it. */
  state(now: number): 'closed' | 'open' | 'half-open' {
    if (this.#open === null) return 'closed';
    return now < this.#open.openUntil ? 'open' : 'half-open';
  }

  /** Applies the state found by another or an earlier process. */
  restore(open: OpenBreakerState | null): void {
    if (open === null && this.#open !== null) this.close();
    else this.#open = open;
  }

  close(): void {
    this.#open = null;
    this.#inRow = 0;
    this.#buckets = [];
  }

  /** Ends an attempt that began while closed. Attempts that end after it has opened change nothing. */
  count(succeeded: boolean, now: number): void {
    if (this.#open !== null) return;
    this.#inRow = succeeded ? 0 : this.#inRow + 1;
    const { count, failed } = this.#sum(succeeded, now);
    if (this.#inRow >= MAX_IN_ROW || (!succeeded && count >= MIN_COUNT && failed >= MAX_PART * count)) {
      this.#open = { openUntil: now + FIRST_PAUSE_MS, pauseMs: FIRST_PAUSE_MS };
    }
  }

  /** Ends the probe: the breaker closes, or opens again for twice as long, up to five minutes. */
  recordProbe(succeeded: boolean, now: number): void {
    if (succeeded) {
      this.close();
      return;
    }
    const pauseMs = Math.min(2 * (this.#open?.pauseMs ?? FIRST_PAUSE_MS / 2), MAX_PAUSE_MS);
    this.#open = { openUntil: now + pauseMs, pauseMs };
  }

  #sum(succeeded: boolean, now: number): { readonly count: number; readonly failed: number } {
    const at = Math.floor(now / BUCKET_MS);
    this.#buckets = this.#buckets.filter((bucket) => bucket.at > at - WINDOW_MS / BUCKET_MS);
    let last = this.#buckets.at(-1);
    if (last === undefined || last.at < at) {
      last = { at, count: 0, failed: 0 };
      this.#buckets.push(last);
    }
    last.count += 1;
    if (!succeeded) last.failed += 1;
    const sum = { count: 0, failed: 0 };
    for (const bucket of this.#buckets) {
      sum.count += bucket.count;
      sum.failed += bucket.failed;
    }
    return sum;
  }
}
