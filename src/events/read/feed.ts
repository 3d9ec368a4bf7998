/**
 * Pages of the log after a position: at once if there are new rows, otherwise after waiting for some. Unusable
 * positions are rejected.
 */
import type { FairSemaphore } from '../../lib/concurrency/fair-semaphore.ts';
import { MillraceError } from '../../lib/errors.ts';
import type { ScheduledTask } from '../../query/evaluate/fair-scheduler.ts';
import type { EventLog } from '../log/event-log.ts';
import { type LogRow, limitRowsByBytes, rowBytesWithDocument } from '../log/log-row.ts';
import type { LogTail } from '../log/log-tail.ts';
import { formatPosition, type LogPosition, requirePosition } from '../log/position.ts';

const READ_ROWS = 500;
/** Bytes read at a time; a single row may be larger. */
const READ_BYTES = 1024 * 1024;
/** Maximum rows examined for one page, whether they match or not. */
const SCAN_ROWS = 20_000;
/** Bytes of the rows examined for one page. */
const SCAN_BYTES = 64 * 1024 * 1024;
/**
 * A page ends after this many bytes of documents. It becomes one string in memory; beyond half a gigabyte that fails.
 */
const PAGE_BYTES = 16 * 1024 * 1024;
const UNKNOWN_WAIT_MS = 2000;

export interface FeedPage<T> {
  readonly items: readonly T[];
  /** Where the next page begins. */
  readonly position: string;
}

export interface FeedPageQuery<T> {
  /** The position of the last page; without one the response is empty and has the current position. */
  readonly since: string | null;
  /** Instead of a position: how many rows before the end of the log it begins. */
  readonly last?: number | null;
  readonly limit: number;
  readonly waitMs: number;
  /** A row as an item of the reader's page; null for none. */
  readonly pick: (row: LogRow) => T | null | Promise<T | null>;
  /** Whether a gap of the history ends the page with an error instead of being an item. */
  readonly refuseGap: (row: LogRow) => boolean;
  readonly signal: AbortSignal;
  /** Identifies the client: any value that is the same for all its reads. */
  readonly whose: unknown;
  /** Yields while rows are examined. */
  readonly lane: ScheduledTask;
}

/** A page in progress. */
interface Gathered<T> {
  position: LogPosition;
  readonly items: T[];
  /** Bytes of the rows that became items. */
  bytes: number;
  scannedRows: number;
  scannedBytes: number;
}

export class Feed {
  readonly #tail: LogTail;
  readonly #log: EventLog;
  readonly #readers: FairSemaphore;

  /** @param readers limits the reads of the log by clients */
  constructor(tail: LogTail, log: EventLog, readers: FairSemaphore) {
    this.#tail = tail;
    this.#log = log;
    this.#readers = readers;
  }

  /** The position of the newest row that this process has passed to readers. */
  get position(): string {
    return formatPosition(this.#tail.position);
  }

  /**
   * A page after a position.
   * @throws MillraceError `invalid-parameter`, or `position-expired`, `position-unknown`, `epoch-changed` (410), with
   * the current position in the header `millrace-position`
   */
  async page<T>(query: FeedPageQuery<T>): Promise<FeedPage<T>> {
    const position = query.since === null ? await this.#before(query.last ?? 0) : await this.usable(query.since);
    if (position === null) return { items: [], position: this.position };
    const until = performance.now() + query.waitMs;
    const page: Gathered<T> = { position, items: [], bytes: 0, scannedRows: 0, scannedBytes: 0 };
    for (;;) {
      const news = this.#news(query.signal, until - performance.now());
      try {
        // The semaphore is released while it waits for new rows.
        const more = await this.#readers.run(query.whose, () => this.#gather(query, page));
        const isWaiting = more === 'none' && page.items.length === 0 && performance.now() < until;
        const isOver = more === 'none' ? !isWaiting || query.signal.aborted : more === 'full';
        if (isOver) return { items: page.items, position: formatPosition(page.position) };
        if (isWaiting) await news.came;
      } finally {
        news.forget();
      }
    }
  }

  /** Examines the next rows. @returns whether the page is full, no rows are left for now, or there may be more */
  async #gather<T>(query: FeedPageQuery<T>, page: Gathered<T>): Promise<'full' | 'none' | 'more'> {
    const rows = limitRowsByBytes(await this.#tail.read(page.position.number, READ_ROWS, READ_BYTES), READ_BYTES);
    if (rows[0] !== undefined && rows[0].number !== page.position.number + 1) throw this.#gone('position-expired');
    for (const row of rows) {
      if (query.refuseGap(row)) {
        if (page.items.length > 0) return 'full';
        throw this.#gone('epoch-changed');
      }
      if (query.lane.shouldYield) await query.lane.waitTurn();
      page.position = { epoch: row.epoch, number: row.number };
      page.scannedRows += 1;
      page.scannedBytes += rowBytesWithDocument(row);
      const item = await query.pick(row);
      if (item === null) continue;
      page.items.push(item);
      page.bytes += rowBytesWithDocument(row);
      if (page.items.length >= query.limit || page.bytes >= PAGE_BYTES) return 'full';
    }
    if (rows.length === 0) return 'none';
    return page.scannedRows >= SCAN_ROWS || page.scannedBytes >= SCAN_BYTES ? 'full' : 'more';
  }

  /** The log position after which rows can be read; waits up to 2 s for a row that has not reached this process yet. */
  async usable(text: string): Promise<LogPosition> {
    const position = requirePosition(text);
    const until = performance.now() + UNKNOWN_WAIT_MS;
    const ahead = () =>
      position.epoch > this.#tail.position.epoch ||
      (position.epoch === this.#tail.position.epoch && position.number > this.#tail.position.number);
    while (ahead()) {
      const news = this.#news(AbortSignal.timeout(UNKNOWN_WAIT_MS), until - performance.now());
      if (ahead() && performance.now() < until) await news.came;
      news.forget();
      if (ahead() && performance.now() >= until) throw this.#gone('position-unknown');
    }
    if (position.epoch < this.#tail.position.epoch) throw this.#gone('epoch-changed');
    if (position.number < (await this.#log.floor()) - 1) throw this.#gone('position-expired');
    return position;
  }

  /** The position this many rows before the end of the log, or its beginning; null for the end itself. */
  async #before(rows: number): Promise<LogPosition | null> {
    if (rows === 0) return null;
    const { epoch, number } = this.#tail.position;
    return { epoch, number: Math.max(number - rows, (await this.#log.floor()) - 1, 0) };
  }

  #news(signal: AbortSignal, limitMs: number): { readonly came: Promise<void>; forget(): void } {
    let come: () => void = () => {};
    const came = new Promise<void>((resolve) => {
      come = resolve;
    });
    const detach = this.#tail.attach({ rows: come, lost: come });
    const timer = setTimeout(come, Math.max(0, limitMs));
    signal.addEventListener('abort', come, { once: true });
    return {
      came,
      forget: () => {
        detach();
        clearTimeout(timer);
        signal.removeEventListener('abort', come);
      },
    };
  }

  #gone(code: 'position-expired' | 'position-unknown' | 'epoch-changed'): MillraceError {
    return new MillraceError(code, SENTENCES[code], {
      hint: 'Read the collection again and continue from the position in Millrace-Position',
      headers: { 'millrace-position': this.position },
    });
  }
}

const SENTENCES = {
  'position-expired': 'The position is older than the retained events',
  'position-unknown': 'The position is unknown',
  'epoch-changed': 'The position belongs to a history that has ended',
} as const;
