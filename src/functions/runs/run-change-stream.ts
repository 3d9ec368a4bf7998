/**
 * Follows the collection of runs for {@link LiveRuns}: each run that any process stores or changes, in its current state. It
 * starts with current changes, and restarts after an error: changes in between are missed.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { decodeDocumentMap } from '../../database/bson/stored-document.ts';
import { readChangeStream } from '../../database/cursors/change-stream.ts';
import type { Mongo } from '../../database/mongo.ts';
import type { SubscribeToRuns } from './live-runs.ts';
import { RUNS_COLLECTION, type RunRow, toRun } from './run-row.ts';

const AGAIN_MS = 1_000;
/** Runs per query. */
const MOST_RUNS = 200;

export interface RunFollowDeps {
  readonly log: Mongo['log'];
  /** Reads runs by their ids. */
  readonly read: (ids: readonly string[]) => Promise<readonly RunRow[]>;
  readonly onError: (error: unknown) => void;
}

export function followRuns({ log, read, onError }: RunFollowDeps): SubscribeToRuns {
  return (onRun) => {
    const end = new AbortController();
    const { signal } = end;
    const follow = async () => {
      const stages = [
        { $match: { operationType: { $in: ['insert', 'update', 'replace'] } } },
        { $unset: ['fullDocument', 'updateDescription'] },
      ];
      for await (const { changes } of readChangeStream({ db: log, collection: RUNS_COLLECTION, stages, signal })) {
        const ids = [...new Set(changes.flatMap(({ key }) => (key === null ? [] : [idOf(key)])))];
        for (let at = 0; at < ids.length && !signal.aborted; at += MOST_RUNS) {
          for (const row of await read(ids.slice(at, at + MOST_RUNS))) onRun({ run: toRun(row), lines: row.logs });
        }
      }
    };
    const forever = async () => {
      while (!signal.aborted) {
        await follow().catch((error: unknown) => signal.aborted || onError(error));
        await pause(AGAIN_MS, undefined, { signal, ref: false }).catch(() => undefined);
      }
    };
    void forever();
    return () => end.abort();
  };
}

function idOf(key: Uint8Array): string {
  return String(decodeDocumentMap(key).get('_id'));
}
