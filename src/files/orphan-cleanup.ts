/**
 * Removes bytes without a document: left by interrupted uploads, unfinished deletions, and moves. It follows the upload journal
 * (upload-journal.ts), so it is free when idle, and leases protect running uploads in any process. Every process does this; an
 * entry is leased by one at a time.
 */
import type { FileDocuments } from './file-document-store.ts';
import type { FileStore } from './stores/file-store.ts';
import type { UploadJournal, UploadJournalEntry } from './upload/upload-journal.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
/** A frozen process may still write bytes after the first cleanup, so each entry is processed twice, this far apart. */
const SECOND_LOOK_MS = HOUR_MS;

export interface OrphanCleanupDeps {
  readonly store: FileDocuments;
  readonly marks: UploadJournal;
  readonly fileStores: ReadonlyMap<string, FileStore>;
  /** Called with an error that stopped the pass; the next one is scheduled as usual. */
  readonly onError: (error: unknown) => void;
}

export class OrphanCleanup {
  readonly #deps: OrphanCleanupDeps;
  #timer: NodeJS.Timeout | undefined;
  #round: Promise<void> = Promise.resolve();
  #stopped = false;

  constructor(deps: OrphanCleanupDeps) {
    this.#deps = deps;
  }

  /** Cleans up now, then at least hourly and whenever a lease expires. Does not wait for the first pass. */
  start(): void {
    this.#round = this.#round.then(() => this.#again());
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    clearTimeout(this.#timer);
    await this.#round;
  }

  /**
   * One pass over all entries with expired leases.
   * @returns the number of cleaned keys
   */
  async run(): Promise<number> {
    let cleaned = 0;
    while (!this.#stopped) {
      const mark = await this.#deps.marks.leaseExpired();
      if (mark === null) break;
      if (await this.#clean(mark)) cleaned++;
    }
    return cleaned;
  }

  async #clean(mark: UploadJournalEntry): Promise<boolean> {
    const { store, marks, fileStores } = this.#deps;
    const file = await store.find(mark.key);
    if (file?.store === mark.store) {
      await marks.deleteEntry(mark.store, mark.key);
      return false;
    }
    const fileStore = fileStores.get(mark.store);
    if (fileStore === undefined) {
      // The store is not configured at the moment; the entry waits until it is.
      await marks.postpone(mark, HOUR_MS, mark.cleaned);
      return false;
    }
    await fileStore.remove(mark.key);
    if (mark.cleaned) await marks.deleteEntry(mark.store, mark.key);
    else await marks.postpone(mark, SECOND_LOOK_MS, true);
    return true;
  }

  async #again(): Promise<void> {
    let delayMs = MINUTE_MS;
    try {
      await this.run();
      const next = await this.#deps.marks.nextExpiry();
      const leftMs = next === undefined ? HOUR_MS : next.getTime() - Date.now();
      delayMs = Math.min(Math.max(leftMs, MINUTE_MS), HOUR_MS);
    } catch (error) {
      this.#deps.onError(error);
    }
    if (this.#stopped) return;
    this.#timer = setTimeout(() => this.start(), delayMs).unref();
  }
}
