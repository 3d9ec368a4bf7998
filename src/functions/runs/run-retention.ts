/**
 * Keeps stored runs below a size: the oldest that have ended go first. Each process does it for what it writes, and the one that
 * records also by time. Not here: their age, which the database watches (`expireAt` in run-row.ts).
 */

const MAX_BYTES = 1024 ** 3;
/** Deleted down to this share, so that it is not done anew for each run. */
const DOWN_TO = 0.9;
const EVERY_MS = 5 * 60_000;
/** Bytes that a process writes between two looks at the size. */
const EVERY_BYTES = 16 * 1024 ** 2;
const BLOCK_RUNS = 1_000;

export interface RunRetentionParts {
  readonly store: {
    size(): Promise<{ readonly runs: number; readonly bytes: number }>;
    deleteOldest(count: number): Promise<number>;
  };
  /** Whether this process looks at the size although it writes nothing. */
  readonly allowed: () => boolean;
  readonly onError: (error: unknown) => void;
  readonly maxBytes?: number;
  readonly everyBytes?: number;
}

export class RunRetention {
  readonly #parts: RunRetentionParts;
  #timer: NodeJS.Timeout | undefined;
  #sweeping: Promise<void> = Promise.resolve();
  #written = 0;
  #stopped = false;

  constructor(parts: RunRetentionParts) {
    this.#parts = parts;
  }

  /** Looks from now on every few minutes. Calling it again changes nothing. */
  start(): void {
    if (this.#stopped) return;
    this.#timer ??= setInterval(() => {
      if (this.#parts.allowed()) void this.sweep();
    }, EVERY_MS).unref();
  }

  /** Counts bytes of runs that this process has stored. Resolves when the size is known not to be too large. Never rejects. */
  async wrote(bytes: number): Promise<void> {
    this.#written += bytes;
    if (this.#written < (this.#parts.everyBytes ?? EVERY_BYTES)) return;
    this.#written = 0;
    await this.sweep();
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    clearInterval(this.#timer);
    await this.#sweeping;
  }

  /** Deletes what is too much, one sweep after the other. Never rejects. */
  sweep(): Promise<void> {
    this.#sweeping = this.#sweeping.then(() => this.#sweep()).catch(this.#parts.onError);
    return this.#sweeping;
  }

  async #sweep(): Promise<void> {
    const { store, maxBytes = MAX_BYTES } = this.#parts;
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
