/**
 * What a subscription missed: the rows of its collections after a position, read from memory where they are, else from
 * the log with everything else left out by the database. Each piece of it takes a place that is shared fairly, and few
 * bytes, so that nobody who is far behind holds up others. It tells a break of the history instead of jumping over it.
 */
import type { EventLog } from '../../events/log/event-log.ts';
import { type LogRow, wholeBytes } from '../../events/log/row.ts';
import type { FairSemaphore } from '../../kernel/concurrency/fair-semaphore.ts';
import type { Hub } from '../hub/hub.ts';
import { type Segment, toSegments } from '../hub/transactions.ts';

/** A way this short is read whole, from memory as a rule. */
const NEAR_ROWS = 2_000;
const READ_ROWS = 500;
/** Bytes of a stretch, but for one row or one transaction that is larger. */
const READ_BYTES = 1024 * 1024;
/** Bytes of one transaction that are waited for; a larger one is told in parts. */
const TRANSACTION_BYTES = 16 * 1024 * 1024;

/** The rows are no longer there. */
export class Overtaken extends Error {
  override readonly name = 'Overtaken';
}

export interface Stretch {
  readonly segments: readonly Segment[];
  /** Everything up to here has been looked at. */
  readonly through: number;
}

export interface BacklogOptions {
  readonly hub: Pick<Hub, 'read' | 'newest'>;
  readonly log: Pick<EventLog, 'about'>;
  readonly completed: (row: LogRow) => Promise<LogRow>;
  readonly readers: FairSemaphore;
}

/** What is asked for. */
export interface Missed {
  readonly after: number;
  /** Up to where; null for all that has been told by the time it is read. */
  readonly through: number | null;
  /** Null for all. */
  readonly collections: readonly string[] | null;
  /** The client who reads, whatever stands for it. */
  readonly whose: unknown;
}

export class Backlog {
  readonly #options: BacklogOptions;

  constructor(options: BacklogOptions) {
    this.#options = options;
  }

  /**
   * The next rows after a number, at least those about one of the collections, in whole transactions.
   * @param use takes them, while their place is kept: it must not wait for a client
   * @throws Overtaken when rows in between are gone
   */
  async read<T>(missed: Missed, use: (stretch: Stretch) => T | Promise<T>): Promise<T> {
    const { hub, readers } = this.#options;
    return await readers.run(missed.whose, async () => {
      const { after, collections } = missed;
      // Asked now: while it waited for its place, more has come.
      const through = missed.through ?? hub.newest.number;
      if (after >= through) return await use({ segments: [], through: after });
      const isNear = collections === null || through - after <= NEAR_ROWS;
      return await use(isNear ? await this.#near(after) : await this.#far(after, through, collections));
    });
  }

  async #near(after: number): Promise<Stretch> {
    const rows = await this.#options.hub.read(after, READ_BYTES);
    const last = rows.at(-1);
    if (last === undefined || rows[0]?.number !== after + 1) throw new Overtaken(`Row ${after + 1} is gone`);
    return stretchOf(rows, last.number);
  }

  async #far(after: number, through: number, collections: readonly string[]): Promise<Stretch> {
    const { log, completed } = this.#options;
    const rows: LogRow[] = [];
    let bytes = 0;
    for (let at = after; ; ) {
      const found = await log.about({ after: at, through, collections, limit: READ_ROWS, maxBytes: READ_BYTES });
      if (found === null) throw new Overtaken(`Rows after ${after} are gone`);
      for (const row of found.rows) {
        rows.push(row.big ? await completed(row) : row);
        bytes += wholeBytes(row);
      }
      at = found.through;
      const { open } = toSegments(rows);
      if (at >= through || open.length === 0 || bytes > TRANSACTION_BYTES) return stretchOf(rows, at);
      if (open.length < rows.length) {
        const whole = rows.slice(0, rows.length - open.length);
        return stretchOf(whole, (open[0]?.number ?? 1) - 1);
      }
    }
  }
}

function stretchOf(rows: readonly LogRow[], through: number): Stretch {
  const { segments, open } = toSegments(rows);
  return { segments: open.length > 0 ? [...segments, { rows: open, joined: true }] : segments, through };
}
