/**
 * Gives a range of the event log to a trigger once more: for owners. Each event that the trigger wants becomes a run of its
 * own, which waits in the queue as any other, so it survives the end of the process. One call reads a bounded part of the range
 * and tells where the next one begins. Not here: which functions can be replayed (run-repeats.ts).
 */
import type { Activity } from '../../../database/activity.ts';
import type { Stamp } from '../../../database/system-collection.ts';
import { formatPosition } from '../../../events/log/position.ts';
import type { EventParts } from '../../../events/open-events.ts';
import { wanting, wantsRow } from '../../../events/read/wanted-types.ts';
import { Turnstile } from '../../../query/evaluate/turnstile.ts';
import type { PluginFunction } from '../../plugins/plugin.ts';
import { newRunId, type RunRow } from '../../runs/run-row.ts';
import { RowRuns } from './planning/row-runs.ts';
import { WantedTriggers } from './planning/wanted-triggers.ts';
import type { QueueStore } from './running/queue-store.ts';

/** How many events one call reads. */
export const MOST_REPLAYED = 10_000;
/** For how long one call begins another page, in milliseconds. */
const MOST_MS = 5_000;
/** Rows that are read at a time. Their runs are stored before the next ones are read. */
const PAGE = 200;

/** What a request asks for. */
export interface AskedRange {
  /** Events after this position count… */
  readonly since: string;
  /** … up to and with this one; null for the end of the log as it is now. */
  readonly until: string | null;
  /** Event types besides those of the trigger, in which `*` stands for anything; null for all. */
  readonly types: readonly string[] | null;
}

export interface ReplayedRange {
  /** Runs that were made. */
  readonly count: number;
  /** The position up to which the log was read. */
  readonly position: string;
  /** The last position of the range. */
  readonly until: string;
  /** False when the range goes on after `position`. */
  readonly done: boolean;
}

export interface TriggerReplaysParts {
  readonly store: Pick<QueueStore, 'prepare' | 'insert' | 'releaseHeads'>;
  readonly events: Pick<EventParts, 'log' | 'tail' | 'feed' | 'completed'>;
  readonly activity: Pick<Activity, 'record'>;
  /** The address of this server for clients; undefined when it is not known. */
  readonly publicUrl: string | undefined;
  /** How many events one call reads; for tests. */
  readonly most?: number;
}

export class TriggerReplays {
  readonly #parts: TriggerReplaysParts;
  readonly #rows: RowRuns;
  readonly #turnstile = new Turnstile();

  constructor(parts: TriggerReplaysParts) {
    this.#parts = parts;
    const { events, publicUrl } = parts;
    this.#rows = new RowRuns({ completed: events.completed, publicUrl, now: Date.now });
  }

  /**
   * Stores the runs, and records `system.function.replayed`, by which the process that runs the queue hears of them.
   * @throws MillraceError `position-expired`, `position-unknown`, `epoch-changed`
   */
  async replay(fn: PluginFunction<'trigger'>, asked: AskedRange, stamp: Stamp): Promise<ReplayedRange> {
    const { store, events, activity, most = MOST_REPLAYED } = this.#parts;
    let place = await events.feed.usable(asked.since);
    const until = asked.until === null ? events.tail.position : await events.feed.usable(asked.until);
    const last = Math.min(until.number, place.number + most);
    const end = performance.now() + MOST_MS;
    const since = formatPosition(place);
    let count = 0;
    await store.prepare();
    try {
      while (place.number < last && performance.now() < end) {
        const rows = await events.log.read(place.number, Math.min(PAGE, last - place.number));
        const runs = await this.#runsOf(
          rows.filter(({ number }) => number <= last),
          fn,
          asked.types,
        );
        await store.insert(runs);
        count += runs.length;
        await store.releaseHeads([...new Set(runs.flatMap(({ line }) => line ?? []))], new Date());
        place = rows.at(-1) ?? { ...place, number: last };
      }
    } finally {
      // What was stored before a failure is run as well.
      const details = { function: fn.id, runs: String(count), since, until: formatPosition(place) };
      if (count > 0) await activity.record('system.function.replayed', details, stamp);
    }
    const done = place.number >= until.number;
    return { count, position: formatPosition(place), until: formatPosition(until), done };
  }

  async #runsOf(
    rows: Awaited<ReturnType<EventParts['log']['read']>>,
    fn: PluginFunction<'trigger'>,
    types: readonly string[] | null,
  ): Promise<readonly RunRow[]> {
    // Since when the trigger stands does not matter: who asks has named the place.
    const triggers = new WantedTriggers([fn], new Map([[fn.id, -1]]));
    const wants = types === null ? () => true : wanting(types);
    const lane = this.#turnstile.lane(fn.id);
    const runs: RunRow[] = [];
    for (const row of rows) {
      if (lane.isOver) await lane.pass();
      if (wantsRow(wants, row)) runs.push(...(await this.#rows.of(row, triggers.by(row), lane)));
    }
    return runs.map(again);
  }
}

/** Ordered among replays of the same document, and beside the line of new events: neither has to wait for the other. */
function again(run: RunRow): RunRow {
  return { ...run, _id: newRunId(), ...(run.line === undefined ? {} : { line: `${run.line} replay` }) };
}
