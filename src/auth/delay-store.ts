/**
 * Where failed sign-ins are counted: `<db>_log.delays`, one document an account name or address, shared by all processes
 * and judged by the database's clock. Only this folder calls it.
 */
import type { Collection, Document } from 'mongodb';
import { translated } from '../database/errors.ts';
import type { Mongo } from '../database/mongo.ts';

/** Without another failure for so long, all is forgotten. */
const KEPT_SECONDS = 900;

interface DelayRow {
  _id: string;
  failures: number;
  at: Date;
  until: Date;
}

export interface DelayTerms {
  /** The failure from which on there is a delay. */
  readonly from: number;
  readonly firstMs: number;
  readonly maxMs: number;
}

export class DelayStore {
  readonly #rows: Collection<DelayRow>;

  constructor({ log }: Pick<Mongo, 'log'>) {
    this.#rows = log.collection<DelayRow>('delays');
  }

  async start(): Promise<void> {
    await translated(() => this.#rows.createIndex({ at: 1 }, { expireAfterSeconds: KEPT_SECONDS }));
  }

  /** The longest delay that is left of these, in milliseconds. */
  async left(ids: readonly string[]): Promise<number> {
    const stages = [
      { $match: { _id: { $in: ids } } },
      { $group: { _id: null, left: { $max: { $subtract: ['$until', '$$NOW'] } } } },
    ];
    const [found] = await translated(() => this.#rows.aggregate<{ left: number }>(stages).toArray());
    return Math.max(0, Number(found?.left ?? 0));
  }

  /** Counts one failure of each, and sets the delay that follows. */
  async count(ids: readonly string[], { from, firstMs, maxMs }: DelayTerms): Promise<void> {
    const over = { $subtract: ['$failures', from] };
    const grown = { $multiply: [firstMs, { $pow: [2, { $min: [over, 20] }] }] };
    const delay = { $cond: [{ $lt: [over, 0] }, 0, { $min: [maxMs, grown] }] };
    const change: Document[] = [
      { $set: { failures: { $add: [{ $ifNull: ['$failures', 0] }, 1] }, at: '$$NOW' } },
      { $set: { until: { $add: ['$$NOW', delay] } } },
    ];
    const updates = ids.map((_id) => ({ updateOne: { filter: { _id }, update: change, upsert: true } }));
    await translated(() => this.#rows.bulkWrite(updates, { ordered: false }));
  }

  async forget(id: string): Promise<void> {
    await translated(() => this.#rows.deleteOne({ _id: id }));
  }
}
