/**
 * Recent changes of rights, for clients that resume. New policies take effect up to a second after their row in the
 * log. In that second a client may get a later position before it receives the effect of the change.
 */
import type { Principal } from '../../auth/identity/principal.ts';
import { decodeDocument } from '../../database/bson/stored-document.ts';
import { idText } from '../../database/json/ids.ts';
import type { EventLog } from '../../events/log/event-log.ts';
import type { LogRow } from '../../events/log/log-row.ts';
import type { LogTail } from '../../events/log/log-tail.ts';
import type { LogPosition } from '../../events/log/position.ts';

/** Collections whose rows may change what a principal can read. */
export const RIGHTS_COLLECTIONS = ['_policies', '_users', '_keys'] as const;

/** After this time every client has received the effect of a change of rights; with a margin. */
const UNSURE_MS = 5_000;
const MOST_ROWS = 1_000;
/** Rows from before the start of this process that are searched, once. */
const EARLIER_ROWS = 10_000;

export interface RightsChangesOptions {
  readonly tail: Pick<LogTail, 'attach' | 'position' | 'read'>;
  readonly log: Pick<EventLog, 'about'>;
}

export class RecentRightsChanges {
  readonly #options: RightsChangesOptions;
  /** The last changes, oldest first. */
  #rows: RightsRow[] = [];
  #earlier: Promise<void> | null = null;
  readonly #start: number;
  readonly close: () => void;

  constructor(options: RightsChangesOptions) {
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
  async mayBeOutdated(position: LogPosition, principal: Principal): Promise<boolean> {
    this.#earlier ??= this.#look();
    await this.#earlier;
    const change = this.#rows.findLast((row) => isUpTo(row, position) && mayChangeRights(row, principal));
    if (change === undefined) return false;
    const [row] = await this.#options.tail.read(position.number - 1, 1);
    return row === undefined || row.wall.getTime() - change.wall.getTime() < UNSURE_MS;
  }

  async #look(): Promise<void> {
    try {
      const range = { after: Math.max(0, this.#start - EARLIER_ROWS), through: this.#start };
      const found = await this.#options.log.about({ ...range, collections: RIGHTS_COLLECTIONS, limit: MOST_ROWS });
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
export function mayChangeRights(row: RightsRow, principal: Principal): boolean {
  if (!isAboutRights(row)) return false;
  if (row.collection === '_policies') return true;
  return principal.kind !== 'anonymous' && row.key !== null && idText(decodeDocument(row.key)['_id']) === principal.id;
}
