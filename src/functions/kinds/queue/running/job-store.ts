/**
 * Jobs in `<db>_log.runs`: those that wait or run, listed by their time, and cancelled. Not here: taking and running them
 * (queue-store.ts).
 */
import type { ClientSession, Collection, Document, IndexDescription } from 'mongodb';
import { translated } from '../../../../database/errors.ts';
import type { Mongo } from '../../../../database/mongo.ts';
import { MillraceError } from '../../../../kernel/errors.ts';
import type { RunError } from '../../../runs/run.ts';
import { type ListedRun, RUNS, type RunRow, runExpiry } from '../../../runs/run-row.ts';

const OPEN = { kind: 'job', state: { $in: ['waiting', 'running'] } } as const;
const BY_TIME = { scheduledAt: 1, _id: 1 } as const;
const WITHOUT_DETAILS = { logs: 0, operations: 0, input: 0, result: 0 } as const;

export const JOB_INDEXES: readonly IndexDescription[] = [
  { key: { state: 1, ...BY_TIME }, partialFilterExpression: { kind: 'job' }, name: 'jobs' },
  { key: { plugin: 1, state: 1 }, partialFilterExpression: { kind: 'job' }, name: 'jobs of a plugin' },
];

export class JobStore {
  readonly #runs: Collection<RunRow>;

  constructor({ log }: Pick<Mongo, 'log'>) {
    this.#runs = log.collection<RunRow>(RUNS);
  }

  /** How many jobs of a plugin have not ended, counted up to a bound. */
  async count(plugin: string, most: number): Promise<number> {
    return await translated(() => this.#runs.countDocuments({ ...OPEN, plugin }, { limit: most }));
  }

  async insert(row: RunRow, session: ClientSession | null): Promise<void> {
    await translated(() => this.#runs.insertOne(row, session === null ? {} : { session }));
  }

  /**
   * The jobs that have not ended, the next first.
   * @param after id of the last one of the page before
   * @throws MillraceError `cursor-mismatch` when there is no run of this id
   */
  async list(limit: number, after: string | undefined): Promise<readonly ListedRun[]> {
    const filter: Document = { ...OPEN };
    if (after !== undefined) {
      const last = await translated(() => this.#runs.findOne({ _id: after }, { projection: { scheduledAt: 1 } }));
      if (last?.scheduledAt === undefined)
        throw new MillraceError('cursor-mismatch', 'The cursor is not one of this list');
      const { scheduledAt } = last;
      filter['$or'] = [{ scheduledAt: { $gt: scheduledAt } }, { scheduledAt, _id: { $gt: after } }];
    }
    const options = { projection: WITHOUT_DETAILS, sort: BY_TIME, limit } as const;
    return await translated(() => this.#runs.find(filter, options).toArray());
  }

  /** Ends a job that waits. @returns whether there was one of this id that waits */
  async cancel(id: string, error: RunError, now: Date): Promise<boolean> {
    const change: Document = {
      $set: { state: 'refused', error, expireAt: runExpiry(now) },
      $unset: { dueAt: '' },
    };
    const waits = { _id: id, kind: 'job', state: 'waiting' } as const;
    return (await translated(() => this.#runs.updateOne(waits, change))).matchedCount === 1;
  }
}
