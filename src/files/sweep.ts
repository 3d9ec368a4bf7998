/**
 * Removes bytes that no document names: left by uploads that a crash interrupted, by deletions that did not finish, and
 * by moves. It follows the marks (upload-marks.ts), so it costs nothing when there is nothing to do, and the lease
 * protects an upload in progress in any process. Every process sweeps; only one of them can take a mark.
 */
import type { FileDocuments } from './store.ts';
import type { FileStore } from './stores/file-store.ts';
import type { UploadMark, UploadMarks } from './upload/upload-marks.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
/** A frozen process may still write bytes after the first sweep, so each mark is swept twice, this far apart. */
const SECOND_LOOK_MS = HOUR_MS;

export interface SweepParts {
  readonly store: FileDocuments;
  readonly marks: UploadMarks;
  readonly fileStores: ReadonlyMap<string, FileStore>;
  /** Called with an error that stopped the sweep; it goes on at its next time. */
  readonly onError: (error: unknown) => void;
}

export class Sweep {
  readonly #parts: SweepParts;
  #timer: NodeJS.Timeout | undefined;
  #round: Promise<void> = Promise.resolve();
  #stopped = false;

  constructor(parts: SweepParts) {
    this.#parts = parts;
  }

  /** Sweeps now, then at least hourly and whenever a lease runs out. Does not wait for the first round. */
  start(): void {
    this.#round = this.#round.then(() => this.#again());
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    clearTimeout(this.#timer);
    await this.#round;
  }

  /** One round over all marks whose lease ran out. @returns how many keys were cleaned */
  async run(): Promise<number> {
    let cleaned = 0;
    while (!this.#stopped) {
      const mark = await this.#parts.marks.takeExpired();
      if (mark === null) break;
      if (await this.#clean(mark)) cleaned++;
    }
    return cleaned;
  }

  async #clean(mark: UploadMark): Promise<boolean> {
    const { store, marks, fileStores } = this.#parts;
    const file = await store.find(mark.key);
    if (file?.store === mark.store) {
      await marks.settle(mark.store, mark.key);
      return false;
    }
    const fileStore = fileStores.get(mark.store);
    if (fileStore === undefined) {
      // The store is not configured at the moment; the mark waits until it is.
      await marks.postpone(mark, HOUR_MS, mark.cleaned);
      return false;
    }
    await fileStore.remove(mark.key);
    if (mark.cleaned) await marks.settle(mark.store, mark.key);
    else await marks.postpone(mark, SECOND_LOOK_MS, true);
    return true;
  }

  async #again(): Promise<void> {
    let delayMs = MINUTE_MS;
    try {
      await this.run();
      const next = await this.#parts.marks.nextExpiry();
      const leftMs = next === undefined ? HOUR_MS : next.getTime() - Date.now();
      delayMs = Math.min(Math.max(leftMs, MINUTE_MS), HOUR_MS);
    } catch (error) {
      this.#parts.onError(error);
    }
    if (this.#stopped) return;
    this.#timer = setTimeout(() => this.start(), delayMs).unref();
  }
}
