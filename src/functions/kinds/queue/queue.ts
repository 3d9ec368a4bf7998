/**
 * The queue of functions: triggers, crons and jobs, planned and run by the one process that records events. It begins its work
 * when this process becomes that one, and follows the plugins in force. While no plugin has such a function it does nothing and
 * asks the database nothing. Not here: planning (trigger-planner.ts, crons.ts), running (run-dispatch.ts), jobs (jobs.ts).
 */
import type { Atomic } from '../../../collections/atomic.ts';
import type { Activity } from '../../../database/activity.ts';
import type { Mongo } from '../../../database/mongo.ts';
import { systemType } from '../../../events/log/event.ts';
import type { LogPosition } from '../../../events/log/position.ts';
import type { LogRow } from '../../../events/log/row.ts';
import type { EventParts } from '../../../events/open-events.ts';
import type { Calling } from '../../calling/calling.ts';
import type { ActivePlugins } from '../../plugins/plugin.ts';
import { PLUGINS_COLLECTION } from '../../plugins/store/plugin-row.ts';
import type { RunError } from '../../runs/run.ts';
import type { RunRow } from '../../runs/run-row.ts';
import type { LogLine } from '../../sandbox/sandbox.ts';
import { Crons } from './planning/crons.ts';
import { RowRuns } from './planning/row-runs.ts';
import { StandingStore } from './planning/standing-store.ts';
import { TriggerPlanner } from './planning/trigger-planner.ts';
import { Aftermath } from './running/aftermath.ts';
import { QueueStore } from './running/queue-store.ts';
import { QUEUED_KINDS } from './running/queued-run.ts';
import { RunDispatch, runnableOf } from './running/run-dispatch.ts';

/** How often a process looks whether it records now, in milliseconds; it asks the database nothing. */
const WATCH_MS = 100;
/** How soon the work begins anew after an error of the database. */
const AGAIN_MS = 1_000;
/** How long a run waits for a function that is not in force. */
const ABANDONED_MS = 7 * 24 * 3_600_000;

/** Events that tell that runs were stored by another process, or by a request. */
const STORED: ReadonlySet<string> = new Set(['system.function.scheduled', 'system.function.replayed']);

const NOT_FOUND: RunError = {
  code: 'function-not-found',
  message: 'For seven days there was no version of the function that may be given this run',
  stack: null,
};

export interface QueueNeeds {
  readonly mongo: Mongo;
  readonly events: Pick<EventParts, 'consumer' | 'tail' | 'completed'>;
  /** True if this process records events: only that one plans and runs. */
  readonly records: () => boolean;
  readonly active: ActivePlugins;
  /** Puts in force what was stored of plugins before this call. */
  readonly reload: () => Promise<void>;
  readonly calling: Calling;
  /** Ends the code that is under way, when this process ends. */
  readonly interrupt: () => Promise<void>;
  /** Transactions for runs; made when the first run needs one. */
  readonly atomic: () => Promise<Atomic>;
  readonly activity: Activity;
  /** The address of this server for clients; undefined when it is not known. */
  readonly publicUrl: string | undefined;
  /** Told of each line at once, and of each attempt that has ended. */
  readonly onLog: (run: RunRow, line: LogLine) => void;
  readonly onEnd: (run: RunRow) => void;
  readonly onError: (error: unknown) => void;
  /** Milliseconds since 1970; for tests. */
  readonly now?: () => number;
}

export class Queue {
  readonly #needs: QueueNeeds;
  readonly #store: QueueStore;
  readonly #dispatch: RunDispatch;
  readonly #aftermath: Aftermath;
  readonly #triggers: TriggerPlanner;
  readonly #crons: Crons;
  readonly #now: () => number;
  readonly #end = new AbortController();
  #timer: NodeJS.Timeout | undefined;
  #detach: readonly (() => void)[] = [];
  /** `working` since the work was taken over from the process that recorded before. */
  #state: 'idle' | 'beginning' | 'working' = 'idle';
  /** The functions that are in force, and those of them that came into force while this process recorded. */
  #inForce: ReadonlySet<string>;
  readonly #fresh = new Set<string>();
  /** The place of the first change of a plugin that may not be in force yet. */
  #mark: LogPosition | null = null;
  /** For each function in force the place of the log at which it came into force, as far as this process knows. */
  readonly #since = new Map<string, LogPosition>();
  #settling: Promise<void> = Promise.resolve();
  #againAt = 0;

  constructor(needs: QueueNeeds) {
    const { mongo, events, active, calling, atomic, activity, onLog, onEnd, onError } = needs;
    const now = needs.now ?? Date.now;
    this.#needs = needs;
    this.#now = now;
    this.#inForce = this.#ids();
    const store = new QueueStore(mongo);
    const standing = new StandingStore(mongo);
    const mayRun = () => {
      // A caller that gets `false` does not ask again. So the pause is noted here: the next watch begins the work anew, even if
      // recording has gone on by then.
      if (!needs.records()) this.#pause();
      return this.#state === 'working';
    };
    const onDue = (functions: ReadonlySet<string>) => this.#told(this.#dispatch.look(functions));
    this.#store = store;
    this.#aftermath = new Aftermath({ store, activity, onEnd, now, signal: this.#end.signal });
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
      standing,
      store,
      rows: new RowRuns({ completed: events.completed, publicUrl: needs.publicUrl, now }),
      caughtUp: async () => {
        await needs.reload();
        await this.#settling;
      },
      onDue,
      now,
    });
    this.#crons = new Crons({ active, standing, store, mayRun, onDue, onError, now });
  }

  /** Starts. What is in force now may have been in force before. */
  start(): void {
    const { active, events } = this.#needs;
    this.#takeInForce();
    this.#detach = [
      active.onChange(() => this.#change()),
      events.tail.attach({
        rows: (rows) => {
          for (const row of rows) this.#take(row);
        },
        lost: () => this.#told(this.#dispatch.look()),
      }),
    ];
    this.#keepWatch();
  }

  /** Plans and begins nothing more. Runs that are under way get a moment; what is left of them then is given back. */
  async stop(): Promise<void> {
    clearInterval(this.#timer);
    for (const detach of this.#detach) detach();
    this.#end.abort();
    await this.#settling;
    await this.#crons.stop();
    await this.#triggers.stop();
    if (await this.#dispatch.stop()) return;
    await this.#needs.interrupt();
    await this.#dispatch.quiet();
  }

  /** Looks for everything that is due now: after a clock was set in a test, and when a run was stored from elsewhere. */
  async look(): Promise<void> {
    await this.#settling;
    await this.#crons.tick();
    await this.#dispatch.look();
  }

  /** Resolves when no run is under way in this process. */
  async quiet(): Promise<void> {
    await this.#settling;
    await this.#dispatch.quiet();
  }

  /** How far the log is planned; null while there is no trigger. */
  cursor(): Promise<LogPosition | null> {
    return this.#triggers.cursor();
  }

  /** Ids of the functions that are in force. */
  #ids(): ReadonlySet<string> {
    return new Set(QUEUED_KINDS.flatMap((kind) => this.#needs.active.ofKind(kind).map(({ id }) => id)));
  }

  #take(row: LogRow): void {
    if (row.collection === PLUGINS_COLLECTION) this.#told(this.#takePluginRow(row));
    if (row.collection !== '_activity' || this.#state !== 'working') return;
    if (STORED.has(systemType(row) ?? '')) this.#told(this.#dispatch.look());
  }

  /** Until the change is in force here, functions that come into force may do so by it. */
  async #takePluginRow({ epoch, number }: LogRow): Promise<void> {
    if (this.#mark !== null) return;
    this.#mark = { epoch, number };
    await this.#needs.reload();
    this.#mark = null;
  }

  /** Notes which functions are in force now. */
  #takeInForce(): void {
    this.#inForce = this.#ids();
    const place = this.#mark ?? this.#needs.events.tail.position;
    for (const id of this.#inForce) if (!this.#since.has(id)) this.#since.set(id, place);
    for (const id of this.#since.keys()) if (!this.#inForce.has(id)) this.#since.delete(id);
  }

  #change(): void {
    const before = this.#inForce;
    this.#takeInForce();
    // Elsewhere such a function is known since it came into force; this process may take over from there.
    if (this.#needs.records()) for (const id of this.#inForce) if (!before.has(id)) this.#fresh.add(id);
    this.#keepWatch();
    if (this.#state !== 'idle') this.#settle();
  }

  /** Watches whether this process records, as long as there is a function that needs a queue. */
  #keepWatch(): void {
    if (this.#inForce.size === 0 || this.#timer !== undefined) return;
    this.#timer = setInterval(() => this.#watch(), WATCH_MS);
    this.#timer.unref();
    this.#watch();
  }

  /** Begins when this process has become the one that records, and ends when it is not any more. */
  #watch(): void {
    if (!this.#needs.records()) {
      this.#pause();
    } else if (this.#state === 'idle' && performance.now() >= this.#againAt) {
      this.#state = 'beginning';
      this.#settle();
    }
  }

  /** This process does not record now. */
  #pause(): void {
    this.#state = 'idle';
    this.#fresh.clear();
  }

  /** Takes the functions that are in force now; one after the other. */
  #settle(): void {
    this.#settling = this.#settling
      .then(() => this.#settleNow())
      .catch((error: unknown) => {
        this.#needs.onError(error);
        this.#state = 'idle';
        this.#againAt = performance.now() + AGAIN_MS;
      });
  }

  async #settleNow(): Promise<void> {
    if (this.#state === 'idle' || this.#end.signal.aborted) return;
    const fresh = new Set(this.#fresh);
    if (this.#state === 'beginning') await this.#begin();
    const isKnown = (id: string) => !fresh.has(id);
    await this.#triggers.settle(this.#since, isKnown);
    await this.#crons.settle(isKnown);
    for (const id of fresh) this.#fresh.delete(id);
    if (this.#inForce.size > 0) {
      await this.#endAbandoned();
      await this.#dispatch.look();
      return;
    }
    clearInterval(this.#timer);
    this.#timer = undefined;
    this.#state = 'idle';
  }

  /** Takes over what the process before has left. */
  async #begin(): Promise<void> {
    await this.#store.prepare();
    await this.#aftermath.takeOver(this.#dispatch.tokens);
    await this.#store.releaseAllHeads(new Date(this.#now()));
    if (this.#needs.records() && this.#state === 'beginning') this.#state = 'working';
  }

  async #endAbandoned(): Promise<void> {
    const now = this.#now();
    const all = QUEUED_KINDS.flatMap((kind) => this.#needs.active.ofKind(kind).map(runnableOf));
    const lines = await this.#store.endAbandoned(all, new Date(now - ABANDONED_MS), NOT_FOUND, new Date(now));
    await this.#store.releaseHeads(lines, new Date(now));
  }

  #told(looking: Promise<void>): void {
    looking.catch(this.#needs.onError);
  }
}
