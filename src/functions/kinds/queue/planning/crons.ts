/**
 * Plans the runs of crons, in the one process that runs the queue. Each time becomes one run, whose id is made of function and
 * time. A time at which no process ran is made up for once, when it is less than a day old. A time that comes while an earlier
 * run has not ended is stored as refused. Not here: when a cron is due (plugins/manifest/cron.ts), and running (run-dispatch.ts).
 */
import { type CronTimes, cronTimes } from '../../../plugins/manifest/cron.ts';
import type { ActivePlugins, PluginFunction } from '../../../plugins/plugin.ts';
import type { QueueStore } from '../running/queue-store.ts';
import { refusedRun, runIdFor, waitingRun } from '../running/queued-run.ts';
import type { StandingCron, StandingStore } from './standing-store.ts';

/** Times that are older are not made up for, in milliseconds. */
const MISSED_MS = 24 * 3_600_000;
/** No timer is longer, so that a change of the clock is noticed. */
const MOST_MS = 60_000;
/** A timer that fired a moment too early is set again. */
const LEAST_MS = 5;
const AGAIN_MS = 1_000;

const OVERLAP = { code: 'still-running', message: 'The run before it had not ended', stack: null } as const;

export interface CronsParts {
  readonly active: ActivePlugins;
  readonly standing: StandingStore;
  readonly store: Pick<QueueStore, 'insert' | 'isBusy'>;
  /** Whether this process is the one that runs the queue. */
  readonly mayRun: () => boolean;
  /** Called when a run of a function is due. */
  readonly onDue: (functions: ReadonlySet<string>) => void;
  readonly onError: (error: unknown) => void;
  readonly now: () => number;
}

interface Planned {
  readonly fn: PluginFunction<'cron'>;
  readonly times: CronTimes;
  standing: StandingCron;
}

export class Crons {
  readonly #parts: CronsParts;
  #planned: readonly Planned[] = [];
  #hasStored = false;
  #timer: NodeJS.Timeout | undefined;
  #ticking: Promise<void> = Promise.resolve();
  #stopped = false;

  constructor(parts: CronsParts) {
    this.#parts = parts;
  }

  /**
   * Takes the crons that are in force now. One that has just come into force, or has another schedule, begins now.
   * @param isKnown whether a cron was in force before, so that it goes on where it was
   */
  async settle(isKnown: (id: string) => boolean): Promise<void> {
    const { active, standing, now } = this.#parts;
    const crons = active.ofKind('cron').filter((fn) => !fn.isQuarantined);
    if (crons.length === 0 && !this.#hasStored) return;
    const stored = await standing.crons();
    const planned: Planned[] = [];
    for (const fn of crons) {
      const { schedule, timeZone } = fn.use;
      const before = isKnown(fn.id) ? stored.get(fn.id) : undefined;
      const isSame = before !== undefined && before.schedule === schedule && before.timeZone === timeZone;
      const row: StandingCron = isSame ? before : { _id: fn.id, kind: 'cron', schedule, timeZone, at: new Date(now()) };
      if (!isSame) await standing.put(row);
      planned.push({ fn, times: await cronTimes(schedule, timeZone), standing: row });
    }
    const inForce = new Set(crons.map(({ id }) => id));
    await standing.remove([...stored.keys()].filter((id) => !inForce.has(id)));
    this.#hasStored = crons.length > 0;
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
    if (this.#stopped || !this.#parts.mayRun()) return;
    // One time for all of this: a cron that becomes due in between would be missed, and by the timer, too.
    const now = new Date(this.#parts.now());
    try {
      for (const planned of this.#planned) await this.#plan(planned, now);
      this.#arm(now);
    } catch (error) {
      this.#parts.onError(error);
      this.#set(AGAIN_MS);
    }
  }

  async #plan(planned: Planned, now: Date): Promise<void> {
    const { store, standing, onDue } = this.#parts;
    const { fn, times } = planned;
    const at = times.upTo(now);
    if (at === null || at <= planned.standing.at) return;
    if (now.getTime() - at.getTime() <= MISSED_MS) {
      const scheduledAt = at.toISOString();
      const id = runIdFor(fn.id, scheduledAt);
      const input = JSON.stringify({ scheduledAt });
      // It is alone in its line, until it has ended.
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
      await store.insert([(await store.isBusy(fn.id, id)) ? refusedRun(run, OVERLAP) : waitingRun(run)]);
      onDue(new Set([fn.id]));
    }
    await standing.passed(planned.standing, at);
    planned.standing = { ...planned.standing, at };
  }

  /** Sets the timer for the first time after the one up to which was planned. */
  #arm(planned: Date): void {
    const next = this.#planned.flatMap(({ times }) => times.after(planned)?.getTime() ?? []);
    if (next.length > 0) this.#set(Math.min(MOST_MS, Math.max(LEAST_MS, Math.min(...next) - this.#parts.now())));
  }

  #set(ms: number): void {
    clearTimeout(this.#timer);
    if (this.#stopped) return;
    this.#timer = setTimeout(() => void this.tick(), ms);
    this.#timer.unref();
  }
}
