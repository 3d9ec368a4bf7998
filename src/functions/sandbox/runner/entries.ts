/**
 * The entries into one isolate, one after the other. Only one runs at a time, so it is always known whose code is running and whose
 * CPU it uses: V8 empties the queue of microtasks before an entry ends. Not here: what is run (bundle-isolate.ts).
 */
import type { HostedCall } from './hosted-call.ts';

interface Entry {
  readonly call: HostedCall | null;
  readonly run: () => Promise<unknown>;
  readonly ended: (error: unknown) => void;
}

/** The entry that runs just now. */
export interface CurrentEntry {
  /** Null while a context is prepared: no code of an author runs then. */
  readonly call: HostedCall | null;
  /** `cpuTime` of the isolate at its beginning. */
  readonly cpuAt: bigint;
  /** By `performance.now()`. */
  readonly startedAt: number;
}

export class Entries {
  readonly #cpuTime: () => bigint;
  readonly #onIdle: () => void;
  #waiting: Entry[] = [];
  current: CurrentEntry | null = null;

  /**
   * @param cpuTime of the isolate, in nanoseconds
   * @param onIdle after each time that nothing waits any more
   */
  constructor(cpuTime: () => bigint, onIdle: () => void) {
    this.#cpuTime = cpuTime;
    this.#onIdle = onIdle;
  }

  get length(): number {
    return this.#waiting.length;
  }

  /** Runs when its turn comes; at once when nothing runs. @returns what `run` threw, undefined when it did not */
  enter(call: HostedCall | null, run: () => Promise<unknown>): Promise<unknown> {
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
