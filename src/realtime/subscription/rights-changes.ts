/**
 * Recent changes of rights, for clients that resume. New policies take effect up to a second after their row in the
 * log. In that second a client may get a later position before it receives the effect of the change.
 */
import type { Principal } from '../../auth/identity/principal.ts';
import { readStored } from '../../database/bson/stored.ts';
import { idText } from '../../database/json/ids.ts';
import type { EventLog } from '../../events/log/event-log.ts';
import type { LogPosition } from '../../events/log/position.ts';
import type { LogRow } from '../../events/log/row.ts';
import type { Tail } from '../../events/log/tail.ts';

/** Collections whose rows may change what a principal can read. */
export const RIGHTS = ['_policies', '_users', '_keys'] as const;

/** After this time every client has received the effect of a change of rights; with a margin. */
const UNSURE_MS = 5_000;
const MOST_ROWS = 1_000;
/** Rows from before the start of this process that are searched, once. */
const EARLIER_ROWS = 10_000;

export interface RightsOptions {
  readonly tail: Pick<Tail, 'attach' | 'position' | 'read'>;
  readonly log: Pick<EventLog, 'about'>;
}

export class RightsChanges {
  readonly #options: RightsOptions;
  /** The last changes, oldest first. */
  #rows: RightsRow[] = [];
  #earlier: Promise<void> | null = null;
  readonly #start: number;
  readonly close: () => void;

  constructor(options: RightsOptions) {
    this.#options = options;
    this.#start = options.tail.position.number;
    this.close = options.tail.attach({
      rows: (rows) => {
        const changes = rows.filter(isAboutRights);
        if (changes.length > 0) this.#rows = [...this.#rows, ...changes.map(inShort)].slice(-MOST_ROWS);
      },
    });
  }

  /** True if a client with this position may not have received the effect of a change of rights before it. */
  async unsureAt(position: LogPosition, principal: Principal): Promise<boolean> {
    this.#earlier ??= this.#look();
    await this.#earlier;
    const change = this.#rows.findLast((row) => isUpTo(row, position) && changesRights(row, principal));
    if (change === undefined) return false;
    const [row] = await this.#options.tail.read(position.number - 1, 1);
    return row === undefined || row.wall.getTime() - change.wall.getTime() < UNSURE_MS;
  }

  async #look(): Promise<void> {
    try {
      const range = { after: Math.max(0, this.#start - EARLIER_ROWS), through: this.#start };
      const found = await this.#options.log.about({ ...range, collections: RIGHTS, limit: MOST_ROWS });
      this.#rows = [...(found?.rows ?? []).filter(isAboutRights).map(inShort), ...this.#rows];
    } catch (error) {
      this.#earlier = null;
      throw error;
    }
  }
}

/** The kept part of a row. Its documents are omitted: they would keep everything alive that was read with them. */
type RightsRow = Pick<LogRow, 'epoch' | 'number' | 'wall' | 'collection' | 'operation' | 'key'>;

function inShort({ epoch, number, wall, collection, operation, key }: LogRow): RightsRow {
  return { epoch, number, wall, collection, operation, key: key && Buffer.from(key) };
}

const isUpTo = (row: RightsRow, { epoch, number }: LogPosition): boolean => row.epoch === epoch && row.number <= number;

function isAboutRights({ collection, operation }: RightsRow): boolean {
  // Every server writes such rows at its start, when it checks the settings of the collections.
  if (operation === 'meta' || operation === 'create') return false;
  return collection === '_policies' || ((collection === '_users' || collection === '_keys') && operation !== 'insert');
}

/** True if the row may change what a principal can read. */
export function changesRights(row: RightsRow, principal: Principal): boolean {
  if (!isAboutRights(row)) return false;
  if (row.collection === '_policies') return true;
  return principal.kind !== 'anonymous' && row.key !== null && idText(readStored(row.key)['_id']) === principal.id;
}
