/**
 * Keeps stored runs below a size: the oldest that have ended go first. One process does it, the one that records. Not here:
 * their age, which the database watches (`expireAt` in run-row.ts).
 */

const MAX_BYTES = 1024 ** 3;
/** Deleted down to this share, so that it is not done anew for each run. */
const DOWN_TO = 0.9;
const EVERY_MS = 5 * 60_000;
const BLOCK_RUNS = 1_000;

export interface RunRetentionParts {
  readonly store: {
    size(): Promise<{ readonly runs: number; readonly bytes: number }>;
    deleteOldest(count: number): Promise<number>;
  };
  /** Whether this process deletes. */
  readonly allowed: () => boolean;
  readonly onError: (error: unknown) => void;
  readonly maxBytes?: number;
}

export class RunRetention {
  readonly #parts: RunRetentionParts;
  #timer: NodeJS.Timeout | undefined;
  #sweeping: Promise<void> = Promise.resolve();
  #stopped = false;

  constructor(parts: RunRetentionParts) {
    this.#parts = parts;
  }

  /** Looks from now on every few minutes. Calling it again changes nothing. */
  start(): void {
    if (this.#stopped) return;
    this.#timer ??= setInterval(() => {
      this.#sweeping = this.sweep().catch(this.#parts.onError);
    }, EVERY_MS).unref();
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    clearInterval(this.#timer);
    await this.#sweeping;
  }

  /** Deletes what is too much, if this process does that. */
  async sweep(): Promise<void> {
    const { store, allowed, maxBytes = MAX_BYTES } = this.#parts;
    if (!allowed()) return;
    const { runs, bytes } = await store.size();
    if (bytes <= maxBytes) return;
    let left = Math.ceil(runs * (1 - (DOWN_TO * maxBytes) / bytes));
    while (left > 0 && !this.#stopped && allowed()) {
      const deleted = await store.deleteOldest(Math.min(left, BLOCK_RUNS));
      if (deleted === 0) return;
      left -= deleted;
    }
  }
}
