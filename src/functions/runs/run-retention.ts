/**
 * Keeps stored runs below a size limit: the oldest ended ones are deleted first. Each process does this for its own writes, and
 * the recorder also periodically.
 */

const MAX_BYTES = 1024 ** 3;
/** Target share, so that deletion does not run for each new run. */
const DOWN_TO = 0.9;
const EVERY_MS = 5 * 60_000;
/** Bytes that a process writes between two checks of the size. */
const EVERY_BYTES = 16 * 1024 ** 2;
const BLOCK_RUNS = 1_000;

export interface RunRetentionDeps {
  readonly store: {
    size(): Promise<{ readonly runs: number; readonly bytes: number }>;
    deleteOldest(count: number): Promise<number>;
  };
  /** Whether this process checks the size even without writing. */
  readonly allowed: () => boolean;
  readonly onError: (error: unknown) => void;
  readonly maxBytes?: number;
  readonly everyBytes?: number;
}

export class RunRetention {
  readonly #deps: RunRetentionDeps;
  #timer: NodeJS.Timeout | undefined;
  #sweeping: Promise<void> = Promise.resolve();
  #written = 0;
  #stopped = false;

  constructor(deps: RunRetentionDeps) {
    this.#deps = deps;
  }

  /** Starts periodic checks. Repeated calls change nothing. */
  start(): void {
    if (this.#stopped) return;
    this.#timer ??= setInterval(() => {
      if (this.#deps.allowed()) void this.deleteExcess();
    }, EVERY_MS).unref();
  }

  /** Counts bytes of runs that this process has stored. Resolves when the size is known to be within the limit. Never rejects. */
  async wrote(bytes: number): Promise<void> {
    this.#written += bytes;
    if (this.#written < (this.#deps.everyBytes ?? EVERY_BYTES)) return;
    this.#written = 0;
    await this.deleteExcess();
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    clearInterval(this.#timer);
    await this.#sweeping;
  }

  /** Deletes the excess, one pass after the other. Never rejects. */
  deleteExcess(): Promise<void> {
    this.#sweeping = this.#sweeping.then(() => this.#deleteExcess()).catch(this.#deps.onError);
    return this.#sweeping;
  }

  async #deleteExcess(): Promise<void> {
    const { store, maxBytes = MAX_BYTES } = this.#deps;
    while (!this.#stopped) {
      const { runs, bytes } = await store.size();
      if (bytes <= maxBytes) return;
      // By their average size; the oldest may be smaller, so the size is read again.
      let left = Math.ceil(runs * (1 - (DOWN_TO * maxBytes) / bytes));
      while (left > 0 && !this.#stopped) {
        const deleted = await store.deleteOldest(Math.min(left, BLOCK_RUNS));
        if (deleted === 0) return;
        left -= deleted;
      }
    }
  }
}
