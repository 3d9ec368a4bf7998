/**
 * Jobs: runs of a function at a later time, scheduled by other runs, together with what these write. They are listed and can be
 * cancelled. That one was scheduled is an event, by which the process that runs the queue hears of it. Not here: running them
 * (run-dispatch.ts).
 */
import type { OpenTransaction } from '../../../collections/open-transaction.ts';
import type { Activity } from '../../../database/activity.ts';
import type { Stamp } from '../../../database/system-collection.ts';
import { MillraceError } from '../../../kernel/errors.ts';
import type { JobScheduler, NewJob } from '../../calling/host/job-scheduler.ts';
import { type ListedRun, MAX_DETAIL_BYTES, newRunId } from '../../runs/run-row.ts';
import type { JobStore } from './running/job-store.ts';
import { actorOfFunction, waitingRun } from './running/queued-run.ts';

/** How many jobs of one plugin may wait. */
const MOST_WAITING = 10_000;

export interface JobsParts {
  readonly store: JobStore;
  readonly activity: Activity;
  readonly now?: () => number;
}

/** A job as owners see it. */
export interface ListedJob {
  readonly id: string;
  readonly plugin: string;
  readonly function: string;
  readonly state: 'waiting' | 'running';
  readonly scheduledAt: Date;
  /** How often it was tried. */
  readonly attempt: number;
  /** Null while it is running. */
  readonly nextAttemptAt: Date | null;
  readonly createdAt: Date;
}

export class Jobs implements JobScheduler {
  readonly #parts: JobsParts;
  readonly #now: () => number;

  constructor(parts: JobsParts) {
    this.#parts = parts;
    this.#now = parts.now ?? Date.now;
  }

  /** @throws MillraceError `function-limit` for a long input, and when too many jobs of the plugin wait already */
  async schedule(job: NewJob, within: OpenTransaction | null): Promise<{ readonly id: string }> {
    const { store, activity } = this.#parts;
    const { fn, input, at, depth, restricted, request } = job;
    if (Buffer.byteLength(input) > MAX_DETAIL_BYTES) {
      throw limit(`The input of a job may have ${MAX_DETAIL_BYTES / 1024} KB`);
    }
    if ((await store.count(fn.plugin.name, MOST_WAITING)) >= MOST_WAITING) {
      throw limit(`Of one plugin ${MOST_WAITING} jobs may wait`);
    }
    const id = newRunId();
    const now = new Date(this.#now());
    const run = waitingRun({ id, fn, input, depth, restricted, now, dueAt: at, more: { scheduledAt: at } });
    await store.insert(run, within?.session ?? null);
    const details = { function: fn.id, run: id, at: at.toISOString() };
    const stamp = { by: actorOfFunction(fn.id), request };
    await activity.record('system.function.scheduled', details, stamp, within?.session);
    return { id };
  }

  /** The jobs that have not ended, the next first. @param after the `id` of the last one of the page before */
  async list(limit: number, after?: string): Promise<readonly ListedJob[]> {
    return (await this.#parts.store.list(limit, after)).map(toJob);
  }

  /**
   * Cancels a job that waits. Its run is kept as one that was refused.
   * @throws MillraceError `job-not-found`, also for one that is running or has ended
   */
  async cancel(id: string, { by }: Stamp): Promise<void> {
    const error = { code: 'job-cancelled', message: `Cancelled by ${by ?? 'nobody that is known'}`, stack: null };
    if (await this.#parts.store.cancel(id, error, new Date(this.#now()))) return;
    throw new MillraceError('job-not-found', `There is no job '${id.slice(0, 80)}' that waits`);
  }
}

function toJob(row: ListedRun): ListedJob {
  const { _id: id, plugin, state, attempt, createdAt, dueAt } = row;
  return {
    id,
    plugin,
    function: row.function,
    state: state === 'running' ? state : 'waiting',
    scheduledAt: row.scheduledAt ?? createdAt,
    attempt,
    nextAttemptAt: dueAt ?? null,
    createdAt,
  };
}

function limit(message: string): MillraceError {
  return new MillraceError('function-limit', message);
}
