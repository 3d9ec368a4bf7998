/** The interface to the job queue, for functions that schedule a job. */
import type { TransactionContext } from '../../../collections/open-transaction.ts';
import { MillraceError } from '../../../lib/errors.ts';
import type { PluginFunction } from '../../plugins/plugin.ts';

/** One later run of a function of the kind `job`. */
export interface NewJob {
  readonly fn: PluginFunction<'job'>;
  /** JSON text. */
  readonly input: string;
  readonly at: Date;
  /** Depth of the scheduling run: chains of jobs and triggers share one count. */
  readonly depth: number;
  /** Whether the input of the scheduling run contains user data, so that this input may contain some. */
  readonly restricted: boolean;
  /** The request id of the scheduling run. */
  readonly request: string;
}

export interface JobScheduler {
  /**
   * Stores a job.
   * @param within the transaction to store it in; null for none
   * @returns its id
   */
  schedule(job: NewJob, within: TransactionContext | null): Promise<{ readonly id: string }>;
}

/** A queue that is opened after the function calls, because it calls functions itself. */
export class LateBoundJobScheduler implements JobScheduler {
  #jobs: JobScheduler | null = null;

  attach(jobs: JobScheduler): void {
    this.#jobs = jobs;
  }

  /** @throws MillraceError `functions-disabled` before the queue is opened */
  async schedule(job: NewJob, within: TransactionContext | null): Promise<{ readonly id: string }> {
    if (this.#jobs === null) throw new MillraceError('functions-disabled', 'Jobs cannot be scheduled on this server');
    return this.#jobs.schedule(job, within);
  }
}
