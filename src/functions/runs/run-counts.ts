/**
 * Counts how functions ran: every attempt of every function, also those that are not kept as runs, in all processes, over
 * the last seven days (UTC). Counting is in memory; the sums are stored a few seconds later, so a process that is killed
 * loses the last ones. Not here: the runs themselves (run-recorder.ts).
 */
import { bucketOf, percentile } from './duration-buckets.ts';
import type { CountedDay, RunCountStore } from './run-count-store.ts';

const DAYS = 7;
const DAY_MS = 24 * 3_600_000;
const FLUSH_MS = 5_000;

/** How a function ran in the last seven days. */
export interface FunctionCounts {
  readonly ok: number;
  readonly failed: number;
  /** Milliseconds that 95 of 100 attempts did not exceed, to within a fifth; null without any. */
  readonly p95Ms: number | null;
  readonly lastRunAt: Date | null;
}

/** What the list of plugins needs. */
export interface CountedFunctions {
  /** @param ids of functions, `plugin/name`; those that never ran have no entry in the answer */
  of(ids: readonly string[]): Promise<ReadonlyMap<string, FunctionCounts>>;
}

export interface RunCountsParts {
  readonly store: RunCountStore;
  readonly onError: (error: unknown) => void;
  readonly now?: () => Date;
}

type Counting = { -readonly [K in keyof CountedDay]: CountedDay[K] } & { readonly ms: Map<number, number> };

export class RunCounts implements CountedFunctions {
  readonly #parts: RunCountsParts;
  #counted = new Map<string, Counting>();
  #timer: NodeJS.Timeout | undefined;
  #flushing: Promise<void> = Promise.resolve();

  constructor(parts: RunCountsParts) {
    this.#parts = parts;
  }

  /** Counts one attempt. @param id of the function */
  note(id: string, ok: boolean, durationMs: number): void {
    const now = this.#parts.now?.() ?? new Date();
    const day = Math.floor(now.getTime() / DAY_MS) * DAY_MS;
    const key = `${id}:${day}`;
    let counting = this.#counted.get(key);
    if (counting === undefined) {
      counting = { function: id, day: new Date(day), ok: 0, failed: 0, lastRunAt: now, ms: new Map() };
      this.#counted.set(key, counting);
    }
    if (ok) counting.ok += 1;
    else counting.failed += 1;
    counting.lastRunAt = now;
    const bucket = bucketOf(durationMs);
    counting.ms.set(bucket, (counting.ms.get(bucket) ?? 0) + 1);
    // Only while something runs: an idle installation tells the database nothing.
    this.#timer ??= setTimeout(() => void this.#flush(), FLUSH_MS).unref();
  }

  async of(ids: readonly string[]): Promise<ReadonlyMap<string, FunctionCounts>> {
    await this.#flush();
    const rows = await this.#parts.store.of(ids, this.#parts.now?.() ?? new Date());
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
            ok: days.reduce((sum, { ok }) => sum + ok, 0),
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
      await this.#parts.store.add([...counted.values()], DAYS - 1);
    } catch (error) {
      this.#parts.onError(error);
      this.#keep(counted);
    }
  }

  /** Counts again what could not be stored; there is one entry for each function and day, however long it takes. */
  #keep(counted: ReadonlyMap<string, Counting>): void {
    for (const [key, one] of counted) {
      const newer = this.#counted.get(key);
      if (newer === undefined) {
        this.#counted.set(key, one);
        continue;
      }
      newer.ok += one.ok;
      newer.failed += one.failed;
      for (const [bucket, count] of one.ms) newer.ms.set(bucket, (newer.ms.get(bucket) ?? 0) + count);
    }
    this.#timer ??= setTimeout(() => void this.#flush(), FLUSH_MS).unref();
  }
}
