/** The size of the stored runs, and the deletion of the oldest ones. */
import type { Collection } from 'mongodb';
import { withTranslatedErrors } from '../../database/errors.ts';
import type { Mongo } from '../../database/mongo.ts';
import { RUNS_COLLECTION, type RunRow } from './run-row.ts';

export class RunRetentionStore {
  readonly #rows: Collection<RunRow>;

  constructor({ log }: Pick<Mongo, 'log'>) {
    this.#rows = log.collection<RunRow>(RUNS_COLLECTION);
  }

  /** Number of runs, and their bytes as documents. */
  async size(): Promise<{ readonly runs: number; readonly bytes: number }> {
    const [stats] = await withTranslatedErrors(() =>
      this.#rows
        .aggregate<{ count: number; size: number }>([
          { $collStats: { storageStats: {} } },
          { $group: { _id: null, count: { $sum: '$storageStats.count' }, size: { $sum: '$storageStats.size' } } },
        ])
        .toArray(),
    );
    return { runs: stats?.count ?? 0, bytes: stats?.size ?? 0 };
  }

  /**
   * Deletes the oldest ended runs.
   * @returns their number
   */
  async deleteOldest(count: number): Promise<number> {
    const ended = { expireAt: { $exists: true } };
    const oldest = await withTranslatedErrors(() =>
      this.#rows.find(ended, { projection: { _id: 1 }, sort: { createdAt: 1, _id: 1 }, limit: count }).toArray(),
    );
    if (oldest.length === 0) return 0;
    const ids = oldest.map(({ _id }) => _id);
    const { deletedCount } = await withTranslatedErrors(() => this.#rows.deleteMany({ _id: { $in: ids }, ...ended }));
    return deletedCount;
  }
}
