/** The door to the queue of jobs, for functions that schedule one. Not here: how jobs are kept and run (kinds/queue). */
import type { OpenTransaction } from '../../../collections/open-transaction.ts';
import { MillraceError } from '../../../kernel/errors.ts';
import type { PluginFunction } from '../../plugins/plugin.ts';

/** One run of a function of the kind `job`, later. */
export interface NewJob {
  readonly fn: PluginFunction<'job'>;
  /** JSON text. */
  readonly input: string;
  readonly at: Date;
  /** That of the run which schedules it: a chain of jobs and triggers counts on. */
  readonly depth: number;
  /** Whether that run was given something of accounts, so that the input may have some of it. */
  readonly restricted: boolean;
  /** The request id of the run which schedules it. */
  readonly request: string;
}

export interface JobScheduler {
  /**
   * Stores a job.
   * @param within the transaction that it is committed with; null to store it on its own
   * @returns its id
   */
  schedule(job: NewJob, within: OpenTransaction | null): Promise<{ readonly id: string }>;
}

/** The queue of something that is opened after the calls: the queue itself calls functions. */
export class LateJobs implements JobScheduler {
  #jobs: JobScheduler | null = null;

  attach(jobs: JobScheduler): void {
    this.#jobs = jobs;
  }

  /** @throws MillraceError `functions-off` before the queue is there */
  async schedule(job: NewJob, within: OpenTransaction | null): Promise<{ readonly id: string }> {
    if (this.#jobs === null) throw new MillraceError('functions-off', 'No jobs can be scheduled on this server');
    return this.#jobs.schedule(job, within);
  }
}
