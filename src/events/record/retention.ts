/**
 * Deletes old rows of the log, by age and by size. The floor is raised before rows are deleted, and readers ignore rows
 * below the floor. A recorder that was frozen for longer than the retention may put old numbers back; they stay
 * invisible.
 */
import type { EventLog } from '../log/event-log.ts';
import type { WriteServerLog } from '../log/server-log-forwarder.ts';

const BLOCK_ROWS = 5000;

export interface RetentionOptions {
  readonly log: EventLog;
  /** Whether this process deletes rows: it holds the recorder's lease. */
  readonly allowed: () => boolean;
  readonly maxAgeMs?: number;
  readonly maxBytes?: number;
  /** This many of the newest rows are kept, however old they are. */
  readonly keepRows?: number;
  readonly everyMs?: number;
  readonly onLog?: WriteServerLog;
}

export class Retention {
  readonly #options: Required<Omit<RetentionOptions, 'onLog'>> & { onLog?: WriteServerLog };
  #timer: ReturnType<typeof setInterval> | undefined;
  #sweeping: Promise<unknown> = Promise.resolve();
  #stopped = false;

  constructor(options: RetentionOptions) {
    this.#options = { maxAgeMs: 72 * 3_600_000, maxBytes: 10 * 1024 ** 3, keepRows: 1000, everyMs: 60_000, ...options };
  }

  start(): void {
    this.#timer = setInterval(() => {
      this.#sweeping = this.#cleanUpNow().catch((error: unknown) => {
        this.#options.onLog?.('warn', 'Old rows of the event log could not be deleted', { error: String(error) });
      });
    }, this.#options.everyMs).unref();
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    clearInterval(this.#timer);
    await this.#sweeping;
  }

  /** By the clock that dates the rows: a process with a wrong clock would delete all of them. */
  async #cleanUpNow(): Promise<void> {
    await this.deleteOldRows(await this.#options.log.now());
  }

  /** Raises the floor by age and size at the given time, and deletes below it. Returns the floor. */
  async deleteOldRows(now: Date): Promise<number> {
    const { log, allowed, keepRows } = this.#options;
    const newest = await log.newest();
    const floor = await log.floor();
    if (newest === null || !allowed()) return floor;
    const requested = Math.max(await this.#byAge(floor, newest.number, now), await this.#bySize(newest.number));
    const next = Math.max(floor, Math.min(requested, newest.number - keepRows));
    if (next > floor) await log.raiseFloor(next);
    // Also with the same floor: a recorder that woke up late may have put rows below it.
    while (!this.#stopped && allowed() && (await log.deleteBelow(next, BLOCK_ROWS)) >= BLOCK_ROWS);
    return next;
  }

  /** The first number within the maximum age, by binary search: numbers and times grow together. */
  async #byAge(floor: number, newest: number, now: Date): Promise<number> {
    const since = now.getTime() - this.#options.maxAgeMs;
    let low = Math.max(1, floor);
    let high = newest;
    while (low < high) {
      const middle = Math.floor((low + high) / 2);
      const row = await this.#options.log.row(middle);
      if (row === null || row.wall.getTime() < since) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  async #bySize(newest: number): Promise<number> {
    const { rows, bytes } = await this.#options.log.size();
    if (bytes <= this.#options.maxBytes || rows === 0) return 0;
    return newest - Math.floor(rows * (this.#options.maxBytes / bytes));
  }
}
