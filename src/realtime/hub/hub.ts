/**
 * All subscriptions of a process that are live, in groups of equal ones, and the one reader that takes them along the
 * log: batch by batch, so that every client stands at the same position and a window that has to ask the database is
 * waited for. It holds no rows of its own; how far it is behind costs nothing but time.
 */
import { setTimeout as pause } from 'node:timers/promises';
import type { LogRow } from '../../events/log/row.ts';
import { rowsWithin, wholeBytes } from '../../events/log/row.ts';
import type { Tail } from '../../events/log/tail.ts';
import type { LiveAnswer } from '../answer/live-answer.ts';
import type { Group, GroupMember } from './group.ts';
import { GroupIndex } from './group-index.ts';
import type { IndexKey } from './index-key.ts';
import { RowBatch, resetAll } from './row-batch.ts';
import { toSegments } from './transactions.ts';

const BATCH_ROWS = 500;
/** What the rows of a batch may take in memory with their documents, but for one transaction or one row that is larger. */
const BATCH_BYTES = 16 * 1024 * 1024;
const RETRY_MS = 250;
/** Rows of one transaction that are waited for, up to the bytes of a batch; longer ones are told in parts. */
const MOST_ROWS = 60_000;

/** A place in the log with its moment; the moment is not known before the first row. */
export type LogMoment = Pick<LogRow, 'epoch' | 'number'> & { readonly time: LogRow['time'] | null };

export interface HubOptions {
  readonly tail: Pick<Tail, 'read' | 'attach' | 'position'>;
  /** A row whose bodies were too large for the log, with the document as it is now. */
  readonly completed: (row: LogRow) => Promise<LogRow>;
  readonly onError: (error: unknown) => void;
}

export class Hub {
  readonly #options: HubOptions;
  readonly #book = new GroupIndex();
  readonly #detach: () => void;
  #newest: LogMoment;
  #position: LogMoment;
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

  /** Everything up to here has been told to every live subscription. */
  get position(): LogMoment {
    return this.#position;
  }

  /** The newest row told in this process. */
  get newest(): LogMoment {
    return this.#newest;
  }

  /** Rows up to this number are being told, or have been. */
  get taken(): number {
    return this.#taken;
  }

  /** Counts how often the log did not go on where it was: then every place before is void. */
  get turn(): number {
    return this.#turn;
  }

  /** How many different answers are followed. */
  get groups(): number {
    return this.#book.size;
  }

  /** Resolves when nothing is under way any more. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#detach();
    await this.#running;
  }

  /**
   * Takes in a subscription that knows all rows up to `taken` at least.
   * @param live its answer as it followed it itself; that of others is used when there is one
   */
  join(member: GroupMember, live: LiveAnswer, handle: IndexKey | null): Group {
    return this.#book.join(member, live, handle);
  }

  leave(group: Group, member: GroupMember): void {
    this.#book.leave(group, member);
  }

  /** Resolves when the log has come to a moment, or after the limit. */
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
   * The rows after a number that have been told, whole transactions of them, complete with their documents.
   * @param maxBytes how much memory they may take, but for one row or one transaction that is larger
   */
  async read(after: number, maxBytes = BATCH_BYTES): Promise<LogRow[]> {
    const rows = await this.#whole(after, maxBytes);
    return rows.some(({ big }) => big) ? await Promise.all(rows.map(this.#options.completed)) : rows;
  }

  #came(rows: readonly LogRow[]): void {
    const last = rows.at(-1);
    if (last === undefined) return;
    if ((rows[0]?.number ?? 0) <= this.#newest.number) this.#lost = true;
    this.#newest = { epoch: last.epoch, number: last.number, time: last.time };
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
        // After an error, or for what came in the very last moment.
        if (this.#lost || this.#position.number < this.#newest.number) setImmediate(() => this.#run());
      });
  }

  async #drain(): Promise<void> {
    while (!this.#closed) {
      if (this.#lost) this.#restart();
      // Where nobody listens, whoever comes begins at the newest row.
      if (this.#book.size === 0) this.#arrive(this.#newest);
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
      rowsWithin(await this.#options.tail.read(after, BATCH_ROWS, maxBytes), maxBytes);
    const rows = await more(after);
    let bytes = 0;
    for (;;) {
      const { open } = toSegments(rows);
      const last = rows.at(-1);
      if (open.length === 0 || last === undefined || rows.length > MOST_ROWS || bytes > BATCH_BYTES) return rows;
      // Rows before an open transaction can be told; it is read again as a whole.
      if (open.length < rows.length) return rows.slice(0, rows.length - open.length);
      const next = await more(last.number);
      if (next.length === 0) return rows;
      rows.push(...next);
      for (const row of next) bytes += wholeBytes(row);
    }
  }

  async #take(rows: readonly LogRow[]): Promise<void> {
    const last = rows.at(-1);
    if (last === undefined) return;
    this.#taken = last.number;
    const batch = new RowBatch(this.#book, this.#options.onError);
    try {
      await batch.judge(rows);
      if (!this.#lost) batch.tell();
    } catch (error) {
      // Nobody knows how far the answers got: they are void.
      this.#options.onError(error);
      this.#lost = true;
    } finally {
      batch.release();
    }
    if (this.#lost) this.#restart(batch.ended);
    else this.#arrive(last);
  }

  #arrive({ epoch, number, time }: LogMoment): void {
    this.#position = { epoch, number, time };
    this.#taken = number;
  }

  /**
   * The log did not go on where it was: every answer is void.
   * @param ended groups that are in the book no more, and were not told why
   */
  #restart(ended: readonly Group[] = []): void {
    this.#lost = false;
    this.#turn += 1;
    this.#arrive(this.#newest);
    for (const group of [...this.#book.clear(), ...ended]) resetAll(group, 'gap');
  }
}
