/** The history of one document: its events, newest first, in pages. */
import type { FairSemaphore } from '../../lib/concurrency/fair-semaphore.ts';
import type { ScheduledTask } from '../../query/evaluate/fair-scheduler.ts';
import type { EventLog } from '../log/event-log.ts';
import { type LogRow, rowBytesWithDocument } from '../log/log-row.ts';
import type { LogTail } from '../log/log-tail.ts';
import { formatPosition } from '../log/position.ts';
import { type DocumentHistoryPage, readDocumentRows } from '../log/read-document-rows.ts';

/** A page ends after this time, in milliseconds; the next one continues. */
const PAGE_MS = 1_000;
/** A page ends after this many bytes of documents. */
const PAGE_BYTES = 16 * 1024 * 1024;
/** Rows that the first call scans. */
const FIRST_CALL = 2_000;
/** Target duration of a call, in milliseconds: the next one scans more or fewer rows. */
const CALL_MS = 100;

export interface HistoryQuery<T> {
  readonly collection: string;
  /** The document's id as clients see it. */
  readonly id: string;
  /** The end of the last page; null for the newest events. */
  readonly cursor: number | null;
  readonly limit: number;
  /** A row as an item of the reader's page; null for none. */
  readonly pick: (row: LogRow) => Promise<T | null>;
  /** Identifies the client: any value that is the same for all its reads. */
  readonly whose: unknown;
  readonly lane: ScheduledTask;
}

export interface HistoryPage<T> {
  readonly items: readonly T[];
  /** Where the next page begins; null if the log has no older events. */
  readonly next: string | null;
}

export class DocumentHistory {
  readonly #tail: LogTail;
  readonly #log: EventLog;
  readonly #readers: FairSemaphore;

  /** @param readers limits the reads of the log by clients */
  constructor(tail: LogTail, log: EventLog, readers: FairSemaphore) {
    this.#tail = tail;
    this.#log = log;
    this.#readers = readers;
  }

  /**
   * A page of events. It may be shorter than requested, or empty, although there are more: then the log is long, and
   * the next page continues.
   * @throws MillraceError `query-timeout`
   */
  page<T>(query: HistoryQuery<T>): Promise<HistoryPage<T>> {
    return this.#readers.run(query.whose, () => this.#gather(query));
  }

  async #gather<T>({ collection, id, cursor, limit, pick, lane }: HistoryQuery<T>): Promise<HistoryPage<T>> {
    const until = performance.now() + PAGE_MS;
    const { epoch, number: newest } = this.#tail.position;
    const floor = Math.max(1, await this.#log.floor());
    const items: T[] = [];
    let bytes = PAGE_BYTES;
    let from = Math.min(newest, (cursor ?? Number.POSITIVE_INFINITY) - 1);
    for (let size = FIRST_CALL; from >= floor; ) {
      const begun = performance.now();
      const down = Math.max(floor, from - size + 1);
      const requested = { from, down, collection, id, limit: limit - items.length, maxBytes: bytes };
      const found: DocumentHistoryPage = await readDocumentRows(this.#log.db, requested);
      const took = performance.now() - begun;
      for (const row of found.rows) {
        if (lane.shouldYield) await lane.waitTurn();
        const item = await pick(row);
        if (item !== null) items.push(item);
        bytes -= rowBytesWithDocument(row);
      }
      from = found.down - 1;
      if (items.length >= limit || bytes <= 0 || performance.now() > until) break;
      size = Math.ceil(size * Math.min(4, Math.max(0.25, CALL_MS / took)));
    }
    return { items, next: from < floor ? null : formatPosition({ epoch, number: from + 1 }) };
  }
}
