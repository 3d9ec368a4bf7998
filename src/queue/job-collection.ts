/**
 * The rows of one kind of job: a collection with a row for each, ended ones included until their retention is over. A
 * row has a due time while its job is pending, and a token while a worker holds a lease. The end of an attempt names
 * the token, so a worker that lost its lease changes nothing.
 */
import type { Collection, Db, Document, Filter, IndexDescription, UpdateFilter, WriteConcernSettings } from 'mongodb';
import { withTranslatedErrors } from '../database/errors.ts';
import { insertNew } from '../database/insert-new.ts';

/**
 * - `pending`: before its first or its next attempt, or under a lease that ends by itself
 * - `running`: under a lease without an end
 * - `failed`: after its last attempt
 * - `canceled`: by a request, or because what it is for no longer exists
 * - `skipped`: stored only to show that it does not run, and why
 * - `rejected`: its function has rejected what it was called for
 */
export type JobState = 'pending' | 'running' | 'succeeded' | 'failed' | 'canceled' | 'skipped' | 'rejected';

export interface JobRow {
  readonly _id: string;
  readonly state: JobState;
  /**
   * When the next attempt is due; of a leased job, when the lease ends. Absent after the end of the job, while it waits
   * for an earlier one of its FIFO group, and while a lease without an end lasts.
   */
  readonly dueAt?: Date;
  /** A new value for each lease; null without one. */
  readonly token?: string | null;
  /** When the row is deleted. */
  readonly expireAt?: Date;
}

/** The rows of each kind of job: a collection in `<db>_log`. */
export const JOB_COLLECTIONS = ['webhook_deliveries', 'runs', 'emails'] as const;

export type JobCollectionName = (typeof JOB_COLLECTIONS)[number];

/** Only pending jobs have a due time. */
export const PENDING_JOBS_FILTER = { dueAt: { $exists: true } } as const;
/** The index of the next due time. */
export const DUE_INDEX: IndexDescription = { key: { dueAt: 1 }, partialFilterExpression: PENDING_JOBS_FILTER };
/** Deletes rows at the end of their retention. */
export const EXPIRY_INDEX: IndexDescription = { key: { expireAt: 1 }, expireAfterSeconds: 0 };

/** Rows of one reply; the driver's first batch is 101. */
const BATCH_ROWS = 1_000;

/** Some rows of a group. */
export interface JobSearch {
  readonly filter: Document;
  readonly sort: Document;
  readonly limit: number;
}

export class JobCollection<Row extends JobRow> {
  readonly rows: Collection<Row>;

  constructor(log: Db, name: JobCollectionName) {
    this.rows = log.collection<Row>(name);
  }

  /** Inserts jobs. @returns the indexes of those that already exist and stay unchanged */
  insert(rows: readonly Row[]): Promise<ReadonlySet<number>> {
    return insertNew(this.rows, rows);
  }

  /** The first rows of each search, by one command. */
  async findEach<Found extends Document>(searches: readonly JobSearch[], projection: Document): Promise<Found[]> {
    const [first, ...rest] = searches.map(({ filter, sort, limit }) => [
      { $match: filter },
      { $sort: sort },
      { $limit: limit },
      { $project: projection },
    ]);
    if (first === undefined) return [];
    const coll = this.rows.collectionName;
    const pipeline = [...first, ...rest.map((pipeline) => ({ $unionWith: { coll, pipeline } }))];
    const options = { batchSize: BATCH_ROWS };
    return await withTranslatedErrors(() => this.rows.aggregate<Found>(pipeline, options).toArray());
  }

  /** The earliest future due time, of leases too; null if there is none. */
  async nextDue(now: Date): Promise<Date | null> {
    const options = { sort: { dueAt: 1 }, projection: { dueAt: 1 } } as const;
    const later: Document = { dueAt: { $gt: now } };
    const row = await withTranslatedErrors(() => this.rows.findOne(later as Filter<Row>, options));
    return row?.dueAt ?? null;
  }

  /**
   * Leases the job that is due longest.
   * @param which which jobs may be leased
   * @param lease sets the token, and the end of the lease
   * @param writeConcern by default that of the connection
   * @returns the leased job; null if none is due
   */
  async leaseOne(
    which: Document,
    now: Date,
    lease: Document,
    writeConcern?: WriteConcernSettings,
  ): Promise<Row | null> {
    const filter: Document = { ...which, state: 'pending', dueAt: { $lte: now } };
    // With an id there is nothing to sort, and the sort could make the planner prefer an index of due times.
    const sort = '_id' in which ? {} : { sort: { dueAt: 1 } as const };
    const options = { ...sort, returnDocument: 'after', ...(writeConcern && { writeConcern }) } as const;
    return (await withTranslatedErrors(() =>
      this.rows.findOneAndUpdate(filter as Filter<Row>, lease as UpdateFilter<Row>, options),
    )) as Row | null;
  }

  /** Changes a job if the token still holds it. @returns whether it did */
  async updateLeased({ _id, token }: Pick<Row, '_id' | 'token'>, change: Document): Promise<boolean> {
    const filter: Document = { _id, token };
    const { matchedCount } = await withTranslatedErrors(() =>
      this.rows.updateOne(filter as Filter<Row>, change as UpdateFilter<Row>),
    );
    return matchedCount === 1;
  }

  /** Makes several updates by one plain command. @returns how many changed a job */
  async updateEach(updates: readonly { readonly q: Document; readonly u: Document }[]): Promise<number> {
    if (updates.length === 0) return 0;
    const command = { update: this.rows.collectionName, updates, ordered: false, writeConcern: { w: 'majority' } };
    const reply = await withTranslatedErrors(() => this.rows.db.command(command));
    if (reply['writeErrors'] || reply['writeConcernError']) throw new Error('Jobs could not be written');
    return Number(reply['nModified']);
  }
}
