/**
 * Replays: a range of the event log is sent to one endpoint once more. A request notes a replay; the process that plans
 * reads the log page by page and submits the deliveries, under the same ids as before. After each page it notes its place,
 * so that another process goes on after it. New events go first. Not here: what an endpoint may see (row-deliveries.ts).
 */
import { setTimeout as pause } from 'node:timers/promises';
import type { Activity } from '../../database/activity.ts';
import type { Stamp } from '../../database/system-collection.ts';
import { formatPosition } from '../../events/log/position.ts';
import type { LogRow } from '../../events/log/row.ts';
import type { EventParts } from '../../events/open-events.ts';
import { wanting, wantsRow } from '../../events/read/wanted-types.ts';
import { Turnstile } from '../../query/evaluate/turnstile.ts';
import type { Sender } from '../sending/sender.ts';
import { DeliveryBatch } from './delivery-batch.ts';
import type { Planner } from './planner.ts';
import type { AskedReplay, ToldReplay } from './replay.ts';
import type { KeptReplay, ReplayStore } from './replay-store.ts';
import type { RowDeliveries } from './row-deliveries.ts';

/** Rows of a page. */
const PAGE = 200;
/** After a failure, such as of the database, it goes on after so many milliseconds. */
const RETRY_MS = 1_000;

export interface ReplaysParts {
  readonly store: ReplayStore;
  readonly events: Pick<EventParts, 'log' | 'tail' | 'feed'>;
  readonly activity: Pick<Activity, 'record'>;
  readonly rows: RowDeliveries;
  readonly sender: Pick<Sender, 'submit'>;
  readonly planner: () => Pick<Planner, 'endpoint' | 'plans' | 'quiet'>;
  readonly onError: (error: unknown) => void;
}

export class LogReplays {
  readonly #parts: ReplaysParts;
  readonly #end = new AbortController();
  readonly #turnstile = new Turnstile();
  #running: Promise<void> | null = null;
  #again = false;

  constructor(parts: ReplaysParts) {
    this.#parts = parts;
  }

  /** Ends after the page that is under way. */
  async stop(): Promise<void> {
    this.#end.abort();
    await this.#running;
  }

  /**
   * Notes a replay and records `system.endpoint.replayed`, by which the process that plans learns of it.
   * @throws MillraceError `position-expired`, `position-unknown`, `epoch-changed`
   */
  async begin({ endpoint, since, until, types }: AskedReplay, stamp: Stamp): Promise<ToldReplay> {
    const { store, events, activity } = this.#parts;
    const place = await events.feed.usable(formatPosition(since));
    const last = until === null ? events.tail.position : await events.feed.usable(formatPosition(until));
    const kept = await store.insert({ endpoint, types, place, until: last });
    await activity.record('system.endpoint.replayed', { endpoint, replay: kept._id }, stamp);
    return toTold(kept);
  }

  async find(id: string): Promise<ToldReplay | null> {
    const kept = await this.#parts.store.find(id);
    return kept && toTold(kept);
  }

  /** Makes the deliveries of all replays that are not done, if this process plans. Nothing waits for it. */
  run(): void {
    this.#again = true;
    this.#running ??= this.#runAll();
  }

  async #runAll(): Promise<void> {
    while (this.#again && this.#allowed()) {
      this.#again = false;
      try {
        const running = await this.#parts.store.running();
        await Promise.all(running.map((one) => this.#replay(one)));
      } catch (error) {
        this.#parts.onError(error);
        this.#again = true;
        await pause(RETRY_MS, undefined, { signal: this.#end.signal }).catch(() => {});
      }
    }
    // In the same turn of the event loop as the last check of #again.
    this.#running = null;
  }

  #allowed(): boolean {
    return !this.#end.signal.aborted && this.#parts.planner().plans;
  }

  async #replay(first: KeptReplay): Promise<void> {
    let replay: KeptReplay | null = first;
    while (replay !== null && replay.state === 'running' && this.#allowed()) {
      await this.#parts.planner().quiet();
      replay = await this.#page(replay);
    }
  }

  /** One page. @returns the replay as it is then; null when another process goes on with it */
  async #page(replay: KeptReplay): Promise<KeptReplay | null> {
    const { events, planner, rows: rowDeliveries, sender, store } = this.#parts;
    const rows = await events.log.read(replay.place.number, PAGE);
    const endpoint = planner().endpoint(replay.endpoint);
    if (endpoint === null || !endpoint.interest.enabled) return store.move(replay, { ...replay, state: 'cancelled' });
    const wants = replay.types === null ? () => true : wanting(replay.types);
    const batch = new DeliveryBatch(sender, () => this.#allowed());
    const lane = this.#turnstile.lane(replay._id);
    let { sent, place } = replay;
    for (const row of rows.filter(({ number }) => number <= replay.until.number)) {
      place = row;
      if (lane.isOver) await lane.pass();
      if (!endpoint.wantsRow(row) || !wantsRow(wants, row)) continue;
      const { deliveries, gone } = await rowDeliveries.of(row, [endpoint], 'replay', lane);
      if (gone.length > 0) return store.move(replay, { ...replay, state: 'cancelled' });
      await batch.add(deliveries);
      sent += deliveries.length;
    }
    await batch.flush();
    const state = isDone(rows, replay) ? 'done' : 'running';
    return store.move(replay, { place, sent, state });
  }
}

function isDone(rows: readonly LogRow[], { until }: KeptReplay): boolean {
  const last = rows.at(-1);
  return last === undefined || last.number >= until.number;
}

function toTold({ _id: id, endpoint, state, sent, place }: KeptReplay): ToldReplay {
  return { id, endpoint, state, sent, position: formatPosition(place) };
}
