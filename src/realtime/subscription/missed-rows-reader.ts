/**
 * The rows that a subscription missed: those of its collections after a position. They are read from memory if
 * available, otherwise from the log, where the database filters by collection. Each read is short and waits for a fair
 * semaphore, so that a late subscription does not delay others. Missing rows are an error and never skipped.
 */
import type { EventLog } from '../../events/log/event-log.ts';
import { type LogRow, rowBytesWithDocument } from '../../events/log/log-row.ts';
import type { FairSemaphore } from '../../lib/concurrency/fair-semaphore.ts';
import { type AtomicRowGroup, splitByTransaction } from '../hub/atomic-row-groups.ts';
import type { Hub } from '../hub/hub.ts';

/** Up to this many rows are read together with those of other collections; they are usually in memory. */
const NEAR_ROWS = 2_000;
const READ_ROWS = 500;
/** Bytes of a read; a single row or transaction may be larger. */
const READ_BYTES = 1024 * 1024;
/** A transaction of more bytes than this is sent in parts. */
const TRANSACTION_BYTES = 16 * 1024 * 1024;

/** The rows no longer exist. */
export class BacklogExpired extends Error {
  override readonly name = 'BacklogExpired';
}

export interface BacklogChunk {
  readonly segments: readonly AtomicRowGroup[];
  /** The number of the last examined row. */
  readonly through: number;
  /** Whether the rows are in memory anyway, and not for this reader alone. */
  readonly isShared?: boolean;
}

export interface BacklogOptions {
  readonly hub: Pick<Hub, 'read' | 'newest' | 'hasInMemory'>;
  readonly log: Pick<EventLog, 'about'>;
  readonly completed: (row: LogRow) => Promise<LogRow>;
  readonly readers: FairSemaphore;
}

/** Which rows to read. */
export interface BacklogQuery {
  readonly after: number;
  /** The number of the last row; null for the newest row at the time of reading. */
  readonly through: number | null;
  /** Null for all collections. */
  readonly collections: readonly string[] | null;
  /** Identifies the client: any value that is the same for all its reads. */
  readonly whose: unknown;
}

export class Backlog {
  readonly #options: BacklogOptions;

  constructor(options: BacklogOptions) {
    this.#options = options;
  }

  /**
   * The next rows after a number, at least those about one of the collections, in whole transactions.
   * @param use processes the rows while the semaphore is held: it must not wait for a client
   * @throws BacklogExpired if rows in between no longer exist
   */
  async read<T>(missed: BacklogQuery, use: (stretch: BacklogChunk) => T | Promise<T>): Promise<T> {
    const { hub, readers } = this.#options;
    return await readers.run(missed.whose, async () => {
      const { after, collections } = missed;
      // Computed now: new rows have arrived while it waited for the semaphore.
      const through = missed.through ?? hub.newest.number;
      if (after >= through) return await use({ segments: [], through: after });
      const isNear = collections === null || through - after <= NEAR_ROWS;
      return await use(isNear ? await this.#near(after) : await this.#far(after, through, collections));
    });
  }

  async #near(after: number): Promise<BacklogChunk> {
    const { hub } = this.#options;
    const isShared = hub.hasInMemory(after);
    const rows = await hub.read(after, READ_BYTES);
    const last = rows.at(-1);
    if (last === undefined || rows[0]?.number !== after + 1)
      throw new BacklogExpired(`Row ${after + 1} no longer exists`);
    return { ...stretchOf(rows, last.number), isShared };
  }

  async #far(after: number, through: number, collections: readonly string[]): Promise<BacklogChunk> {
    const { log, completed } = this.#options;
    const rows: LogRow[] = [];
    let bytes = 0;
    for (let at = after; ; ) {
      const found = await log.about({ after: at, through, collections, limit: READ_ROWS, maxBytes: READ_BYTES });
      if (found === null) throw new BacklogExpired(`Rows after ${after} no longer exist`);
      for (const row of found.rows) {
        rows.push(row.big ? await completed(row) : row);
        bytes += rowBytesWithDocument(row);
      }
      at = found.through;
      const { open } = splitByTransaction(rows);
      if (at >= through || open.length === 0 || bytes > TRANSACTION_BYTES) return stretchOf(rows, at);
      if (open.length < rows.length) {
        const whole = rows.slice(0, rows.length - open.length);
        return stretchOf(whole, (open[0]?.number ?? 1) - 1);
      }
    }
  }
}

function stretchOf(rows: readonly LogRow[], through: number): BacklogChunk {
  const { segments, open } = splitByTransaction(rows);
  return { segments: open.length > 0 ? [...segments, { rows: open, joined: true }] : segments, through };
}
