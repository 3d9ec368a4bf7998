/**
 * Plans the runs of triggers: a consumer of the event log, in one process at a time. Each row becomes pending runs of
 * the active triggers before the cursor moves; run ids are derived from function and event, so no run is lost or
 * planned twice. Without active triggers there is no consumer and no cursor.
 */

import type { LogRow } from '../../../events/log/log-row.ts';
import type { LogPosition } from '../../../events/log/position.ts';
import type { Consumer } from '../../../events/read/consumer.ts';
import type { EventServices } from '../../../events/services.ts';
import { FairScheduler } from '../../../query/evaluate/fair-scheduler.ts';
import type { ActivePlugins } from '../../plugins/plugin.ts';
import { PLUGINS_COLLECTION } from '../../plugins/store/plugin-row.ts';
import type { RunRow } from '../../runs/run-row.ts';
import type { QueueStore } from '../running/queue-store.ts';
import { functionIdOf } from '../running/queued-run-transitions.ts';
import type { FunctionPositionStore } from './function-position-store.ts';
import { TriggerIndex } from './trigger-index.ts';
import type { TriggerRuns } from './trigger-runs.ts';

const CONSUMER = 'functions';
/** Runs per insert, and bytes of their inputs. */
const MOST_RUNS = 500;
const MOST_BYTES = 8 * 1024 * 1024;

export interface TriggerPlannerDeps {
  readonly consumer: EventServices['consumer'];
  readonly active: ActivePlugins;
  readonly startPositions: FunctionPositionStore;
  readonly store: Pick<QueueStore, 'insert' | 'releaseHeads'>;
  readonly rows: TriggerRuns;
  /** Activates plugin changes stored before this call, and resolves when the triggers of this planner are updated. */
  readonly applyPluginChanges: () => Promise<void>;
  /** Called when runs of these functions may be due. */
  readonly onDue: (functions: ReadonlySet<string>) => void;
  readonly now: () => number;
}

export class TriggerPlanner {
  readonly #deps: TriggerPlannerDeps;
  readonly #fairYield = new FairScheduler();
  #requested = new TriggerIndex([], new Map());
  #consumer: Consumer | null = null;
  /** Consumers start and stop one after the other. */
  #changing: Promise<void> = Promise.resolve();

  constructor(deps: TriggerPlannerDeps) {
    this.#deps = deps;
  }

  /**
   * Sets the active triggers.
   * @param since for each trigger the log position of its activation
   * @param isKnown whether a trigger was active before, so that it continues
   */
  async setActiveTriggers(since: ReadonlyMap<string, LogPosition>, isKnown: (id: string) => boolean): Promise<void> {
    const { active, startPositions } = this.#deps;
    const triggers = active.ofKind('trigger');
    if (triggers.length === 0 && this.#consumer === null) return;
    const stored = await startPositions.triggers();
    const from = new Map<string, number>();
    let first: LogPosition | null = null;
    for (const { id } of triggers) {
      const known = isKnown(id) ? stored.get(id) : undefined;
      const position = since.get(id);
      if (position === undefined) continue;
      from.set(id, known ?? position.number);
      if (first === null || position.number < first.number) first = position;
      if (known === undefined) await startPositions.put({ _id: id, kind: 'trigger', from: position.number });
    }
    await startPositions.remove([...stored.keys()].filter((id) => !from.has(id)));
    if (triggers.length === 0) {
      this.#end();
    } else if (this.#consumer === null) {
      // Ignore an old cursor: no earlier row matters to triggers that all start now.
      const isNew = triggers.every(({ id }) => !isKnown(id) || !stored.has(id));
      this.#begin(isNew ? first : null);
    }
    this.#requested = new TriggerIndex(triggers, from);
  }

  async stop(): Promise<void> {
    await this.#changing;
    await this.#consumer?.stop();
  }

  /** The log position up to which any process has planned; null without triggers. */
  async cursor(): Promise<LogPosition | null> {
    return (await this.#consumer?.cursor()) ?? null;
  }

  #begin(at: LogPosition | null): void {
    const { consumer: make, startPositions } = this.#deps;
    const consumer = make({
      name: CONSUMER,
      concerns: (row) => row.collection === PLUGINS_COLLECTION || this.#requested.by(row).length > 0,
      handle: (rows, allowed) => this.#handle(rows, allowed),
    });
    this.#consumer = consumer;
    this.#changing = this.#changing.then(async () => {
      if (at !== null) await startPositions.setCursor(CONSUMER, at);
      consumer.start();
    });
  }

  /** Not awaited: the consumer may be waiting for its caller. */
  #end(): void {
    const consumer = this.#consumer;
    this.#consumer = null;
    this.#changing = this.#changing.then(async () => {
      await consumer?.stop();
      await this.#deps.startPositions.removeCursor(CONSUMER);
    });
  }

  async #handle(rows: readonly LogRow[], allowed: () => boolean): Promise<void> {
    const lane = this.#fairYield.createTask(this);
    let batch: RunRow[] = [];
    let bytes = 0;
    const flush = async () => {
      if (batch.length > 0) await this.#store(batch, allowed);
      batch = [];
      bytes = 0;
    };
    for (const row of rows) {
      if (lane.shouldYield) await lane.waitTurn();
      const triggers = this.#requested.by(row);
      if (triggers.length > 0) {
        const runs = await this.#deps.rows.of(row, triggers, lane);
        batch.push(...runs);
        bytes += runs.reduce((sum, { inputBytes }) => sum + inputBytes, 0);
        if (batch.length >= MOST_RUNS || bytes >= MOST_BYTES) await flush();
      }
      // Later rows are for the plugins as they are then.
      if (row.collection === PLUGINS_COLLECTION) await this.#deps.applyPluginChanges();
    }
    await flush();
  }

  async #store(runs: readonly RunRow[], allowed: () => boolean): Promise<void> {
    if (!allowed()) throw new Error('Another process now holds the lease');
    const { store, onDue, now } = this.#deps;
    await store.insert(runs);
    const lines = new Set(runs.flatMap(({ line }) => line ?? []));
    await store.releaseHeads([...lines], new Date(now()));
    onDue(new Set(runs.map(functionIdOf)));
  }
}
