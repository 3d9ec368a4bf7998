/** The interface of the run queue for other parts. */
import type { PluginFunction } from '../plugins/plugin.ts';
import type { Run } from './run.ts';
import type { RunRow } from './run-row.ts';

export interface RunQueue {
  /**
   * Stores a new run with the input of an earlier one, due now and with the attempts of a new run.
   * @param fn the active function
   * @param earlier a run of a trigger, a cron job or a job, in any state
   * @returns the new run
   * @throws MillraceError `rerun-not-possible` when its input or event no longer exists
   */
  rerun(fn: PluginFunction, earlier: RunRow): Promise<Run>;
}
