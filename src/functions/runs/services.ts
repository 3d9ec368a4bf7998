/**
 * Creates the store, retention, counts and live views of runs. The database is not used before the first plugin
 * exists.
 */
import type { Mongo } from '../../database/mongo.ts';
import { LiveRuns, type RunWatcher } from './live-runs.ts';
import { RunRecordBuffer } from './run-batches.ts';
import { followRuns } from './run-change-stream.ts';
import { RunCountStore } from './run-count-store.ts';
import { RunCounts } from './run-counts.ts';
import { formatLogLines, formatRunEnd } from './run-log-format.ts';
import { RunRecorder } from './run-recorder.ts';
import { RunRetention } from './run-retention.ts';
import { RunRetentionStore } from './run-retention-store.ts';
import { runSizeBytes } from './run-row.ts';
import { RunStorageBudget } from './run-storage-budget.ts';
import { RunStore } from './run-store.ts';

export interface RunServices {
  readonly store: RunStore;
  readonly recorder: RunRecorder;
  readonly counts: RunCounts;
  readonly live: LiveRuns;
  /** The number of runs that could not be stored, since this process started. */
  readonly dropped: () => number;
  /** Creates collections and indexes, and starts retention. Called when a plugin exists; repeated calls are free. */
  begin(): Promise<void>;
}

export interface RunServicesDeps {
  readonly mongo: Pick<Mongo, 'log'>;
  /** Whether this process is the recorder: it deletes old runs as well. */
  readonly records: () => boolean;
  /** Called with runs of this process as text; null without a terminal. */
  readonly report?: ((text: string) => void) | null;
  readonly onError: (error: unknown) => void;
  /** Receives what stops the services. */
  readonly cleanup: AsyncDisposableStack;
}

export function createRunServices(deps: RunServicesDeps): RunServices {
  const { mongo, records, report = null, onError, cleanup } = deps;
  const store = new RunStore(mongo);
  const countStore = new RunCountStore(mongo);
  const counts = cleanup.adopt(new RunCounts({ store: countStore, onError }), (it) => it.stop());
  const batches = new RunRecordBuffer({
    insert: async (rows) => {
      await begin();
      await store.insert(rows);
      await retention.wrote(rows.reduce((sum, row) => sum + runSizeBytes(row), 0));
    },
    onError,
  });
  cleanup.adopt(batches, (it) => it.stop());
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
  const live = new LiveRuns(follow, report === null ? null : inWords(report));
  const retention = new RunRetention({ store: new RunRetentionStore(mongo), allowed: records, onError });
  cleanup.adopt(retention, (it) => it.stop());
  return {
    store,
    recorder: new RunRecorder({
      counts,
      live,
      batches,
      budget: new RunStorageBudget(),
      onStored: (bytes) => void retention.wrote(bytes),
    }),
    counts,
    live,
    dropped: () => batches.dropped,
    begin,
  };
}

/** The outcome of a run that a client waits for is logged with its request. */
function inWords(report: (text: string) => void): RunWatcher {
  return {
    onRun: (run) => {
      if (run.kind === 'http' || run.kind === 'beforeWrite') return;
      const lines = formatRunEnd(run);
      if (lines.length > 0) report(lines.join('\n'));
    },
    onLine: (run, line) => report(formatLogLines(run, line).join('\n')),
  };
}
