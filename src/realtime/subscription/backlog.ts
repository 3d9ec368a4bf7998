/**
 * What a subscription missed: the rows of its collection behind a position, read from memory where they are, else from
 * the log with everything else left out by the database. It tells a break of the history instead of jumping over it.
 */
import type { EventLog } from '../../events/log/event-log.ts';
import type { LogRow } from '../../events/log/row.ts';
import type { Hub } from '../hub/hub.ts';
import { type Segment, toSegments } from '../hub/transactions.ts';
import { Slots } from './fair-semaphore.ts';

/** A way this short is read whole, from memory as a rule. */
const NEAR_ROWS = 2_000;
const READ_ROWS = 500;
/** The database may look through much of its log for one such read, and has a connection less for others meanwhile. */
const FAR_AT_ONCE = 3;

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
  readonly hub: Pick<Hub, 'read'>;
  readonly log: Pick<EventLog, 'about'>;
  readonly completed: (row: LogRow) => Promise<LogRow>;
}

export class Backlog {
  readonly #options: BacklogOptions;
  readonly #slots = new Slots(FAR_AT_ONCE, FAR_AT_ONCE);

  constructor(options: BacklogOptions) {
    this.#options = options;
  }

  /**
   * The rows behind `after` up to `through`, at least those about one of the collections, in whole transactions.
   * @param collections null for all
   * @throws Overtaken when rows in between are gone
   */
  async *read(after: number, through: number, collections: readonly string[] | null): AsyncGenerator<Stretch> {
    let at = after;
    while (at < through) {
      const stretch =
        collections === null || through - at <= NEAR_ROWS
          ? await this.#near(at)
          : await this.#slots.run(this, () => this.#far(at, through, collections));
      yield stretch;
      at = stretch.through;
    }
  }

  async #near(after: number): Promise<Stretch> {
    const rows = await this.#options.hub.read(after);
    const last = rows.at(-1);
    if (last === undefined || rows[0]?.number !== after + 1) throw new Overtaken(`Row ${after + 1} is gone`);
    return stretchOf(rows, last.number);
  }

  async #far(after: number, through: number, collections: readonly string[]): Promise<Stretch> {
    const { about } = this.#options.log;
    const rows: LogRow[] = [];
    for (let at = after; ; ) {
      const found = await about.call(this.#options.log, { after: at, through, collections, limit: READ_ROWS });
      if (found === null) throw new Overtaken(`Rows behind ${after} are gone`);
      for (const row of found.rows) rows.push(row.big ? await this.#options.completed(row) : row);
      at = found.through;
      const { open } = toSegments(rows);
      if (at >= through || open.length === 0) return stretchOf(rows, at);
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
