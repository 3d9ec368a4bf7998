/**
 * Where failed sign-ins are counted: `<db>_log.login_throttle`, one document per account name or network, shared by all
 * processes and timed by the database's clock. Only this folder calls this file.
 */
import type { Collection, Document } from 'mongodb';
import { withTranslatedErrors } from '../../database/errors.ts';
import type { Mongo } from '../../database/mongo.ts';

/** After so long without another failure, the count is dropped. */
const RETENTION_SECONDS = 900;

interface DelayRow {
  _id: string;
  failures: number;
  at: Date;
  until: Date;
}

export interface LoginDelayOptions {
  /** The number of failures from which there is a delay. */
  readonly from: number;
  readonly firstMs: number;
  readonly maxMs: number;
}

export class LoginThrottleStore {
  readonly #rows: Collection<DelayRow>;

  constructor({ log }: Pick<Mongo, 'log'>) {
    this.#rows = log.collection<DelayRow>('login_throttle');
  }

  async start(): Promise<void> {
    await withTranslatedErrors(() => this.#rows.createIndex({ at: 1 }, { expireAfterSeconds: RETENTION_SECONDS }));
  }

  /** The remaining delay of each of these, in milliseconds. */
  async remainingDelays(ids: readonly string[]): Promise<number[]> {
    const stages = [
      { $match: { _id: { $in: ids } } },
      { $set: { remainingDelays: { $subtract: ['$until', '$$NOW'] } } },
    ];
    const rows = await withTranslatedErrors(() =>
      this.#rows.aggregate<{ _id: string; remainingDelays: number }>(stages).toArray(),
    );
    const left = new Map(rows.map((row) => [row._id, Number(row.remainingDelays)]));
    return ids.map((id) => Math.max(0, left.get(id) ?? 0));
  }

  /** Counts one failure of each, and sets the delay that follows. */
  async count(terms: ReadonlyMap<string, LoginDelayOptions>): Promise<void> {
    const updates = [...terms].map(([_id, { from, firstMs, maxMs }]) => {
      const over = { $subtract: ['$failures', from] };
      const grown = { $multiply: [firstMs, { $pow: [2, { $min: [over, 20] }] }] };
      const delay = { $cond: [{ $lt: [over, 0] }, 0, { $min: [maxMs, grown] }] };
      const update: Document[] = [
        { $set: { failures: { $add: [{ $ifNull: ['$failures', 0] }, 1] }, at: '$$NOW' } },
        { $set: { until: { $add: ['$$NOW', delay] } } },
      ];
      return { updateOne: { filter: { _id }, update, upsert: true } };
    });
    await withTranslatedErrors(() => this.#rows.bulkWrite(updates, { ordered: false }));
  }

  async forget(id: string): Promise<void> {
    await withTranslatedErrors(() => this.#rows.deleteOne({ _id: id }));
  }
}
