/**
 * The door to the queue of runs, as far as others than the queue itself use it. Not here: the queue (kinds/queue), and runs
 * that are in no queue.
 */
import type { PluginFunction } from '../plugins/plugin.ts';
import type { Run } from './run.ts';
import type { RunRow } from './run-row.ts';

export interface RunQueue {
  /**
   * Stores a new run on what an earlier one was for, which is due now and has the attempts of a new run.
   * @param fn the function as it is in force
   * @param earlier a run of a trigger, a cron or a job, in whatever state
   * @returns the new run
   * @throws MillraceError `run-not-repeatable` when what it was for is no longer there
   */
  repeat(fn: PluginFunction, earlier: RunRow): Promise<Run>;
}
