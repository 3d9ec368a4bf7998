/**
 * Reruns of queued runs with the input of an earlier run, for administrators. A rerun is a new run, due now, outside
 * all FIFO groups. Requesting it records an event, which notifies the process that runs the queue.
 */
import type { AuditEvents } from '../../database/audit-only-events.ts';
import { SYSTEM_CHANGE_STAMP } from '../../database/system-collection.ts';
import type { PluginFunction } from '../plugins/plugin.ts';
import type { Run } from '../runs/run.ts';
import type { RunQueue } from '../runs/run-queue-interface.ts';
import { isRestrictedRun, newRunId, type RunRow, toRun } from '../runs/run-row.ts';
import type { QueueStore } from './running/queue-store.ts';
import { createPendingRun } from './running/queued-run-transitions.ts';

export interface QueueRerunsDeps {
  readonly store: Pick<QueueStore, 'insert'>;
  readonly activity: AuditEvents;
  readonly now?: () => number;
}

export class QueueReruns implements RunQueue {
  readonly #deps: QueueRerunsDeps;

  constructor(deps: QueueRerunsDeps) {
    this.#deps = deps;
  }

  async rerun(fn: PluginFunction, earlier: RunRow): Promise<Run> {
    const { store, activity, now = Date.now } = this.#deps;
    const { input, depth, event, position, scheduledAt } = earlier;
    const at = new Date(now());
    const id = newRunId();
    const more = {
      event,
      ...(position === undefined ? {} : { position }),
      ...(scheduledAt === undefined ? {} : { scheduledAt }),
      // The cron job does not start again while the rerun is unfinished.
      ...(fn.options.kind === 'cron' ? { line: fn.id } : {}),
    };
    // Queued runs never have inputs above the storage limit.
    const run = createPendingRun({
      ...{ id, fn, input: input ?? 'null', depth, restricted: isRestrictedRun(earlier) },
      ...{ now: at, dueAt: at, more },
    });
    await store.insert([run]);
    await activity.record('system.run.queued', { function: fn.id, run: id, at: null }, SYSTEM_CHANGE_STAMP);
    return toRun(run);
  }
}
