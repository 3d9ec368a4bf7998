/**
 * Keeps one process's copy of some collections current within a second of a change by any process: policies, identity
 * providers, settings. It reloads whenever something may have changed: one load at a time, another one if a change is
 * reported during it, and a retry after a failure. To add a reloaded collection, give it a Reloader and register it in
 * `services.ts`, which passes on the rows of the event log.
 */
import { setTimeout as pause } from 'node:timers/promises';

/** Milliseconds after which a failed load is retried. */
const RETRY_MS = 250;
/** Polling interval while reports may be late, in milliseconds. */
const LOOK_MS = 500;

export interface ReloaderDeps {
  /** Loads and activates everything. If it throws, the previous values stay active. */
  readonly read: () => Promise<void>;
  /** Whether a change of this collection may affect the load. */
  readonly concerns: (collection: string) => boolean;
  /** Called when a load failed. */
  readonly onError: (error: unknown) => void;
  /** False for an error that a retry would meet as well, until a change is reported. By default always true. */
  readonly canRetry?: (error: unknown) => boolean;
  /**
   * Whether there is anything new to load, for a process that receives the log late. Called often, so it should be
   * cheap. By default always true, so everything is loaded again.
   */
  readonly isStale?: () => Promise<boolean>;
}

/** The used part of an event log row. */
export interface ChangedCollection {
  /** Null if the row may concern every collection. */
  readonly collection: string | null;
}

export class Reloader {
  readonly #deps: ReloaderDeps;
  readonly #end = new AbortController();
  #reading: Promise<void> | null = null;
  #again = false;
  #looking: Promise<void> = Promise.resolve();
  #timer: NodeJS.Timeout | undefined;

  constructor(deps: ReloaderDeps) {
    this.#deps = deps;
  }

  /**
   * Loads, and from then on polls while reports may be late. Call it only when the log is followed, so that no later
   * change is missed.
   * @param upToDate true if every change until now was reported, so that no polling is needed
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

  /** Processes rows of the event log, or null if some were lost, and reloads if they may be relevant. */
  applyLogRows(rows: readonly ChangedCollection[] | null): void {
    const { concerns } = this.#deps;
    if (rows?.some(({ collection }) => collection === null || concerns(collection)) ?? true) void this.reload();
  }

  /** Loads again, starting after this call. Resolves after one attempt, whether it succeeded or not. */
  reload(): Promise<void> {
    this.#again = true;
    this.#reading ??= this.#read();
    return this.#reading;
  }

  async #read(): Promise<void> {
    while (this.#again && !this.#end.signal.aborted) {
      this.#again = false;
      try {
        await this.#deps.read();
      } catch (error) {
        const { onError, canRetry } = this.#deps;
        onError(error);
        if (canRetry?.(error) ?? true) this.#retryLater();
      }
    }
    this.#reading = null;
  }

  async #look(): Promise<void> {
    if (this.#reading !== null) return;
    const { isStale } = this.#deps;
    if ((isStale === undefined || (await isStale())) && !this.#end.signal.aborted) await this.reload();
  }

  #retryLater(): void {
    void pause(RETRY_MS, undefined, { signal: this.#end.signal, ref: false })
      .then(() => this.reload())
      .catch(() => undefined);
  }
}
