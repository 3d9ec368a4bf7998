/**
 * Limits stored runs that callers can cause at will: rejected writes, failed calls, calls that log. Each caller of a function has
 * a budget of runs and bytes, and so has each function in total. In the memory of this process.
 */
import { RateLimiter } from '../../auth/request-rate-limiter.ts';
import { type RunRow, runSizeBytes } from './run-row.ts';

/** Runs and bytes per minute, and the burst limits. */
const EACH = { runs: 6, runsAtOnce: 30, bytes: 64 * 1024, bytesAtOnce: 2 * 1024 ** 2 };
const ALL = { runs: 60, runsAtOnce: 300, bytes: 512 * 1024, bytesAtOnce: 16 * 1024 ** 2 };

class Budget {
  readonly #runs: RateLimiter;
  readonly #bytes: RateLimiter;

  constructor({ runs, runsAtOnce, bytes, bytesAtOnce }: typeof EACH) {
    this.#runs = new RateLimiter(runs, runsAtOnce);
    this.#bytes = new RateLimiter(bytes, bytesAtOnce);
  }

  takeRun(key: string, now: number): boolean {
    return this.#runs.take(key, now) === 0;
  }

  takeBytes(key: string, now: number, bytes: number): boolean {
    return this.#bytes.take(key, now, bytes) === 0;
  }
}

export class RunStorageBudget {
  readonly #each = new Budget(EACH);
  readonly #all = new Budget(ALL);
  readonly #now: () => number;

  /** @param now milliseconds of a monotonic clock */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  /** Whether another run of this function and caller may be stored. If so, call `trimToBudget` with it. */
  take(fn: string, client: string): boolean {
    const now = this.#now();
    return this.#each.takeRun(`${fn} ${client}`, now) && this.#all.takeRun(fn, now);
  }

  /** The run as it may be stored: without input and result if they are too large; null if the rest is too large as well. */
  trimToBudget(row: RunRow, fn: string, client: string): RunRow | null {
    const now = this.#now();
    const fits = (one: RunRow) => {
      const bytes = runSizeBytes(one);
      return this.#each.takeBytes(`${fn} ${client}`, now, bytes) && this.#all.takeBytes(fn, now, bytes);
    };
    if (fits(row)) return row;
    const bare = { ...row, input: null, result: null };
    return fits(bare) ? bare : null;
  }
}
