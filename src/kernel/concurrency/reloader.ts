/**
 * Reads something again whenever it may have changed: one reading at a time, another one when a change is reported
 * meanwhile, and another one later when reading failed. Not here: what is read, and the report of a change (the event log).
 */
import { setTimeout as pause } from 'node:timers/promises';

/** Milliseconds after which a failed reading is tried again. */
const RETRY_MS = 250;
/** How often a change is looked for while reports may be late, in milliseconds. */
const LOOK_MS = 500;

export interface ReloaderParts {
  readonly read: () => Promise<void>;
  /**
   * Called when reading failed.
   * @returns false when a later attempt would fail as well, until a change is reported
   */
  readonly onFailed: (error: unknown) => boolean;
  /** Whether there is anything new to read; asked often, so it should cost little. */
  readonly isStale: () => Promise<boolean>;
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
   * Reads, and from then on looks for changes by itself while reports may be late.
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
        if (this.#parts.onFailed(error)) this.#retryLater();
      }
    }
    this.#reading = null;
  }

  async #look(): Promise<void> {
    if (this.#reading !== null) return;
    if ((await this.#parts.isStale()) && !this.#end.signal.aborted) await this.reload();
  }

  #retryLater(): void {
    void pause(RETRY_MS, undefined, { signal: this.#end.signal, ref: false })
      .then(() => this.reload())
      .catch(() => undefined);
  }
}
