/**
 * Stores runs in batches, after the response was sent. The buffer is bounded: while the database is unavailable, the newest are
 * dropped and counted.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { ERRORS, MillraceError } from '../../lib/errors.ts';
import { type RunRow, runSizeBytes } from './run-row.ts';

/** How long runs are collected into a batch, in milliseconds. */
const GATHER_MS = 100;
const RETRY_MS = 1_000;
/** How long a stop waits for unstored runs, in milliseconds. */
const LAST_MS = 2_000;
const BATCH_RUNS = 200;
/** A run has at most about 0.7 MB, and a database command at most 48 MB. */
const BATCH_BYTES = 8 * 1024 * 1024;
const MOST_RUNS = 5_000;
const MOST_BYTES = 32 * 1024 * 1024;

export interface RunBatchesDeps {
  readonly insert: (rows: readonly RunRow[]) => Promise<void>;
  readonly onError: (error: unknown) => void;
}

export class RunRecordBuffer {
  readonly #deps: RunBatchesDeps;
  readonly #waiting: { readonly row: RunRow; readonly bytes: number }[] = [];
  readonly #end = new AbortController();
  #bytes = 0;
  #pumping: Promise<void> | null = null;
  #dropped = 0;

  constructor(deps: RunBatchesDeps) {
    this.#deps = deps;
  }

  /** Runs that were dropped, because the buffer was full or the database rejected them. */
  get dropped(): number {
    return this.#dropped;
  }

  add(row: RunRow): void {
    const bytes = runSizeBytes(row);
    if (this.#end.signal.aborted || this.#waiting.length >= MOST_RUNS || this.#bytes + bytes > MOST_BYTES) {
      this.#dropped += 1;
      return;
    }
    this.#waiting.push({ row, bytes });
    this.#bytes += bytes;
    this.#pumping ??= this.#pump();
  }

  /** Stores buffered runs, if the database accepts them soon. */
  async stop(): Promise<void> {
    this.#end.abort();
    const given = new AbortController();
    await Promise.race([this.#pumping, pause(LAST_MS, undefined, { signal: given.signal }).catch(() => undefined)]);
    given.abort();
  }

  async #pump(): Promise<void> {
    await this.#pause(GATHER_MS);
    for (let reported = false; this.#waiting.length > 0; ) {
      const batch = this.#take();
      try {
        await this.#deps.insert(batch.map(({ row }) => row));
        reported = false;
      } catch (error) {
        if (!reported) this.#deps.onError(error);
        reported = true;
        const passes = error instanceof MillraceError && ERRORS[error.code].retryable;
        if (!passes || this.#end.signal.aborted) this.#dropped += batch.length;
        else {
          this.#waiting.unshift(...batch);
          this.#bytes += sum(batch);
          await this.#pause(RETRY_MS);
        }
      }
    }
    this.#pumping = null;
  }

  #take() {
    let bytes = 0;
    const end = this.#waiting.findIndex((one, index) => {
      bytes += one.bytes;
      return index > 0 && (index >= BATCH_RUNS || bytes > BATCH_BYTES);
    });
    const batch = this.#waiting.splice(0, end < 0 ? this.#waiting.length : end);
    this.#bytes -= sum(batch);
    return batch;
  }

  async #pause(ms: number): Promise<void> {
    await pause(ms, undefined, { signal: this.#end.signal, ref: false }).catch(() => undefined);
  }
}

function sum(batch: readonly { readonly bytes: number }[]): number {
  return batch.reduce((total, { bytes }) => total + bytes, 0);
}
