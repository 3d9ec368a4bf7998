/**
 * Follows the log in one process and passes every row to its readers once, in order, each transaction as a whole. Rows
 * come from a change stream on the log, or from the recorder of the same process. Rows that a broken stream missed are
 * read from the log, so no resume token is stored.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { readChangeStream } from '../../database/cursors/change-stream.ts';
import { changeStreamStartTime } from './change-stream-start-time.ts';
import type { EventLog } from './event-log.ts';
import { decodeLogRow, type LogRow } from './log-row.ts';
import type { LogPosition } from './position.ts';
import { RingBuffer } from './ring-buffer.ts';
import type { WriteServerLog } from './server-log-forwarder.ts';

const READ_ROWS = 1000;
/** Maximum rows of an unfinished transaction that are held back; a longer one is passed to readers in parts. */
const HELD_ROWS = 50_000;

export interface LogTailListener {
  /** Rows in order; the rows of one transaction come together. */
  rows(rows: readonly LogRow[]): void;
  /** Rows before the next ones are missing: retention overtook this process. */
  lost?(): void;
}

export interface LogTailOptions {
  readonly log: EventLog;
  readonly ring?: RingBuffer;
  readonly onLog?: WriteServerLog;
}

export class LogTail {
  readonly #log: EventLog;
  readonly #ring: RingBuffer;
  readonly #note: WriteServerLog;
  readonly #listeners = new Set<LogTailListener>();
  readonly #end = new AbortController();
  #stream = new AbortController();
  #suspended = false;
  #wake: () => void = () => {};
  #last: LogPosition = { epoch: 0, number: 0 };
  #reported: LogPosition = { epoch: 0, number: 0 };
  #held: LogRow[] = [];
  #catching: Promise<void> | null = null;
  #again = false;
  #loop: Promise<void> = Promise.resolve();
  #healthy = false;

  constructor(options: LogTailOptions) {
    this.#log = options.log;
    this.#ring = options.ring ?? new RingBuffer();
    this.#note = options.onLog ?? (() => {});
  }

  /** The last position passed to readers; every row up to it has been delivered in this process. */
  get position(): LogPosition {
    return this.#reported;
  }

  /** The last received position; it may be within an unfinished transaction. */
  get seen(): LogPosition {
    return this.#last;
  }

  /** Whether the process follows the log; false while the database is unavailable. */
  get healthy(): boolean {
    return this.#healthy;
  }

  /** Starts at the newest row. */
  async start(): Promise<void> {
    const newest = await this.#log.newest();
    if (newest !== null) {
      this.#last = { epoch: newest.epoch, number: newest.number };
      this.#reported = this.#last;
    }
    this.#healthy = true;
    this.#loop = this.#run();
  }

  async stop(): Promise<void> {
    this.#end.abort();
    this.#stream.abort();
    this.#wake();
    await this.#loop;
    await this.#catching;
  }

  /** Adds a reader; returns a function that removes it. */
  attach(listener: LogTailListener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Adds a cache that the rows keep up to date; null says that rows are missing. Returns a function that removes it. */
  attachCache(cache: { applyLogRows(rows: readonly LogRow[] | null): void }): () => void {
    return this.attach({ rows: (rows) => cache.applyLogRows(rows), lost: () => cache.applyLogRows(null) });
  }

  /** Whether the recorder of this process supplies the rows; then no change stream is needed. */
  suspend(suspended: boolean): void {
    if (suspended !== this.#suspended) {
      this.#suspended = suspended;
      this.#stream.abort();
      this.#wake();
    }
    if (suspended) this.#catchUp().catch(() => {});
  }

  /**
   * Processes rows from the recorder or the stream. Known rows are dropped, and missing rows before them are read from
   * the log.
   */
  take(rows: readonly LogRow[]): void {
    if (this.#catching !== null) {
      this.#again = true;
      return;
    }
    if (!this.#accept(rows)) this.#catchUp().catch(() => {});
  }

  /**
   * Rows above a number that readers have received, from memory or from the log. The byte limit applies to the log
   * only.
   */
  async read(after: number, limit: number, maxBytes?: number): Promise<LogRow[]> {
    if (after >= this.#reported.number) return [];
    const rows = this.#ring.after(after, limit) ?? (await this.#log.read(after, limit, maxBytes));
    return rows.filter((row) => row.number <= this.#reported.number);
  }

  /** Whether the rows above a number are in memory, for all readers together. */
  hasInMemory(after: number): boolean {
    return this.#ring.after(after, 0) !== null;
  }

  #accept(rows: readonly LogRow[]): boolean {
    const ready: LogRow[] = [];
    let whole = true;
    for (const row of rows) {
      const last = this.#last;
      const turned = row.operation === 'gap' && row.epoch > last.epoch && row.number <= last.number;
      if (!turned && (row.number <= last.number || row.epoch < last.epoch)) continue;
      if (!turned && row.number !== last.number + 1) {
        whole = false;
        break;
      }
      if (turned) this.#ring.clear();
      this.#last = { epoch: row.epoch, number: row.number };
      this.#held.push(row);
      const open = row.transaction !== null && !row.transaction.last;
      if (!open || this.#held.length > HELD_ROWS) ready.push(...this.#held.splice(0));
    }
    this.#report(ready);
    return whole;
  }

  #report(rows: readonly LogRow[]): void {
    const last = rows.at(-1);
    if (last === undefined) return;
    for (const row of rows) this.#ring.push(row);
    this.#reported = { epoch: last.epoch, number: last.number };
    for (const listener of this.#listeners) {
      try {
        listener.rows(rows);
      } catch (error) {
        this.#note('error', 'A reader of the event log failed', { error: String(error) });
      }
    }
  }

  #catchUp(): Promise<void> {
    this.#again = true;
    this.#catching ??= this.#fill();
    return this.#catching;
  }

  async #fill(): Promise<void> {
    while (this.#again && !this.#end.signal.aborted) {
      this.#again = false;
      try {
        for (;;) {
          const rows = await this.#missing();
          if (rows.length === 0) break;
          if (!this.#accept(rows)) await this.#broken(rows);
        }
        this.#healthy = true;
      } catch (error) {
        this.#healthy = false;
        this.#again = true;
        this.#note('warn', 'The event log cannot be read at present', { error: String(error) });
        await pause(500, undefined, { signal: this.#end.signal }).catch(() => {});
      }
    }
    // In the same turn of the event loop as the last check of #again: later rows are processed directly.
    this.#catching = null;
  }

  async #missing(): Promise<LogRow[]> {
    const { number, epoch } = this.#last;
    const rows = await this.#log.read(number, READ_ROWS);
    if (rows.length > 0 && rows[0]?.epoch === epoch) return rows;
    const gap = await this.#log.firstAbove(epoch);
    // A log that was restored to an older state continues below the numbers that this process has received.
    return gap !== null && gap.number <= number ? await this.#log.read(gap.number - 1, READ_ROWS) : rows;
  }

  async #broken(rows: readonly LogRow[]): Promise<void> {
    const next = rows.find((row) => row.number > this.#last.number + 1);
    if (next === undefined) return;
    const floor = await this.#log.floor();
    if (floor <= this.#last.number + 1) {
      this.#note('error', 'A row of the event log is missing', { after: this.#last.number, next: next.number });
      throw new Error(`Row ${this.#last.number + 1} is missing`);
    }
    this.#held = [];
    this.#ring.clear();
    this.#last = { epoch: next.epoch, number: Math.max(next.number, floor) - 1 };
    this.#reported = this.#last;
    for (const listener of this.#listeners) listener.lost?.();
  }

  async #run(): Promise<void> {
    while (!this.#end.signal.aborted) {
      this.#stream = new AbortController();
      try {
        if (this.#suspended) await new Promise<void>((resolve) => (this.#wake = resolve));
        else await this.#follow(AbortSignal.any([this.#end.signal, this.#stream.signal]));
      } catch (error) {
        if (this.#end.signal.aborted || this.#suspended) continue;
        this.#healthy = false;
        this.#note('warn', 'Following the event log continues after an error', { error: String(error) });
        await pause(100 + Math.random() * 400, undefined, { signal: this.#end.signal }).catch(() => {});
      }
    }
  }

  async #follow(signal: AbortSignal): Promise<void> {
    const stages = [{ $match: { operationType: 'insert' } }];
    let opened = false;
    const from = { at: await changeStreamStartTime(this.#log.db, signal) };
    for await (const reply of readChangeStream({ db: this.#log.db, collection: 'log', from, stages, signal })) {
      if (!opened) await this.#catchUp();
      opened = true;
      const rows = reply.changes.flatMap((change) => (change.after === null ? [] : [decodeLogRow(change.after)]));
      this.take(rows);
    }
  }
}
