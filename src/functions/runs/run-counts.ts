/**
 * Run statistics of functions: every attempt, including runs that are not stored, in all processes, over the last seven days
 * (UTC). Counts are in memory and written a few seconds later, so a process that is killed loses the latest ones.
 */
import { durationBucket, percentile } from './duration-buckets.ts';
import type { DailyRunCounts, RunCountStore } from './run-count-store.ts';

const DAYS = 7;
const DAY_MS = 24 * 3_600_000;
const FLUSH_MS = 5_000;

/** Statistics of a function over the last seven days. */
export interface FunctionCounts {
  readonly succeeded: number;
  readonly failed: number;
  /** The 95th percentile in milliseconds, accurate to a fifth; null without attempts. */
  readonly p95Ms: number | null;
  readonly lastRunAt: Date | null;
}

/** For the list of plugins. */
export interface FunctionCountReader {
  /** @param ids of functions, `plugin/name`; those without runs have no entry in the result */
  of(ids: readonly string[]): Promise<ReadonlyMap<string, FunctionCounts>>;
}

export interface RunCountsDeps {
  readonly store: RunCountStore;
  readonly onError: (error: unknown) => void;
  readonly now?: () => Date;
}

type Counting = { -readonly [K in keyof DailyRunCounts]: DailyRunCounts[K] } & { readonly ms: Map<number, number> };

export class RunCounts implements FunctionCountReader {
  readonly #deps: RunCountsDeps;
  #counted = new Map<string, Counting>();
  #timer: NodeJS.Timeout | undefined;
  #flushing: Promise<void> = Promise.resolve();

  constructor(deps: RunCountsDeps) {
    this.#deps = deps;
  }

  /**
   * Counts one attempt.
   * @param id of the function
   */
  note(id: string, succeeded: boolean, durationMs: number): void {
    const now = this.#deps.now?.() ?? new Date();
    const day = Math.floor(now.getTime() / DAY_MS) * DAY_MS;
    const key = `${id}:${day}`;
    let counting = this.#counted.get(key);
    if (counting === undefined) {
      counting = { function: id, day: new Date(day), succeeded: 0, failed: 0, lastRunAt: now, ms: new Map() };
      this.#counted.set(key, counting);
    }
    if (succeeded) counting.succeeded += 1;
    else counting.failed += 1;
    counting.lastRunAt = now;
    const bucket = durationBucket(durationMs);
    counting.ms.set(bucket, (counting.ms.get(bucket) ?? 0) + 1);
    // Only while functions run: an idle instance sends nothing to the database.
    this.#timer ??= setTimeout(() => void this.#flush(), FLUSH_MS).unref();
  }

  async of(ids: readonly string[]): Promise<ReadonlyMap<string, FunctionCounts>> {
    await this.#flush();
    const rows = await this.#deps.store.of(ids, this.#deps.now?.() ?? new Date());
    return new Map(
      [...Map.groupBy(rows, (row) => row.function)].map(([id, days]) => {
        const ms = new Map<number, number>();
        for (const day of days) {
          for (const [bucket, count] of Object.entries(day.ms ?? {})) {
            ms.set(Number(bucket), (ms.get(Number(bucket)) ?? 0) + count);
          }
        }
        return [
          id,
          {
            succeeded: days.reduce((sum, { succeeded }) => sum + succeeded, 0),
            failed: days.reduce((sum, { failed }) => sum + failed, 0),
            p95Ms: percentile(ms, 0.95),
            lastRunAt: new Date(Math.max(...days.map(({ lastRunAt }) => lastRunAt.getTime()))),
          },
        ];
      }),
    );
  }

  async stop(): Promise<void> {
    await this.#flush();
  }

  #flush(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#flushing = this.#flushing.then(() => this.#store());
    return this.#flushing;
  }

  async #store(): Promise<void> {
    const counted = this.#counted;
    if (counted.size === 0) return;
    this.#counted = new Map();
    try {
      await this.#deps.store.add([...counted.values()], DAYS - 1);
    } catch (error) {
      this.#deps.onError(error);
      this.#keep(counted);
    }
  }

  /** Adds back counts that could not be written; there is one entry per function and day, however long it takes. */
  #keep(counted: ReadonlyMap<string, Counting>): void {
    for (const [key, one] of counted) {
      const newer = this.#counted.get(key);
      if (newer === undefined) {
        this.#counted.set(key, one);
        continue;
      }
      newer.succeeded += one.succeeded;
      newer.failed += one.failed;
      for (const [bucket, count] of one.ms) newer.ms.set(bucket, (newer.ms.get(bucket) ?? 0) + count);
    }
    this.#timer ??= setTimeout(() => void this.#flush(), FLUSH_MS).unref();
  }
}
