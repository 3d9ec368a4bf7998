/**
 * Replays: a request stores a replay, and the planning process reads the log page by page and submits the deliveries
 * under their original ids. Progress is stored after each page, so that another process can continue. New events have
 * priority.
 */
import { setTimeout as pause } from 'node:timers/promises';
import type { AuditEvents } from '../../database/audit-only-events.ts';
import type { ChangeStamp } from '../../database/system-collection.ts';
import type { LogRow } from '../../events/log/log-row.ts';
import { formatPosition } from '../../events/log/position.ts';
import { eventTypeMatcher, matchesRowType } from '../../events/read/type-patterns.ts';
import type { EventServices } from '../../events/services.ts';
import { FairScheduler } from '../../query/evaluate/fair-scheduler.ts';
import type { Sender } from '../sending/sender.ts';
import { DeliveryBatcher, type EventDeliveryBuilder } from './deliveries-for-event.ts';
import type { DeliveryPlanner } from './delivery-planner.ts';
import type { ReplayRecord, ReplayStore } from './replay-store.ts';
import type { ReplayRequest, ReplayView } from './replay-types.ts';

/** Rows of a page. */
const PAGE = 200;
/** Pause after a failure, such as of the database, in milliseconds. */
const RETRY_MS = 1_000;

export interface WebhookReplaysDeps {
  readonly store: ReplayStore;
  readonly events: Pick<EventServices, 'log' | 'tail' | 'feed'>;
  readonly activity: Pick<AuditEvents, 'record'>;
  readonly rows: EventDeliveryBuilder;
  readonly sender: Pick<Sender, 'submit'>;
  readonly planner: () => Pick<DeliveryPlanner, 'endpoint' | 'plans' | 'waitUntilIdle'>;
  readonly onError: (error: unknown) => void;
}

export class WebhookReplays {
  readonly #deps: WebhookReplaysDeps;
  readonly #end = new AbortController();
  readonly #fairYield = new FairScheduler();
  #running: Promise<void> | null = null;
  #again = false;

  constructor(deps: WebhookReplaysDeps) {
    this.#deps = deps;
  }

  /** Ends after the current page. */
  async stop(): Promise<void> {
    this.#end.abort();
    await this.#running;
  }

  /**
   * Stores a replay and records `system.endpoint.events-replayed`, which notifies the planning process.
   * @throws MillraceError `position-expired`, `position-unknown`, `epoch-changed`
   */
  async begin({ endpoint, since, until, types }: ReplayRequest, stamp: ChangeStamp): Promise<ReplayView> {
    const { store, events, activity } = this.#deps;
    const position = await events.feed.usable(formatPosition(since));
    const last = until === null ? events.tail.position : await events.feed.usable(formatPosition(until));
    const kept = await store.insert({ endpoint, types, position, until: last });
    await activity.record('system.endpoint.events-replayed', { endpoint, replay: kept._id }, stamp);
    return toReported(kept);
  }

  async find(id: string): Promise<ReplayView | null> {
    const kept = await this.#deps.store.find(id);
    return kept && toReported(kept);
  }

  /** Creates the deliveries of all unfinished replays, if this process plans. Runs in the background. */
  run(): void {
    this.#again = true;
    this.#running ??= this.#runAll();
  }

  async #runAll(): Promise<void> {
    while (this.#again && this.#allowed()) {
      this.#again = false;
      try {
        const running = await this.#deps.store.running();
        await Promise.all(running.map((one) => this.#replay(one)));
      } catch (error) {
        this.#deps.onError(error);
        this.#again = true;
        await pause(RETRY_MS, undefined, { signal: this.#end.signal }).catch(() => {});
      }
    }
    // In the same turn of the event loop as the last check of #again.
    this.#running = null;
  }

  #allowed(): boolean {
    return !this.#end.signal.aborted && this.#deps.planner().plans;
  }

  async #replay(first: ReplayRecord): Promise<void> {
    let replay: ReplayRecord | null = first;
    while (replay !== null && replay.state === 'running' && this.#allowed()) {
      await this.#deps.planner().waitUntilIdle();
      replay = await this.#page(replay);
    }
  }

  /** One page. @returns the replay after it; null if another process continues it */
  async #page(replay: ReplayRecord): Promise<ReplayRecord | null> {
    const { events, planner, rows: rowDeliveries, sender, store } = this.#deps;
    const rows = await events.log.read(replay.position.number, PAGE);
    const endpoint = planner().endpoint(replay.endpoint);
    if (endpoint === null || !endpoint.subscription.enabled)
      return store.saveProgress(replay, { ...replay, state: 'canceled' });
    const wants = replay.types === null ? () => true : eventTypeMatcher(replay.types);
    const batch = new DeliveryBatcher(sender, () => this.#allowed());
    const lane = this.#fairYield.createTask(replay._id);
    let { sent, position } = replay;
    for (const row of rows.filter(({ number }) => number <= replay.until.number)) {
      position = row;
      if (lane.shouldYield) await lane.waitTurn();
      if (!endpoint.wantsRow(row) || !matchesRowType(wants, row)) continue;
      const { deliveries, gone } = await rowDeliveries.of(row, [endpoint], 'replay', lane);
      if (gone.length > 0) return store.saveProgress(replay, { ...replay, state: 'canceled' });
      await batch.add(deliveries);
      sent += deliveries.length;
    }
    await batch.flush();
    const state = isDone(rows, replay) ? 'succeeded' : 'running';
    return store.saveProgress(replay, { position, sent, state });
  }
}

function isDone(rows: readonly LogRow[], { until }: ReplayRecord): boolean {
  const last = rows.at(-1);
  return last === undefined || last.number >= until.number;
}

function toReported({ _id: id, endpoint, state, sent, position }: ReplayRecord): ReplayView {
  return { id, endpoint, state, sent, position: formatPosition(position) };
}
