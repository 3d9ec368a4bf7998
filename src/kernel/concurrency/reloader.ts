/**
 * Keeps what one process holds of some collections in force within a second of a change that any process made: policies,
 * identity providers, settings. It reads again whenever something may have changed: one reading at a time, another one
 * when a change is reported meanwhile, and another one later when reading failed. To hold something new in this way, give
 * it a Reloader and name it in `parts.ts`, which passes on the rows of the event log. Not here: what is read.
 */
import { setTimeout as pause } from 'node:timers/promises';

/** Milliseconds after which a failed reading is tried again. */
const RETRY_MS = 250;
/** How often a change is looked for while reports may be late, in milliseconds. */
const LOOK_MS = 500;

export interface ReloaderParts {
  /** Reads everything and puts it in force. When it throws, what was read before stays in force. */
  readonly read: () => Promise<void>;
  /** Whether a change of this collection may change what is read. */
  readonly concerns: (collection: string) => boolean;
  /** Called when reading failed. */
  readonly onError: (error: unknown) => void;
  /** False for an error that a later attempt would meet as well, until a change is reported. By default always true. */
  readonly canRetry?: (error: unknown) => boolean;
  /**
   * Whether there is anything new to read, for a process that the log reaches late. Called often, so it should cost
   * little. By default always true, so everything is read again.
   */
  readonly isStale?: () => Promise<boolean>;
}

/** What is read of a row of the event log. */
export interface ChangedCollection {
  /** Null when the row may concern every collection. */
  readonly collection: string | null;
}

export class Reloader {
  readonly #parts: ReloaderParts;
  readonly #end = new AbortController();
  #reading: Promise<void> | null = null;
  #again = false;
  #looking: Promise<void> = Promise.resolve();
  #timer: NodeJS.Timeout | undefined;

  constructor(parts: ReloaderParts) {
    this.#parts = parts;
  }

  /**
   * Reads, and from then on looks for changes by itself while reports may be late. Call it only when the log is
   * followed, so that no later change is missed.
   * @param upToDate true if every change up to now was reported, so that nothing has to be looked for
   */
  async start(upToDate: () => boolean): Promise<void> {
    await this.reload();
    this.#timer = setInterval(() => {
      if (!upToDate()) this.#looking = this.#look();
    }, LOOK_MS);
    this.#timer.unref();
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer);
    this.#end.abort();
    await this.#looking;
    await this.#reading;
  }

  /** Takes rows of the event log, or null when some were lost, and reads again if they may have changed what is read. */
  follow(rows: readonly ChangedCollection[] | null): void {
    const { concerns } = this.#parts;
    if (rows?.some(({ collection }) => collection === null || concerns(collection)) ?? true) void this.reload();
  }

  /** Reads once more, beginning after this call. Resolves after one attempt, whether it succeeded or not. */
  reload(): Promise<void> {
    this.#again = true;
    this.#reading ??= this.#read();
    return this.#reading;
  }

  async #read(): Promise<void> {
    while (this.#again && !this.#end.signal.aborted) {
      this.#again = false;
      try {
        await this.#parts.read();
      } catch (error) {
        const { onError, canRetry } = this.#parts;
        onError(error);
        if (canRetry?.(error) ?? true) this.#retryLater();
      }
    }
    this.#reading = null;
  }

  async #look(): Promise<void> {
    if (this.#reading !== null) return;
    const { isStale } = this.#parts;
    if ((isStale === undefined || (await isStale())) && !this.#end.signal.aborted) await this.reload();
  }

  #retryLater(): void {
    void pause(RETRY_MS, undefined, { signal: this.#end.signal, ref: false })
      .then(() => this.reload())
      .catch(() => undefined);
  }
}
