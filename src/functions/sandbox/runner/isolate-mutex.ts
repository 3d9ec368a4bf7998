/**
 * Serializes entries into one isolate. Only one runs at a time, so the running code and the owner of its CPU time are always
 * known: V8 empties the microtask queue before an entry ends.
 */
import type { RunnerCall } from './runner-call.ts';

export interface IsolateEntry {
  /** Null while a context is prepared: no author code runs then. */
  readonly call: RunnerCall | null;
  /** Runs first, without author code: its time is not that of the call. Null if there is nothing to do. */
  readonly prepare?: () => Promise<void> | null;
  /** Null if there is nothing to do. */
  readonly run: () => Promise<unknown> | null;
  /** @param error what `prepare` or `run` threw, undefined if they did not throw */
  readonly ended: (error: unknown) => void;
}

/** The running entry. */
export interface RunningEntry {
  readonly call: RunnerCall | null;
  /** `cpuTime` of the isolate at its start. */
  readonly cpuAt: bigint;
  /** By `performance.now()`. */
  readonly startedAt: number;
}

export class IsolateMutex {
  readonly #cpuTime: () => bigint;
  readonly #onIdle: () => void;
  #waiting: IsolateEntry[] = [];
  #isDraining = false;
  current: RunningEntry | null = null;

  /**
   * @param cpuTime of the isolate, in nanoseconds
   * @param onIdle called whenever the queue becomes empty
   */
  constructor(cpuTime: () => bigint, onIdle: () => void) {
    this.#cpuTime = cpuTime;
    this.#onIdle = onIdle;
  }

  get length(): number {
    return this.#waiting.length;
  }

  /** Runs after the entries before it; immediately if there are none. */
  enter(entry: IsolateEntry): void {
    this.#waiting.push(entry);
    if (!this.#isDraining) this.#drain();
  }

  async #drain(): Promise<void> {
    this.#isDraining = true;
    for (let entry = this.#waiting.shift(); entry !== undefined; entry = this.#waiting.shift()) {
      let failure: unknown;
      try {
        this.current = this.#begin(null);
        const preparing = entry.prepare?.() ?? null;
        if (preparing !== null) await preparing;
        this.current = this.#begin(entry.call);
        const running = entry.run();
        if (running !== null) await running;
      } catch (error) {
        failure = error ?? new Error('The isolate failed');
      }
      const { call, cpuAt } = this.current ?? this.#begin(null);
      if (call !== null) call.cpu += this.#cpuTime() - cpuAt;
      this.current = null;
      entry.ended(failure);
    }
    this.#isDraining = false;
    this.#onIdle();
  }

  #begin(call: RunnerCall | null): RunningEntry {
    return { call, cpuAt: this.#cpuTime(), startedAt: performance.now() };
  }
}
