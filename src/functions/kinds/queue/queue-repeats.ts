/**
 * Runs of the queue once more, on the input of an earlier run: for owners. A repetition is a run of its own, due now, in no
 * order with others. That it was asked for is an event, by which the process that runs the queue hears of it. Not here: which
 * runs may be repeated (run-repeats.ts).
 */
import type { Activity } from '../../../database/activity.ts';
import { ITSELF } from '../../../database/system-collection.ts';
import type { PluginFunction } from '../../plugins/plugin.ts';
import type { Run } from '../../runs/run.ts';
import type { RunQueue } from '../../runs/run-queue.ts';
import { isRestricted, newRunId, type RunRow, toRun } from '../../runs/run-row.ts';
import type { QueueStore } from './running/queue-store.ts';
import { waitingRun } from './running/queued-run.ts';

export interface QueueRepeatsParts {
  readonly store: Pick<QueueStore, 'insert'>;
  readonly activity: Activity;
  readonly now?: () => number;
}

export class QueueRepeats implements RunQueue {
  readonly #parts: QueueRepeatsParts;

  constructor(parts: QueueRepeatsParts) {
    this.#parts = parts;
  }

  async repeat(fn: PluginFunction, earlier: RunRow): Promise<Run> {
    const { store, activity, now = Date.now } = this.#parts;
    const { input, depth, event, position, scheduledAt } = earlier;
    const at = new Date(now());
    const id = newRunId();
    const more = {
      event,
      ...(position === undefined ? {} : { position }),
      ...(scheduledAt === undefined ? {} : { scheduledAt }),
      // The next time of a cron does not begin while the repetition goes on.
      ...(fn.use.kind === 'cron' ? { line: fn.id } : {}),
    };
    // No run of the queue has a longer input than is kept.
    const run = waitingRun({
      ...{ id, fn, input: input ?? 'null', depth, restricted: isRestricted(earlier) },
      ...{ now: at, dueAt: at, more },
    });
    await store.insert([run]);
    await activity.record('system.function.scheduled', { function: fn.id, run: id, at: null }, ITSELF);
    return toRun(run);
  }
}
