/**
 * Plans the runs of triggers: a consumer of the event log, in one process at a time. For each row the triggers in force then
 * become runs that wait, before its cursor moves; ids are made of function and event, so nothing is lost and nothing is
 * planned twice. While no trigger is in force there is no consumer and no cursor. Not here: which runs a row makes
 * (row-runs.ts), and running them (run-dispatch.ts).
 */
import type { LogPosition } from '../../../../events/log/position.ts';
import type { LogRow } from '../../../../events/log/row.ts';
import type { EventParts } from '../../../../events/open-events.ts';
import type { Consumer } from '../../../../events/read/consumer.ts';
import { Turnstile } from '../../../../query/evaluate/turnstile.ts';
import type { ActivePlugins } from '../../../plugins/plugin.ts';
import { PLUGINS_COLLECTION } from '../../../plugins/store/plugin-row.ts';
import type { RunRow } from '../../../runs/run-row.ts';
import type { QueueStore } from '../running/queue-store.ts';
import { functionOf } from '../running/queued-run.ts';
import type { RowRuns } from './row-runs.ts';
import type { StandingStore } from './standing-store.ts';
import { WantedTriggers } from './wanted-triggers.ts';

const CONSUMER = 'functions';
/** Runs, and bytes of their inputs, that are inserted at a time. */
const MOST_RUNS = 500;
const MOST_BYTES = 8 * 1024 * 1024;

export interface TriggerPlannerParts {
  readonly consumer: EventParts['consumer'];
  readonly active: ActivePlugins;
  readonly standing: StandingStore;
  readonly store: Pick<QueueStore, 'insert' | 'releaseHeads'>;
  readonly rows: RowRuns;
  /** Puts in force what was stored of plugins before this call, and resolves when the triggers of this planner follow. */
  readonly caughtUp: () => Promise<void>;
  /** Called when runs of these functions may be due. */
  readonly onDue: (functions: ReadonlySet<string>) => void;
  readonly now: () => number;
}

export class TriggerPlanner {
  readonly #parts: TriggerPlannerParts;
  readonly #turnstile = new Turnstile();
  #wanted = new WantedTriggers([], new Map());
  #consumer: Consumer | null = null;
  /** Consumers begin and end one after the other. */
  #changing: Promise<void> = Promise.resolve();

  constructor(parts: TriggerPlannerParts) {
    this.#parts = parts;
  }

  /**
   * Takes the triggers that are in force now.
   * @param since for each trigger the place of the log at which it came into force
   * @param isKnown whether a trigger was in force before, so that it goes on where it was
   */
  async settle(since: ReadonlyMap<string, LogPosition>, isKnown: (id: string) => boolean): Promise<void> {
    const { active, standing } = this.#parts;
    const triggers = active.ofKind('trigger');
    if (triggers.length === 0 && this.#consumer === null) return;
    const stored = await standing.triggers();
    const from = new Map<string, number>();
    let first: LogPosition | null = null;
    for (const { id } of triggers) {
      const known = isKnown(id) ? stored.get(id) : undefined;
      const place = since.get(id);
      if (place === undefined) continue;
      from.set(id, known ?? place.number);
      if (first === null || place.number < first.number) first = place;
      if (known === undefined) await standing.put({ _id: id, kind: 'trigger', from: place.number });
    }
    await standing.remove([...stored.keys()].filter((id) => !from.has(id)));
    if (triggers.length === 0) {
      this.#end();
    } else if (this.#consumer === null) {
      // Whatever a cursor of former times says: nothing before counts for triggers that all begin now.
      const isNew = triggers.every(({ id }) => !isKnown(id) || !stored.has(id));
      this.#begin(isNew ? first : null);
    }
    this.#wanted = new WantedTriggers(triggers, from);
  }

  async stop(): Promise<void> {
    await this.#changing;
    await this.#consumer?.stop();
  }

  /** How far the log is planned, wherever that is done; null while there is no trigger. */
  async cursor(): Promise<LogPosition | null> {
    return (await this.#consumer?.cursor()) ?? null;
  }

  #begin(at: LogPosition | null): void {
    const { consumer: make, standing } = this.#parts;
    const consumer = make({
      name: CONSUMER,
      concerns: (row) => row.collection === PLUGINS_COLLECTION || this.#wanted.by(row).length > 0,
      handle: (rows, allowed) => this.#handle(rows, allowed),
    });
    this.#consumer = consumer;
    this.#changing = this.#changing.then(async () => {
      if (at !== null) await standing.placeCursor(CONSUMER, at);
      consumer.start();
    });
  }

  /** Not awaited by who asks: the consumer may be waiting for it. */
  #end(): void {
    const consumer = this.#consumer;
    this.#consumer = null;
    this.#changing = this.#changing.then(async () => {
      await consumer?.stop();
      await this.#parts.standing.removeCursor(CONSUMER);
    });
  }

  async #handle(rows: readonly LogRow[], allowed: () => boolean): Promise<void> {
    const lane = this.#turnstile.lane(this);
    let batch: RunRow[] = [];
    let bytes = 0;
    const flush = async () => {
      if (batch.length > 0) await this.#store(batch, allowed);
      batch = [];
      bytes = 0;
    };
    for (const row of rows) {
      if (lane.isOver) await lane.pass();
      const triggers = this.#wanted.by(row);
      if (triggers.length > 0) {
        const runs = await this.#parts.rows.of(row, triggers, lane);
        batch.push(...runs);
        bytes += runs.reduce((sum, { inputBytes }) => sum + inputBytes, 0);
        if (batch.length >= MOST_RUNS || bytes >= MOST_BYTES) await flush();
      }
      // What comes after it is for the plugins as they are then.
      if (row.collection === PLUGINS_COLLECTION) await this.#parts.caughtUp();
    }
    await flush();
  }

  async #store(runs: readonly RunRow[], allowed: () => boolean): Promise<void> {
    if (!allowed()) throw new Error('Another process does this work now');
    const { store, onDue, now } = this.#parts;
    await store.insert(runs);
    const lines = new Set(runs.flatMap(({ line }) => line ?? []));
    await store.releaseHeads([...lines], new Date(now()));
    onDue(new Set(runs.map(functionOf)));
  }
}
