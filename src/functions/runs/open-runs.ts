/**
 * Creates and connects all that has to do with runs: the store, what is kept and counted, who watches. What is started here
 * is stopped here. Nothing is asked of the database before the first plugin is there. No behaviour of its own.
 */
import type { Mongo } from '../../database/mongo.ts';
import { LiveRuns, type Watcher } from './live-runs.ts';
import { RunBatches } from './run-batches.ts';
import { RunBudget } from './run-budget.ts';
import { RunCountStore } from './run-count-store.ts';
import { RunCounts } from './run-counts.ts';
import { followRuns } from './run-follow.ts';
import { endLines, logLines } from './run-lines.ts';
import { RunRecorder } from './run-recorder.ts';
import { RunRetention } from './run-retention.ts';
import { bytesOf } from './run-row.ts';
import { RunSizeStore } from './run-size-store.ts';
import { RunStore } from './run-store.ts';

export interface RunParts {
  readonly store: RunStore;
  readonly recorder: RunRecorder;
  readonly counts: RunCounts;
  readonly live: LiveRuns;
  /** How many runs were to be kept and were not stored, since this process began. */
  readonly dropped: () => number;
  /** Makes collections and indexes, and watches the size from then on. Asked when there is a plugin; again is free. */
  begin(): Promise<void>;
  close(): Promise<void>;
}

export interface RunNeeds {
  readonly mongo: Pick<Mongo, 'log'>;
  /** Whether this process records events: it deletes old runs as well. */
  readonly records: () => boolean;
  /** Told of runs of this process in words; null where nobody reads. */
  readonly tell?: ((text: string) => void) | null;
  readonly onError: (error: unknown) => void;
}

export function openRuns({ mongo, records, tell = null, onError }: RunNeeds): RunParts {
  const store = new RunStore(mongo);
  const countStore = new RunCountStore(mongo);
  const counts = new RunCounts({ store: countStore, onError });
  const batches = new RunBatches({
    insert: async (rows) => {
      await begin();
      await store.insert(rows);
      await retention.wrote(rows.reduce((sum, row) => sum + bytesOf(row), 0));
    },
    onError,
  });
  let begun: Promise<unknown> | null = null;
  const begin = async () => {
    retention.start();
    begun ??= Promise.all([store.prepare(), countStore.prepare()]).catch((error: unknown) => {
      begun = null;
      throw error;
    });
    await begun;
  };
  const follow = followRuns({ log: mongo.log, read: (ids) => store.findAll(ids), onError });
  const live = new LiveRuns(follow, tell === null ? null : inWords(tell));
  const retention = new RunRetention({ store: new RunSizeStore(mongo), allowed: records, onError });
  return {
    store,
    recorder: new RunRecorder({
      counts,
      live,
      batches,
      budget: new RunBudget(),
      onStored: (bytes) => void retention.wrote(bytes),
    }),
    counts,
    live,
    dropped: () => batches.dropped,
    begin,
    close: async () => {
      await retention.stop();
      await batches.stop();
      await counts.stop();
    },
  };
}

/** How a run ends that a client waits for is told with its request. */
function inWords(tell: (text: string) => void): Watcher {
  return {
    onRun: (run) => {
      if (run.kind === 'endpoint' || run.kind === 'before') return;
      const lines = endLines(run);
      if (lines.length > 0) tell(lines.join('\n'));
    },
    onLine: (run, line) => tell(logLines(run, line).join('\n')),
  };
}
