/** Wires the queue with jobs, reruns, replays and the transactions of runs, and stops what it starts. */
import type { Registry } from '../../collections/registry.ts';
import type { RunServices } from '../runs/open-runs.ts';
import { toRun } from '../runs/run-row.ts';
import { Jobs } from './jobs.ts';
import { Queue, type QueueDeps } from './queue.ts';
import { QueueRepeats } from './queue-repeats.ts';
import { JobStore } from './running/job-store.ts';
import { QueueStore } from './running/queue-store.ts';
import { RunTransactions } from './running/run-transactions.ts';
import { TriggerReplays, type TriggerReplaysDeps } from './trigger-replays.ts';

export interface QueueServices {
  readonly jobs: Jobs;
  readonly repeats: QueueRepeats;
  readonly replays: TriggerReplays;
  close(): Promise<void>;
}

export interface OpenQueueDeps extends Omit<QueueDeps, 'atomic' | 'onLog' | 'onEnd'> {
  /** False where functions are disabled: then runs stay pending. */
  readonly runsFunctions: boolean;
  readonly registry: Registry;
  readonly events: QueueDeps['events'] & TriggerReplaysDeps['events'];
  /** Called with each run of the queue. */
  readonly runs: Pick<RunServices, 'recorder'>;
}

/** Opens and starts the queue. The plugins must be active already. */
export function openQueue(deps: OpenQueueDeps): QueueServices {
  const { mongo, registry, runs, activity } = deps;
  const transactions = new RunTransactions(mongo, registry);
  const queue = new Queue({
    ...deps,
    atomic: () => transactions.atomic(),
    onLog: (run, line) => runs.recorder.line(toRun(run), line),
    onEnd: (run) => runs.recorder.attempted(run),
  });
  if (deps.runsFunctions) queue.start();
  return {
    jobs: new Jobs({ store: new JobStore(mongo), activity }),
    repeats: new QueueRepeats({ store: new QueueStore(mongo), activity }),
    replays: new TriggerReplays({ ...deps, store: new QueueStore(mongo) }),
    close: async () => {
      await queue.stop();
      await transactions.stop();
    },
  };
}
