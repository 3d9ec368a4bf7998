/** The audit log in `<db>_log.audit`, which is retained longer than the event log. Only this folder calls it. */
import type { Collection, Filter } from 'mongodb';
import { withTranslatedErrors } from '../../database/errors.ts';
import { insertNew } from '../../database/insert-new.ts';
import type { Mongo } from '../../database/mongo.ts';
import type { LogPosition } from '../log/position.ts';

const RETENTION_SECONDS = 400 * 24 * 3_600;

export interface AuditRow extends LogPosition {
  /** Derived from the event's position, so that no event is stored twice. */
  readonly _id: string;
  readonly type: string;
  readonly at: Date;
  /** The event as JSON. */
  readonly event: string;
}

export class AuditStore {
  readonly #rows: Collection<AuditRow>;

  constructor({ log }: Pick<Mongo, 'log'>) {
    this.#rows = log.collection<AuditRow>('audit');
  }

  async start(): Promise<void> {
    await withTranslatedErrors(() =>
      this.#rows.createIndexes([
        { key: { epoch: -1, number: -1 } },
        { key: { at: 1 }, expireAfterSeconds: RETENTION_SECONDS },
      ]),
    );
  }

  async append(rows: readonly AuditRow[]): Promise<void> {
    await insertNew(this.#rows, rows);
  }

  /** Newest first, before a position. */
  list(before: LogPosition | null, type: RegExp | null, limit: number): Promise<AuditRow[]> {
    const filter: Filter<AuditRow> = type === null ? {} : { type };
    if (before !== null) {
      const { epoch, number } = before;
      filter.$or = [{ epoch: { $lt: epoch } }, { epoch, number: { $lt: number } }];
    }
    return withTranslatedErrors(() => this.#rows.find(filter).sort({ epoch: -1, number: -1 }).limit(limit).toArray());
  }
}
