/** Run statistics of functions in `<db>_log.run_counts`: one row per function and day, to which every process adds its counts. */
import type { Collection } from 'mongodb';
import { withTranslatedErrors } from '../../database/errors.ts';
import type { Mongo } from '../../database/mongo.ts';

const DAY_MS = 24 * 3_600_000;

export interface RunCountRow {
  /** `<plugin>/<name>:<day>` */
  readonly _id: string;
  /** `plugin/name` */
  readonly function: string;
  readonly succeeded: number;
  readonly failed: number;
  readonly lastRunAt: Date;
  /** Counts by duration bucket. */
  readonly ms?: Readonly<Record<string, number>>;
  readonly expireAt: Date;
}

/** Counts of one process since its last write. */
export interface DailyRunCounts {
  readonly function: string;
  /** The start of the day (UTC). */
  readonly day: Date;
  readonly succeeded: number;
  readonly failed: number;
  readonly lastRunAt: Date;
  readonly ms: ReadonlyMap<number, number>;
}

export class RunCountStore {
  readonly #rows: Collection<RunCountRow>;

  constructor({ log }: Pick<Mongo, 'log'>) {
    this.#rows = log.collection<RunCountRow>('run_counts');
  }

  async prepare(): Promise<void> {
    await withTranslatedErrors(() =>
      this.#rows.createIndexes([{ key: { expireAt: 1 }, expireAfterSeconds: 0 }, { key: { function: 1 } }]),
    );
  }

  /**
   * Adds to the rows.
   * @param days retention of a row after its own day
   */
  async add(counted: readonly DailyRunCounts[], days: number): Promise<void> {
    if (counted.length === 0) return;
    const updates = counted.map(({ function: name, day, succeeded, failed, lastRunAt, ms }) => ({
      updateOne: {
        filter: { _id: `${name}:${day.toISOString().slice(0, 10)}` },
        update: {
          $inc: {
            succeeded,
            failed,
            ...Object.fromEntries([...ms].map(([bucket, count]) => [`ms.${bucket}`, count])),
          },
          $max: { lastRunAt },
          $setOnInsert: { function: name, expireAt: new Date(day.getTime() + (days + 1) * DAY_MS) },
        },
        upsert: true,
      },
    }));
    await withTranslatedErrors(() => this.#rows.bulkWrite(updates, { ordered: false }));
  }

  /** The rows of functions that have not expired at `now`: the database deletes them a little later. */
  async of(functions: readonly string[], now: Date): Promise<readonly RunCountRow[]> {
    return await withTranslatedErrors(() =>
      this.#rows.find({ function: { $in: [...functions] }, expireAt: { $gt: now } }).toArray(),
    );
  }
}
