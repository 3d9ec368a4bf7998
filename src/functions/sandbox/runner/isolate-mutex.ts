/**
 * Serializes entries into one isolate. Only one runs at a time, so the running code and the owner of its CPU time are always
 * known: V8 empties the microtask queue before an entry ends.
 */
import type { RunnerCall } from './runner-call.ts';

interface Entry {
  readonly call: RunnerCall | null;
  readonly run: () => Promise<unknown>;
  readonly ended: (error: unknown) => void;
}

/** The running entry. */
export interface RunningEntry {
  /** Null while a context is prepared: no author code runs then. */
  readonly call: RunnerCall | null;
  /** `cpuTime` of the isolate at its start. */
  readonly cpuAt: bigint;
  /** By `performance.now()`. */
  readonly startedAt: number;
}

export class IsolateMutex {
  readonly #cpuTime: () => bigint;
  readonly #onIdle: () => void;
  #waiting: Entry[] = [];
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

  /**
   * Runs after the entries before it; immediately if there are none.
   * @returns what `run` threw, undefined if it did not throw
   */
  enter(call: RunnerCall | null, run: () => Promise<unknown>): Promise<unknown> {
    return new Promise((resolve) => {
      this.#waiting.push({ call, run, ended: resolve });
      if (this.current === null) this.#drain();
    });
  }

  async #drain(): Promise<void> {
    for (let entry = this.#waiting.shift(); entry !== undefined; entry = this.#waiting.shift()) {
      const cpuAt = this.#cpuTime();
      this.current = { call: entry.call, cpuAt, startedAt: performance.now() };
      let failure: unknown;
      try {
        await entry.run();
      } catch (error) {
        failure = error ?? new Error('The isolate failed');
      }
      if (entry.call !== null) entry.call.cpu += this.#cpuTime() - cpuAt;
      this.current = null;
      entry.ended(failure);
    }
    this.#onIdle();
  }
}
