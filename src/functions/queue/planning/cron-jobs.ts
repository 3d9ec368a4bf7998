/**
 * Plans the runs of cron jobs, in the one process that runs the queue. Each scheduled time becomes one run, whose id is
 * derived from function and time. A time at which no process ran is made up for once, if it is less than a day old. A
 * time that comes while an earlier run is unfinished is stored as skipped.
 */
import { type CronTimes, cronTimes } from '../../plugins/manifest/cron.ts';
import type { ActivePlugins, PluginFunction } from '../../plugins/plugin.ts';
import type { QueueStore } from '../running/queue-store.ts';
import { createPendingRun, createSkippedRun, runIdFor } from '../running/queued-run-transitions.ts';
import type { CronPosition, FunctionPositionStore } from './function-position-store.ts';

/** Older times are not made up for, in milliseconds. */
const MISSED_MS = 24 * 3_600_000;
/** The longest timer, so that a change of the clock is noticed. */
const MOST_MS = 60_000;
/** Retry delay of a timer that fired slightly early. */
const LEAST_MS = 5;
const AGAIN_MS = 1_000;

const OVERLAP = { code: 'still-running', message: 'The previous run had not ended', stack: null } as const;

export interface CronJobsDeps {
  readonly active: ActivePlugins;
  readonly startPositions: FunctionPositionStore;
  readonly store: Pick<QueueStore, 'insert' | 'isBusy'>;
  /** Whether this process runs the queue. */
  readonly mayRun: () => boolean;
  /** Called when a run of a function is due. */
  readonly onDue: (functions: ReadonlySet<string>) => void;
  readonly onError: (error: unknown) => void;
  readonly now: () => number;
}

interface Planned {
  readonly fn: PluginFunction<'cron'>;
  readonly times: CronTimes;
  startPositions: CronPosition;
}

export class CronJobs {
  readonly #deps: CronJobsDeps;
  #planned: readonly Planned[] = [];
  #hasStored = false;
  #timer: NodeJS.Timeout | undefined;
  #ticking: Promise<void> = Promise.resolve();
  #stopped = false;

  constructor(deps: CronJobsDeps) {
    this.#deps = deps;
  }

  /**
   * Sets the active cron jobs. A new one, or one with another schedule, starts now.
   * @param isKnown whether a cron job was active before, so that it continues
   */
  async setActiveCronJobs(isKnown: (id: string) => boolean): Promise<void> {
    const { active, startPositions, now } = this.#deps;
    const cronJobs = active.ofKind('cron').filter((fn) => !fn.isQuarantined);
    if (cronJobs.length === 0 && !this.#hasStored) return;
    const stored = await startPositions.cronJobs();
    const planned: Planned[] = [];
    for (const fn of cronJobs) {
      const { schedule, timeZone } = fn.options;
      const before = isKnown(fn.id) ? stored.get(fn.id) : undefined;
      const isSame = before !== undefined && before.schedule === schedule && before.timeZone === timeZone;
      const row: CronPosition = isSame ? before : { _id: fn.id, kind: 'cron', schedule, timeZone, at: new Date(now()) };
      if (!isSame) await startPositions.put(row);
      planned.push({ fn, times: await cronTimes(schedule, timeZone), startPositions: row });
    }
    const activeNow = new Set(cronJobs.map(({ id }) => id));
    await startPositions.remove([...stored.keys()].filter((id) => !activeNow.has(id)));
    this.#hasStored = cronJobs.length > 0;
    this.#planned = planned;
    await this.tick();
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    clearTimeout(this.#timer);
    await this.#ticking;
  }

  /** Plans what is due now, and sets the timer for the next time. */
  tick(): Promise<void> {
    this.#ticking = this.#ticking.then(() => this.#tick());
    return this.#ticking;
  }

  async #tick(): Promise<void> {
    if (this.#stopped || !this.#deps.mayRun()) return;
    // One time for the whole pass: a cron job that becomes due in between would be missed here and by the timer.
    const now = new Date(this.#deps.now());
    try {
      for (const planned of this.#planned) await this.#plan(planned, now);
      this.#arm(now);
    } catch (error) {
      this.#deps.onError(error);
      this.#set(AGAIN_MS);
    }
  }

  async #plan(planned: Planned, now: Date): Promise<void> {
    const { store, startPositions, onDue } = this.#deps;
    const { fn, times } = planned;
    const at = times.upTo(now);
    if (at === null || at <= planned.startPositions.at) return;
    if (now.getTime() - at.getTime() <= MISSED_MS) {
      const scheduledAt = at.toISOString();
      const id = runIdFor(fn.id, scheduledAt);
      const input = JSON.stringify({ scheduledAt });
      // Alone in its FIFO group until it has ended.
      const run = {
        id,
        fn,
        input,
        depth: 0,
        restricted: false,
        now,
        dueAt: now,
        more: { scheduledAt: at, line: fn.id },
      };
      await store.insert([(await store.isBusy(fn.id, id)) ? createSkippedRun(run, OVERLAP) : createPendingRun(run)]);
      onDue(new Set([fn.id]));
    }
    await startPositions.passed(planned.startPositions, at);
    planned.startPositions = { ...planned.startPositions, at };
  }

  /** Sets the timer for the first time after the planned one. */
  #arm(planned: Date): void {
    const next = this.#planned.flatMap(({ times }) => times.after(planned)?.getTime() ?? []);
    if (next.length > 0) this.#set(Math.min(MOST_MS, Math.max(LEAST_MS, Math.min(...next) - this.#deps.now())));
  }

  #set(ms: number): void {
    clearTimeout(this.#timer);
    if (this.#stopped) return;
    this.#timer = setTimeout(() => void this.tick(), ms);
    this.#timer.unref();
  }
}
