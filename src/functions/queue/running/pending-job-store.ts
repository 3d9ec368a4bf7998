/** Pending and running jobs in `<db>_log.runs`: listed by time, and canceled. */
import type { ClientSession, Collection, Document, IndexDescription } from 'mongodb';
import { withTranslatedErrors } from '../../../database/errors.ts';
import type { Mongo } from '../../../database/mongo.ts';
import { MillraceError } from '../../../lib/errors.ts';
import type { RunError } from '../../runs/run.ts';
import { type ListedRun, RUNS_COLLECTION, type RunRow, runExpiry } from '../../runs/run-row.ts';

const OPEN = { kind: 'job', state: { $in: ['pending', 'running'] } } as const;
const BY_TIME = { scheduledAt: 1, _id: 1 } as const;
const WITHOUT_DETAILS = { logs: 0, operations: 0, input: 0, result: 0 } as const;

export const JOB_INDEXES: readonly IndexDescription[] = [
  { key: { state: 1, ...BY_TIME }, partialFilterExpression: { kind: 'job' }, name: 'jobs' },
  { key: { plugin: 1, state: 1 }, partialFilterExpression: { kind: 'job' }, name: 'jobs of a plugin' },
];

export class ScheduledJobStore {
  readonly #runs: Collection<RunRow>;

  constructor({ log }: Pick<Mongo, 'log'>) {
    this.#runs = log.collection<RunRow>(RUNS_COLLECTION);
  }

  /** The number of unfinished jobs of a plugin, counted up to a limit. */
  async count(plugin: string, most: number): Promise<number> {
    return await withTranslatedErrors(() => this.#runs.countDocuments({ ...OPEN, plugin }, { limit: most }));
  }

  async insert(row: RunRow, session: ClientSession | null): Promise<void> {
    await withTranslatedErrors(() => this.#runs.insertOne(row, session === null ? {} : { session }));
  }

  /**
   * Unfinished jobs, the next first.
   * @param after id of the last one of the previous page
   * @throws MillraceError `cursor-mismatch` when no run has this id
   */
  async list(limit: number, after: string | undefined): Promise<readonly ListedRun[]> {
    const filter: Document = { ...OPEN };
    if (after !== undefined) {
      const last = await withTranslatedErrors(() =>
        this.#runs.findOne({ _id: after }, { projection: { scheduledAt: 1 } }),
      );
      if (last?.scheduledAt === undefined)
        throw new MillraceError('cursor-mismatch', 'The cursor is not from this list');
      const { scheduledAt } = last;
      filter['$or'] = [{ scheduledAt: { $gt: scheduledAt } }, { scheduledAt, _id: { $gt: after } }];
    }
    const options = { projection: WITHOUT_DETAILS, sort: BY_TIME, limit } as const;
    return await withTranslatedErrors(() => this.#runs.find(filter, options).toArray());
  }

  /**
   * Cancels a pending job.
   * @returns whether a pending job had this id
   */
  async cancel(id: string, error: RunError, now: Date): Promise<boolean> {
    const change: Document = {
      $set: { state: 'canceled', error, expireAt: runExpiry(now) },
      $unset: { dueAt: '' },
    };
    const waits = { _id: id, kind: 'job', state: 'pending' } as const;
    return (await withTranslatedErrors(() => this.#runs.updateOne(waits, change))).matchedCount === 1;
  }
}
