/**
 * Replays a range of the event log to a trigger, for administrators. Each matching event becomes a queued run, so the
 * replay survives the end of the process. One call reads a bounded part of the range and returns where the next one
 * starts.
 */
import type { AuditEvents } from '../../database/audit-only-events.ts';
import type { ChangeStamp } from '../../database/system-collection.ts';
import { formatPosition } from '../../events/log/position.ts';
import { eventTypeMatcher, matchesRowType } from '../../events/read/type-patterns.ts';
import type { EventServices } from '../../events/services.ts';
import { FairScheduler } from '../../query/evaluate/fair-scheduler.ts';
import type { PluginFunction } from '../plugins/plugin.ts';
import { newRunId, type RunRow } from '../runs/run-row.ts';
import { TriggerIndex } from './planning/trigger-index.ts';
import { TriggerRuns } from './planning/trigger-runs.ts';
import type { QueueStore } from './running/queue-store.ts';

/** Events that one call reads. */
export const MAX_REPLAYED_EVENTS = 10_000;
/** After this time a call reads no further page, in milliseconds. */
const MOST_MS = 5_000;
/** Rows per page. Their runs are stored before the next page is read. */
const PAGE = 200;

/** The range and the types of a replay. */
export interface TriggerReplayRequest {
  /** Events after this position… */
  readonly since: string;
  /** … up to and including this one; null for the current end of the log. */
  readonly until: string | null;
  /** Narrows the types of the trigger, with `*` as a wildcard; null for all of them. */
  readonly types: readonly string[] | null;
}

export interface TriggerReplayProgress {
  /** The number of created runs. */
  readonly count: number;
  /** The position up to which the log was read. */
  readonly position: string;
  /** The last position of the range. */
  readonly until: string;
  /** False if the range continues after `position`. */
  readonly done: boolean;
}

export interface TriggerReplaysDeps {
  readonly store: Pick<QueueStore, 'prepare' | 'insert' | 'releaseHeads'>;
  readonly events: Pick<EventServices, 'log' | 'tail' | 'feed' | 'completed'>;
  readonly activity: Pick<AuditEvents, 'record'>;
  /** The public URL of this server; undefined if it is not known. */
  readonly publicUrl: string | undefined;
  /** Events that one call reads; for tests. */
  readonly most?: number;
}

export class TriggerReplays {
  readonly #deps: TriggerReplaysDeps;
  readonly #rows: TriggerRuns;
  readonly #fairYield = new FairScheduler();

  constructor(deps: TriggerReplaysDeps) {
    this.#deps = deps;
    const { events, publicUrl } = deps;
    this.#rows = new TriggerRuns({ completed: events.completed, publicUrl, now: Date.now });
  }

  /**
   * Stores the runs, and records `system.function.replayed`, which notifies the process that runs the queue.
   * @throws MillraceError `position-expired`, `position-unknown`, `epoch-changed`
   */
  async replay(
    fn: PluginFunction<'trigger'>,
    requested: TriggerReplayRequest,
    stamp: ChangeStamp,
  ): Promise<TriggerReplayProgress> {
    const { store, events, activity, most = MAX_REPLAYED_EVENTS } = this.#deps;
    let position = await events.feed.usable(requested.since);
    const until = requested.until === null ? events.tail.position : await events.feed.usable(requested.until);
    const last = Math.min(until.number, position.number + most);
    const end = performance.now() + MOST_MS;
    const since = formatPosition(position);
    let count = 0;
    await store.prepare();
    try {
      while (position.number < last && performance.now() < end) {
        const rows = await events.log.read(position.number, Math.min(PAGE, last - position.number));
        const runs = await this.#runsOf(
          rows.filter(({ number }) => number <= last),
          fn,
          requested.types,
        );
        await store.insert(runs);
        count += runs.length;
        await store.releaseHeads([...new Set(runs.flatMap(({ line }) => line ?? []))], new Date());
        position = rows.at(-1) ?? { ...position, number: last };
      }
    } finally {
      // Runs stored before a failure run as well.
      const details = { function: fn.id, runs: String(count), since, until: formatPosition(position) };
      if (count > 0) await activity.record('system.function.replayed', details, stamp);
    }
    const done = position.number >= until.number;
    return { count, position: formatPosition(position), until: formatPosition(until), done };
  }

  async #runsOf(
    rows: Awaited<ReturnType<EventServices['log']['read']>>,
    fn: PluginFunction<'trigger'>,
    types: readonly string[] | null,
  ): Promise<readonly RunRow[]> {
    // The start position of the trigger is ignored: the request names the range.
    const triggers = new TriggerIndex([fn], new Map([[fn.id, -1]]));
    const wants = types === null ? () => true : eventTypeMatcher(types);
    const lane = this.#fairYield.createTask(fn.id);
    const runs: RunRow[] = [];
    for (const row of rows) {
      if (lane.shouldYield) await lane.waitTurn();
      if (matchesRowType(wants, row)) runs.push(...(await this.#rows.of(row, triggers.by(row), lane)));
    }
    return runs.map(again);
  }
}

/** Ordered among replays of the same document, independent of the FIFO group of new events. */
function again(run: RunRow): RunRow {
  return { ...run, _id: newRunId(), ...(run.line === undefined ? {} : { line: `${run.line} replay` }) };
}
