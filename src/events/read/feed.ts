/**
 * Pages of the log for readers that come and go with a position: at once when there is news, else after waiting for
 * some. It refuses positions that cannot be used instead of guessing. Not here: what a reader may see, which comes in as
 * a function, and who keeps a position (consumer.ts keeps its own).
 */
import { MillraceError } from '../../kernel/errors.ts';
import type { EventLog } from '../log/event-log.ts';
import { formatPosition, type Place, parsePosition } from '../log/position.ts';
import type { LogRow } from '../log/row.ts';
import { wholeBytes } from '../log/row.ts';
import type { Tail } from '../log/tail.ts';

const READ_ROWS = 500;
/** Rows looked at for one page at most, whoever matches. */
const SCAN_ROWS = 20_000;
/** Bodies behind which a page ends: it is one text in memory, and beyond half a gigabyte none at all. */
const PAGE_BYTES = 16 * 1024 * 1024;
const UNKNOWN_WAIT_MS = 2000;

export interface Page<T> {
  readonly items: readonly T[];
  /** Where the next page begins. */
  readonly position: string;
}

export interface PageQuery<T> {
  /** The position of the last page; without one the answer is empty and says where now is. */
  readonly since: string | null;
  readonly limit: number;
  readonly waitMs: number;
  /** What a reader gets of a row; null when it gets nothing. */
  readonly pick: (row: LogRow) => T | null | Promise<T | null>;
  /** Whether a broken history ends the page instead of being an item. */
  readonly refuseGap: (row: LogRow) => boolean;
  readonly signal: AbortSignal;
}

export class Feed {
  readonly #tail: Tail;
  readonly #log: EventLog;

  constructor(tail: Tail, log: EventLog) {
    this.#tail = tail;
    this.#log = log;
  }

  /** The position of the newest row this process has told. */
  get position(): string {
    return formatPosition(this.#tail.position);
  }

  /**
   * A page behind a position.
   * @throws MillraceError `invalid-parameter`, or `position-expired`, `position-unknown`, `epoch-changed` (410), with
   * the current position in the header `millrace-position`
   */
  async page<T>(query: PageQuery<T>): Promise<Page<T>> {
    if (query.since === null) return { items: [], position: this.position };
    let place = await this.usable(query.since);
    const until = performance.now() + query.waitMs;
    const items: T[] = [];
    let bytes = 0;
    for (let scanned = 0; ; ) {
      const news = this.#news(query.signal, until - performance.now());
      try {
        const rows = await this.#tail.read(place.number, READ_ROWS);
        if (rows[0] !== undefined && rows[0].number !== place.number + 1) throw this.#gone('position-expired');
        for (const row of rows) {
          if (query.refuseGap(row)) {
            if (items.length > 0) return { items, position: formatPosition(place) };
            throw this.#gone('epoch-changed');
          }
          place = { epoch: row.epoch, number: row.number };
          const item = await query.pick(row);
          if (item === null) continue;
          items.push(item);
          bytes += wholeBytes(row);
          if (items.length >= query.limit || bytes >= PAGE_BYTES) return { items, position: formatPosition(place) };
        }
        scanned += rows.length;
        const waiting = rows.length === 0 && items.length === 0 && performance.now() < until && !query.signal.aborted;
        if (rows.length === 0 ? !waiting : scanned >= SCAN_ROWS) return { items, position: formatPosition(place) };
        if (waiting) await news.came;
      } finally {
        news.forget();
      }
    }
  }

  /** The place of a position text that rows can be read behind; waits up to 2 s for one not yet seen here. */
  async usable(text: string): Promise<Place> {
    const place = parsePosition(text);
    if (place === null) throw new MillraceError('invalid-parameter', 'The position is not one this server gave');
    const until = performance.now() + UNKNOWN_WAIT_MS;
    const ahead = () =>
      place.epoch > this.#tail.position.epoch ||
      (place.epoch === this.#tail.position.epoch && place.number > this.#tail.position.number);
    while (ahead()) {
      const news = this.#news(AbortSignal.timeout(UNKNOWN_WAIT_MS), until - performance.now());
      if (ahead() && performance.now() < until) await news.came;
      news.forget();
      if (ahead() && performance.now() >= until) throw this.#gone('position-unknown');
    }
    if (place.epoch < this.#tail.position.epoch) throw this.#gone('epoch-changed');
    if (place.number < (await this.#log.floor()) - 1) throw this.#gone('position-expired');
    return place;
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
      hint: 'Read the collection anew and go on from the position in Millrace-Position',
      headers: { 'millrace-position': this.position },
    });
  }
}

const SENTENCES = {
  'position-expired': 'The position is older than the events that are kept',
  'position-unknown': 'The position is not known here',
  'epoch-changed': 'The position belongs to a history that has ended',
} as const;
