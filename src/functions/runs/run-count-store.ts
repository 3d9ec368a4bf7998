/**
 * How often functions ran, in `<db>_log.run_counts`: one row for each function and day, to which every process adds what it
 * has counted. Not here: the counting (run-counts.ts).
 */
import type { Collection } from 'mongodb';
import { translated } from '../../database/errors.ts';
import type { Mongo } from '../../database/mongo.ts';

const DAY_MS = 24 * 3_600_000;

export interface CountRow {
  /** `<plugin>/<name>:<day>` */
  readonly _id: string;
  /** `plugin/name` */
  readonly function: string;
  readonly ok: number;
  readonly failed: number;
  readonly lastRunAt: Date;
  /** Counts of durations by the number of their bucket. */
  readonly ms?: Readonly<Record<string, number>>;
  readonly expireAt: Date;
}

/** What one process has counted since it last told. */
export interface CountedDay {
  readonly function: string;
  /** The beginning of the day (UTC). */
  readonly day: Date;
  readonly ok: number;
  readonly failed: number;
  readonly lastRunAt: Date;
  readonly ms: ReadonlyMap<number, number>;
}

export class RunCountStore {
  readonly #rows: Collection<CountRow>;

  constructor({ log }: Pick<Mongo, 'log'>) {
    this.#rows = log.collection<CountRow>('run_counts');
  }

  async prepare(): Promise<void> {
    await translated(() =>
      this.#rows.createIndexes([{ key: { expireAt: 1 }, expireAfterSeconds: 0 }, { key: { function: 1 } }]),
    );
  }

  /** Adds to the rows. @param days for how many days a row is kept after its own */
  async add(counted: readonly CountedDay[], days: number): Promise<void> {
    if (counted.length === 0) return;
    const updates = counted.map(({ function: name, day, ok, failed, lastRunAt, ms }) => ({
      updateOne: {
        filter: { _id: `${name}:${day.toISOString().slice(0, 10)}` },
        update: {
          $inc: {
            ok,
            failed,
            ...Object.fromEntries([...ms].map(([bucket, count]) => [`ms.${bucket}`, count])),
          },
          $max: { lastRunAt },
          $setOnInsert: { function: name, expireAt: new Date(day.getTime() + (days + 1) * DAY_MS) },
        },
        upsert: true,
      },
    }));
    await translated(() => this.#rows.bulkWrite(updates, { ordered: false }));
  }

  /** The rows of functions that have not expired at `now`: the database deletes them a little later. */
  async of(functions: readonly string[], now: Date): Promise<readonly CountRow[]> {
    return await translated(() =>
      this.#rows.find({ function: { $in: [...functions] }, expireAt: { $gt: now } }).toArray(),
    );
  }
}
