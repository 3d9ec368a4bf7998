/**
 * The live subscriptions of a process, in groups with equal results, and the one loop that reads the event log for all
 * of them. It works in batches: all clients share one position, and the loop waits for windows that query the database.
 * It keeps no rows: a long backlog costs time, not memory.
 */
import { setTimeout as pause } from 'node:timers/promises';
import type { LogRow } from '../../events/log/log-row.ts';
import { limitRowsByBytes, rowBytesWithDocument } from '../../events/log/log-row.ts';
import type { LogTail } from '../../events/log/log-tail.ts';
import type { LiveResult } from '../result/live-result-interface.ts';
import { splitByTransaction } from './atomic-row-groups.ts';
import type { FilterIndexKey } from './filter-index-key.ts';
import { LogRowBatch } from './log-row-batch.ts';
import { resetGroup, type SubscriptionGroup, type SubscriptionGroupMember } from './subscription-group.ts';
import { SubscriptionGroupIndex } from './subscription-group-index.ts';

const BATCH_ROWS = 500;
/** Bytes of a batch: its rows with their documents. A single transaction or row may be larger. */
const BATCH_BYTES = 16 * 1024 * 1024;
const RETRY_MS = 250;
/** A transaction with more rows than this, or more bytes than a batch, is sent in parts instead of as a whole. */
const MOST_ROWS = 60_000;

/** A log position with its cluster time; the time is null before the first row. */
export type TimedLogPosition = Pick<LogRow, 'epoch' | 'number'> & { readonly time: LogRow['time'] | null };

export interface HubOptions {
  readonly tail: Pick<LogTail, 'read' | 'attach' | 'position' | 'hasInMemory'>;
  /** Completes a row whose documents were too large for the log: reads the current document. */
  readonly completed: (row: LogRow) => Promise<LogRow>;
  readonly onError: (error: unknown) => void;
}

export class Hub {
  readonly #options: HubOptions;
  readonly #index = new SubscriptionGroupIndex();
  readonly #detach: () => void;
  #newest: TimedLogPosition;
  #newestAt = Number.NEGATIVE_INFINITY;
  #position: TimedLogPosition;
  #taken: number;
  #turn = 0;
  #lost = false;
  #running: Promise<void> | null = null;
  #closed = false;
  readonly #waiting = new Set<() => void>();

  constructor(options: HubOptions) {
    this.#options = options;
    this.#newest = { ...options.tail.position, time: null };
    this.#position = this.#newest;
    this.#taken = this.#newest.number;
    this.#detach = options.tail.attach({ rows: (rows) => this.#came(rows), lost: () => this.#skip() });
  }

  /** Every live subscription has received everything up to here. */
  get position(): TimedLogPosition {
    return this.#position;
  }

  /** The newest row that this process has received. */
  get newest(): TimedLogPosition {
    return this.#newest;
  }

  /** When that row arrived, in milliseconds of the monotonic clock. */
  get newestAt(): number {
    return this.#newestAt;
  }

  /** Rows up to this number have been sent, or are in the batch being evaluated. */
  get taken(): number {
    return this.#taken;
  }

  /** Counts gaps of the log. A gap invalidates every earlier position. */
  get turn(): number {
    return this.#turn;
  }

  /** The number of groups: distinct live results. */
  get groups(): number {
    return this.#index.size;
  }

  /** Stops. Resolves when the current batch is done. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#detach();
    await this.#running;
  }

  /**
   * Adds a subscription that has all rows up to `taken` at least.
   * @param live the result that it updated by itself; dropped if it can join a group with an equal result
   */
  join(member: SubscriptionGroupMember, live: LiveResult, indexKey: FilterIndexKey | null): SubscriptionGroup {
    return this.#index.join(member, live, indexKey);
  }

  leave(group: SubscriptionGroup, member: SubscriptionGroupMember): void {
    this.#index.leave(group, member);
  }

  /** Resolves when a row of this cluster time or a later one has arrived, or after the limit. */
  async passed(time: LogRow['time'], limitMs: number): Promise<void> {
    const end = performance.now() + limitMs;
    while (!this.#closed && performance.now() < end && !this.#newest.time?.greaterThanOrEqual(time)) {
      await new Promise<void>((resolve) => {
        const wake = () => {
          clearTimeout(timer);
          this.#waiting.delete(wake);
          resolve();
        };
        const timer = setTimeout(wake, Math.max(1, end - performance.now()));
        this.#waiting.add(wake);
      });
    }
  }

  /**
   * The next rows after a number, in whole transactions, completed with their documents.
   * @param maxBytes memory limit; a single row or transaction may be larger
   */
  async read(after: number, maxBytes = BATCH_BYTES): Promise<LogRow[]> {
    const rows = await this.#whole(after, maxBytes);
    return rows.some(({ big }) => big) ? await Promise.all(rows.map(this.#options.completed)) : rows;
  }

  /** Whether `read` returns rows that are in memory anyway. */
  hasInMemory(after: number): boolean {
    return this.#options.tail.hasInMemory(after);
  }

  #came(rows: readonly LogRow[]): void {
    const last = rows.at(-1);
    if (last === undefined) return;
    if ((rows[0]?.number ?? 0) <= this.#newest.number) this.#lost = true;
    this.#newest = { epoch: last.epoch, number: last.number, time: last.time };
    this.#newestAt = performance.now();
    for (const wake of [...this.#waiting]) wake();
    this.#run();
  }

  #skip(): void {
    this.#lost = true;
    this.#newest = { ...this.#options.tail.position, time: null };
    this.#run();
  }

  #run(): void {
    if (this.#closed) return;
    this.#running ??= this.#drain()
      .catch(this.#options.onError)
      .finally(() => {
        this.#running = null;
        // Rows remain after an error, or arrived just after the loop had ended.
        if (this.#lost || this.#position.number < this.#newest.number) setImmediate(() => this.#run());
      });
  }

  async #drain(): Promise<void> {
    while (!this.#closed) {
      if (this.#lost) this.#restart();
      // Without subscriptions nothing has to be read: the next subscription starts at the newest row.
      if (this.#index.size === 0) this.#arrive(this.#newest);
      if (this.#position.number >= this.#newest.number) return;
      const rows = await this.read(this.#position.number).catch((error: unknown) => this.#later(error));
      if (this.#lost || rows === null) continue;
      if (rows.length === 0) return;
      if (rows[0]?.number !== this.#position.number + 1) this.#lost = true;
      else await this.#take(rows);
    }
  }

  async #later(error: unknown): Promise<null> {
    this.#options.onError(error);
    await pause(RETRY_MS);
    return null;
  }

  async #whole(after: number, maxBytes: number): Promise<LogRow[]> {
    const more = async (after: number) =>
      limitRowsByBytes(await this.#options.tail.read(after, BATCH_ROWS, maxBytes), maxBytes);
    const rows = await more(after);
    let bytes = 0;
    for (;;) {
      const { open } = splitByTransaction(rows);
      const last = rows.at(-1);
      if (open.length === 0 || last === undefined || rows.length > MOST_ROWS || bytes > BATCH_BYTES) return rows;
      // The rows before an incomplete transaction can be sent. The transaction itself is read again as a whole.
      if (open.length < rows.length) return rows.slice(0, rows.length - open.length);
      const next = await more(last.number);
      if (next.length === 0) return rows;
      rows.push(...next);
      for (const row of next) bytes += rowBytesWithDocument(row);
    }
  }

  async #take(rows: readonly LogRow[]): Promise<void> {
    const last = rows.at(-1);
    if (last === undefined) return;
    this.#taken = last.number;
    const batch = new LogRowBatch(this.#index, this.#options.onError);
    try {
      await batch.judge(rows);
      if (!this.#lost) batch.report();
    } catch (error) {
      // Some results include the rows and some do not: all of them are invalid.
      this.#options.onError(error);
      this.#lost = true;
    } finally {
      batch.release();
    }
    if (this.#lost) this.#restart(batch.ended);
    else this.#arrive(last);
  }

  #arrive({ epoch, number, time }: TimedLogPosition): void {
    this.#position = { epoch, number, time };
    this.#taken = number;
  }

  /**
   * The log has a gap: every result is invalid.
   * @param ended groups that have left the index and whose subscriptions have not been reset yet
   */
  #restart(ended: readonly SubscriptionGroup[] = []): void {
    this.#lost = false;
    this.#turn += 1;
    this.#arrive(this.#newest);
    for (const group of [...this.#index.clear(), ...ended]) resetGroup(group, 'gap');
  }
}
