/** Wires the queue with jobs, reruns, replays and the transactions of runs, and stops what it starts. */
import type { CollectionRegistry } from '../../collections/collection-registry.ts';
import type { RunServices } from '../runs/open-runs.ts';
import { toRun } from '../runs/run-row.ts';
import { Jobs } from './jobs.ts';
import { FunctionQueue, type FunctionQueueDeps } from './queue.ts';
import { QueueReruns } from './queue-reruns.ts';
import { QueueStore } from './running/queue-store.ts';
import { RunTransactions } from './running/run-transactions.ts';
import { ScheduledJobStore } from './running/scheduled-job-store.ts';
import { TriggerReplays, type TriggerReplaysDeps } from './trigger-replays.ts';

export interface QueueServices {
  readonly jobs: Jobs;
  readonly repeats: QueueReruns;
  readonly replays: TriggerReplays;
  close(): Promise<void>;
}

export interface OpenQueueDeps extends Omit<FunctionQueueDeps, 'atomic' | 'onLog' | 'onEnd'> {
  /** False where functions are disabled: then runs stay pending. */
  readonly runsFunctions: boolean;
  readonly registry: CollectionRegistry;
  readonly events: FunctionQueueDeps['events'] & TriggerReplaysDeps['events'];
  /** Called with each run of the queue. */
  readonly runs: Pick<RunServices, 'recorder'>;
}

/** Opens and starts the queue. The plugins must be active already. */
export function openQueue(deps: OpenQueueDeps): QueueServices {
  const { mongo, registry, runs, activity } = deps;
  const transactions = new RunTransactions(mongo, registry);
  const queue = new FunctionQueue({
    ...deps,
    atomic: () => transactions.atomic(),
    onLog: (run, line) => runs.recorder.line(toRun(run), line),
    onEnd: (run) => runs.recorder.recordAttempt(run),
  });
  if (deps.runsFunctions) queue.start();
  return {
    jobs: new Jobs({ store: new ScheduledJobStore(mongo), activity }),
    repeats: new QueueReruns({ store: new QueueStore(mongo), activity }),
    replays: new TriggerReplays({ ...deps, store: new QueueStore(mongo) }),
    close: async () => {
      await queue.stop();
      await transactions.stop();
    },
  };
}
