/**
 * The queue of functions: triggers, cron jobs and jobs, planned and run by the one process that records events. It
 * starts when this process becomes the recorder, and follows the active plugins. Without such functions it is idle and
 * sends no queries.
 */
import type { TransactionRunner } from '../../collections/transaction-runner.ts';
import type { AuditEvents } from '../../database/audit-only-events.ts';
import type { Mongo } from '../../database/mongo.ts';
import { systemEventType } from '../../events/log/event.ts';
import type { LogRow } from '../../events/log/log-row.ts';
import type { LogPosition } from '../../events/log/position.ts';
import type { EventServices } from '../../events/services.ts';
import type { FunctionInvoker } from '../calling/call-types.ts';
import type { ActivePlugins } from '../plugins/plugin.ts';
import { PLUGINS_COLLECTION } from '../plugins/store/plugin-row.ts';
import type { RunError } from '../runs/run.ts';
import type { RunRow } from '../runs/run-row.ts';
import type { LogLine } from '../sandbox/sandbox.ts';
import { CronJobs } from './planning/cron-jobs.ts';
import { FunctionPositionStore } from './planning/function-position-store.ts';
import { TriggerPlanner } from './planning/trigger-planner.ts';
import { TriggerRuns } from './planning/trigger-runs.ts';
import { AttemptFinalizer } from './running/attempt-finalizer.ts';
import { QueueStore } from './running/queue-store.ts';
import { QUEUED_KINDS } from './running/queued-run-transitions.ts';
import { RunDispatch, toRunnableFunction } from './running/run-dispatch.ts';

/** How often a process checks whether it is the recorder, in milliseconds; the check sends no queries. */
const WATCH_MS = 100;
/** Restart delay after a database error. */
const AGAIN_MS = 1_000;
/** How long a run waits for an inactive function. */
const ABANDONED_MS = 7 * 24 * 3_600_000;

/** Events that report runs stored by another process or by a request. */
const STORED: ReadonlySet<string> = new Set(['system.run.queued', 'system.function.replayed']);

const NOT_FOUND: RunError = {
  code: 'function-not-found',
  message: 'For seven days there was no version of the function that could run this',
  stack: null,
};

export interface FunctionQueueDeps {
  readonly mongo: Mongo;
  readonly events: Pick<EventServices, 'consumer' | 'tail' | 'completed'>;
  /** True if this process is the recorder: only that one plans and runs. */
  readonly records: () => boolean;
  readonly active: ActivePlugins;
  /** Activates plugin changes stored before this call. */
  readonly reload: () => Promise<void>;
  readonly calling: FunctionInvoker;
  /** Stops running code when this process ends. */
  readonly interrupt: () => Promise<void>;
  /** Transactions for runs; created for the first run that needs one. */
  readonly atomic: () => Promise<TransactionRunner>;
  readonly activity: AuditEvents;
  /** The public URL of this server; undefined if it is not known. */
  readonly publicUrl: string | undefined;
  /** Called with each line immediately, and with each finished attempt. */
  readonly onLog: (run: RunRow, line: LogLine) => void;
  readonly onEnd: (run: RunRow) => void;
  readonly onError: (error: unknown) => void;
  /** Milliseconds since 1970; for tests. */
  readonly now?: () => number;
}

export class FunctionQueue {
  readonly #deps: FunctionQueueDeps;
  readonly #store: QueueStore;
  readonly #dispatch: RunDispatch;
  readonly #aftermath: AttemptFinalizer;
  readonly #triggers: TriggerPlanner;
  readonly #cronJobs: CronJobs;
  readonly #now: () => number;
  readonly #end = new AbortController();
  #timer: NodeJS.Timeout | undefined;
  #detach: readonly (() => void)[] = [];
  /** `working` after the takeover from the previous recorder. */
  #state: 'idle' | 'beginning' | 'working' = 'idle';
  /** The active functions, and those that were activated while this process recorded. */
  #activeNow: ReadonlySet<string>;
  readonly #fresh = new Set<string>();
  /** The position of the first plugin change that may not be active yet. */
  #mark: LogPosition | null = null;
  /** For each active function the log position of its activation, if this process knows it. */
  readonly #since = new Map<string, LogPosition>();
  #settling: Promise<void> = Promise.resolve();
  #againAt = 0;

  constructor(deps: FunctionQueueDeps) {
    const { mongo, events, active, calling, atomic, activity, onLog, onEnd, onError } = deps;
    const now = deps.now ?? Date.now;
    this.#deps = deps;
    this.#now = now;
    this.#activeNow = this.#ids();
    const store = new QueueStore(mongo);
    const startPositions = new FunctionPositionStore(mongo);
    const mayRun = () => {
      // A caller that gets `false` does not check again. Record the pause, so that the next check restarts the work
      // even if recording has resumed by then.
      if (!deps.records()) this.#pause();
      return this.#state === 'working';
    };
    const onDue = (functions: ReadonlySet<string>) => this.#reported(this.#dispatch.runDue(functions));
    this.#store = store;
    this.#aftermath = new AttemptFinalizer({ store, activity, onEnd, now, signal: this.#end.signal });
    this.#dispatch = new RunDispatch({
      store,
      active,
      calling,
      atomic,
      aftermath: this.#aftermath,
      mayRun,
      onLog,
      onError,
      now,
    });
    this.#triggers = new TriggerPlanner({
      consumer: events.consumer,
      active,
      startPositions,
      store,
      rows: new TriggerRuns({ completed: events.completed, publicUrl: deps.publicUrl, now }),
      applyPluginChanges: async () => {
        await deps.reload();
        await this.#settling;
      },
      onDue,
      now,
    });
    this.#cronJobs = new CronJobs({ active, startPositions, store, mayRun, onDue, onError, now });
  }

  /** Starts. Functions that are active now may have been active before. */
  start(): void {
    const { active, events } = this.#deps;
    this.#takeActive();
    this.#detach = [
      active.onChange(() => this.#change()),
      events.tail.attach({
        rows: (rows) => {
          for (const row of rows) this.#take(row);
        },
        lost: () => this.#reported(this.#dispatch.runDue()),
      }),
    ];
    this.#keepWatch();
  }

  /** Stops planning and starting runs. Running ones get a grace period; the rest are released to the queue. */
  async stop(): Promise<void> {
    clearInterval(this.#timer);
    for (const detach of this.#detach) detach();
    this.#end.abort();
    await this.#settling;
    await this.#cronJobs.stop();
    await this.#triggers.stop();
    if (await this.#dispatch.stop()) return;
    await this.#deps.interrupt();
    await this.#dispatch.waitUntilIdle();
  }

  /** Checks for everything that is due now: after a test set the clock, and after a run was stored elsewhere. */
  async runDue(): Promise<void> {
    await this.#settling;
    await this.#cronJobs.tick();
    await this.#dispatch.runDue();
  }

  /** Resolves when no run is running in this process. */
  async waitUntilIdle(): Promise<void> {
    await this.#settling;
    await this.#dispatch.waitUntilIdle();
  }

  /** The planned log position; null without triggers. */
  cursor(): Promise<LogPosition | null> {
    return this.#triggers.cursor();
  }

  /** Ids of the active functions. */
  #ids(): ReadonlySet<string> {
    return new Set(QUEUED_KINDS.flatMap((kind) => this.#deps.active.ofKind(kind).map(({ id }) => id)));
  }

  #take(row: LogRow): void {
    if (row.collection === PLUGINS_COLLECTION) this.#reported(this.#takePluginRow(row));
    if (row.collection !== '_activity' || this.#state !== 'working') return;
    if (STORED.has(systemEventType(row) ?? '')) this.#reported(this.#dispatch.runDue());
  }

  /** Until the change is active here, functions may be activated by it. */
  async #takePluginRow({ epoch, number }: LogRow): Promise<void> {
    if (this.#mark !== null) return;
    this.#mark = { epoch, number };
    await this.#deps.reload();
    this.#mark = null;
  }

  /** Records which functions are active now. */
  #takeActive(): void {
    this.#activeNow = this.#ids();
    const position = this.#mark ?? this.#deps.events.tail.position;
    for (const id of this.#activeNow) if (!this.#since.has(id)) this.#since.set(id, position);
    for (const id of this.#since.keys()) if (!this.#activeNow.has(id)) this.#since.delete(id);
  }

  #change(): void {
    const before = this.#activeNow;
    this.#takeActive();
    // Other processes know such a function since its activation; this process may take over from them.
    if (this.#deps.records()) for (const id of this.#activeNow) if (!before.has(id)) this.#fresh.add(id);
    this.#keepWatch();
    if (this.#state !== 'idle') this.#settle();
  }

  /** Checks whether this process is the recorder, while any function needs a queue. */
  #keepWatch(): void {
    if (this.#activeNow.size === 0 || this.#timer !== undefined) return;
    this.#timer = setInterval(() => this.#watch(), WATCH_MS);
    this.#timer.unref();
    this.#watch();
  }

  /** Starts when this process becomes the recorder, and stops when it no longer is. */
  #watch(): void {
    if (!this.#deps.records()) {
      this.#pause();
    } else if (this.#state === 'idle' && performance.now() >= this.#againAt) {
      this.#state = 'beginning';
      this.#settle();
    }
  }

  /** This process is not the recorder. */
  #pause(): void {
    this.#state = 'idle';
    this.#fresh.clear();
  }

  /** Applies the active functions, one change after the other. */
  #settle(): void {
    this.#settling = this.#settling
      .then(() => this.#settleNow())
      .catch((error: unknown) => {
        this.#deps.onError(error);
        this.#state = 'idle';
        this.#againAt = performance.now() + AGAIN_MS;
      });
  }

  async #settleNow(): Promise<void> {
    if (this.#state === 'idle' || this.#end.signal.aborted) return;
    const fresh = new Set(this.#fresh);
    if (this.#state === 'beginning') await this.#begin();
    const isKnown = (id: string) => !fresh.has(id);
    await this.#triggers.setActiveTriggers(this.#since, isKnown);
    await this.#cronJobs.setActiveCronJobs(isKnown);
    for (const id of fresh) this.#fresh.delete(id);
    if (this.#activeNow.size > 0) {
      await this.#endAbandoned();
      await this.#dispatch.runDue();
      return;
    }
    clearInterval(this.#timer);
    this.#timer = undefined;
    this.#state = 'idle';
  }

  /** Takes over the runs of the previous recorder. */
  async #begin(): Promise<void> {
    await this.#store.prepare();
    await this.#aftermath.takeOver(this.#dispatch.tokens);
    await this.#store.releaseAllHeads(new Date(this.#now()));
    if (this.#deps.records() && this.#state === 'beginning') this.#state = 'working';
  }

  async #endAbandoned(): Promise<void> {
    const now = this.#now();
    const all = QUEUED_KINDS.flatMap((kind) => this.#deps.active.ofKind(kind).map(toRunnableFunction));
    const lines = await this.#store.endAbandoned(all, new Date(now - ABANDONED_MS), NOT_FOUND, new Date(now));
    await this.#store.releaseHeads(lines, new Date(now));
  }

  #reported(looking: Promise<void>): void {
    looking.catch(this.#deps.onError);
  }
}
