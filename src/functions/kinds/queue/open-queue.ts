/**
 * Creates and connects the parts of the queue: the queue itself, jobs, repetitions, replays, and the transactions of runs. What is
 * started here is stopped here. No behaviour of its own. Not here: the other kinds of functions.
 */
import type { Registry } from '../../../collections/registry.ts';
import type { RunParts } from '../../runs/open-runs.ts';
import { toRun } from '../../runs/run-row.ts';
import { Jobs } from './jobs.ts';
import { Queue, type QueueNeeds } from './queue.ts';
import { QueueRepeats } from './queue-repeats.ts';
import { JobStore } from './running/job-store.ts';
import { QueueStore } from './running/queue-store.ts';
import { RunTransactions } from './running/run-transactions.ts';
import { TriggerReplays, type TriggerReplaysParts } from './trigger-replays.ts';

export interface QueueParts {
  readonly jobs: Jobs;
  readonly repeats: QueueRepeats;
  readonly replays: TriggerReplays;
  close(): Promise<void>;
}

export interface OpenQueueNeeds extends Omit<QueueNeeds, 'atomic' | 'onLog' | 'onEnd'> {
  /** False where functions are switched off: then what waits goes on waiting. */
  readonly runsFunctions: boolean;
  readonly registry: Registry;
  readonly events: QueueNeeds['events'] & TriggerReplaysParts['events'];
  /** Told of what the queue runs. */
  readonly runs: Pick<RunParts, 'recorder'>;
}

/** Opens and starts the queue. The plugins must be in force already. */
export function openQueue(needs: OpenQueueNeeds): QueueParts {
  const { mongo, registry, runs, activity } = needs;
  const transactions = new RunTransactions(mongo, registry);
  const queue = new Queue({
    ...needs,
    atomic: () => transactions.atomic(),
    onLog: (run, line) => runs.recorder.line(toRun(run), line),
    onEnd: (run) => runs.recorder.attempted(run),
  });
  if (needs.runsFunctions) queue.start();
  return {
    jobs: new Jobs({ store: new JobStore(mongo), activity }),
    repeats: new QueueRepeats({ store: new QueueStore(mongo), activity }),
    replays: new TriggerReplays({ ...needs, store: new QueueStore(mongo) }),
    close: async () => {
      await queue.stop();
      await transactions.stop();
    },
  };
}
