/**
 * Jobs: later runs of a function, scheduled by other runs in the transaction of their writes. They can be listed and
 * canceled. Scheduling records an event, which notifies the process that runs the queue.
 */
import type { TransactionContext } from '../../collections/open-transaction.ts';
import type { AuditEvents } from '../../database/audit-only-events.ts';
import type { ChangeStamp } from '../../database/system-collection.ts';
import { MillraceError } from '../../lib/errors.ts';
import type { JobScheduler, NewJob } from '../calling/host/job-scheduler.ts';
import { type ListedRun, MAX_STORED_TEXT_BYTES, newRunId } from '../runs/run-row.ts';
import type { ScheduledJobStore } from './running/pending-job-store.ts';
import { createPendingRun, functionActorId } from './running/queued-run-transitions.ts';

/** Maximum number of pending jobs per plugin. */
const MOST_WAITING = 10_000;

export interface JobsDeps {
  readonly store: ScheduledJobStore;
  readonly activity: AuditEvents;
  readonly now?: () => number;
}

/** A job as administrators see it. */
export interface ListedJob {
  readonly id: string;
  readonly plugin: string;
  readonly function: string;
  readonly state: 'pending' | 'running';
  readonly scheduledAt: Date;
  /** Number of attempts. */
  readonly attempts: number;
  /** Null while it is running. */
  readonly nextAttemptAt: Date | null;
  readonly createdAt: Date;
}

export class Jobs implements JobScheduler {
  readonly #deps: JobsDeps;
  readonly #now: () => number;

  constructor(deps: JobsDeps) {
    this.#deps = deps;
    this.#now = deps.now ?? Date.now;
  }

  /** @throws MillraceError `function-limits-exceeded` for a long input, and when too many jobs of the plugin wait already */
  async schedule(job: NewJob, within: TransactionContext | null): Promise<{ readonly id: string }> {
    const { store, activity } = this.#deps;
    const { fn, input, at, depth, restricted, request } = job;
    if (Buffer.byteLength(input) > MAX_STORED_TEXT_BYTES) {
      throw limit(`The input of a job can have at most ${MAX_STORED_TEXT_BYTES / 1024} KB`);
    }
    if ((await store.count(fn.plugin.name, MOST_WAITING)) >= MOST_WAITING) {
      throw limit(`A plugin can have at most ${MOST_WAITING} scheduled jobs`);
    }
    const id = newRunId();
    const now = new Date(this.#now());
    const run = createPendingRun({ id, fn, input, depth, restricted, now, dueAt: at, more: { scheduledAt: at } });
    await store.insert(run, within?.session ?? null);
    const details = { function: fn.id, run: id, at: at.toISOString() };
    const stamp = { by: functionActorId(fn.id), request };
    await activity.record('system.run.queued', details, stamp, within?.session);
    return { id };
  }

  /**
   * Unfinished jobs, the next first.
   * @param after the `id` of the last one of the previous page
   */
  async list(limit: number, after?: string): Promise<readonly ListedJob[]> {
    return (await this.#deps.store.list(limit, after)).map(toJob);
  }

  /**
   * Cancels a pending job. Its run is kept as canceled.
   * @throws MillraceError `scheduled-job-not-found`, also for a running or finished job
   */
  async cancel(id: string, { by }: ChangeStamp): Promise<void> {
    const error = { code: 'job-canceled', message: `Canceled by ${by ?? 'an unknown principal'}`, stack: null };
    if (await this.#deps.store.cancel(id, error, new Date(this.#now()))) return;
    throw new MillraceError('scheduled-job-not-found', `There is no pending job '${id.slice(0, 80)}'`);
  }
}

function toJob(row: ListedRun): ListedJob {
  const { _id: id, plugin, state, attempts, createdAt, dueAt } = row;
  return {
    id,
    plugin,
    function: row.function,
    state: state === 'running' ? state : 'pending',
    scheduledAt: row.scheduledAt ?? createdAt,
    attempts,
    nextAttemptAt: dueAt ?? null,
    createdAt,
  };
}

function limit(message: string): MillraceError {
  return new MillraceError('function-limits-exceeded', message);
}
