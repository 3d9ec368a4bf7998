/**
 * Runs what is due in the queue, in the one process that records: with limited concurrency, fairly between functions,
 * and one run of a FIFO group at a time. Pending runs stay in the database; only some ids are held in memory. Between
 * due times it sends no queries.
 */
import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import type { ActivePlugins, PluginFunction } from '../../plugins/plugin.ts';
import { type AttemptDeps, attemptRun } from './attempt.ts';
import type { AttemptFinalizer } from './attempt-finalizer.ts';
import type { QueueStore, RunnableFunction } from './queue-store.ts';
import { functionIdOf, QUEUED_KINDS } from './queued-run.ts';
import { RunSlots } from './run-slots.ts';

/** Ids of due runs that are held for one function. */
const WINDOW = 32;
/** Minimum interval between queries for due runs, in milliseconds. */
const LEAST_MS = 20;
/** Retry delay after a database error. */
const AGAIN_MS = 1_000;
/** Grace period for running runs when the process ends. */
const GRACE_MS = 3_000;
/** The longest timer of Node. */
const MOST_MS = 2 ** 31 - 1;

export interface RunDispatchDeps extends Omit<AttemptDeps, 'store'> {
  readonly store: QueueStore;
  readonly active: ActivePlugins;
  readonly aftermath: AttemptFinalizer;
  /** Whether this process runs the queue. */
  readonly mayRun: () => boolean;
}

export class RunDispatch {
  readonly #deps: RunDispatchDeps;
  readonly #slots = new RunSlots();
  /** Ids of due runs, by function; the next function comes first. */
  readonly #window = new Map<string, string[]>();
  /** Functions with more due runs than the window holds. */
  readonly #stale = new Set<string>();
  /** Tokens of the runs of this process, and their completion. */
  readonly #underWay = new Map<string, Promise<void>>();
  #turning: Promise<void> | null = null;
  #again = false;
  #timer: NodeJS.Timeout | undefined;
  #timerAt = Number.POSITIVE_INFINITY;
  #stopped = false;

  constructor(deps: RunDispatchDeps) {
    this.#deps = deps;
  }

  /** Tokens of the runs of this process. */
  get tokens(): readonly string[] {
    return [...this.#underWay.keys()];
  }

  /**
   * Starts no more runs, and gives running ones a grace period.
   * @returns whether all of them have ended
   */
  async stop(): Promise<boolean> {
    this.#stopped = true;
    clearTimeout(this.#timer);
    const end = new AbortController();
    const grace = pause(GRACE_MS, undefined, { signal: end.signal }).catch(() => undefined);
    await Promise.race([this.waitUntilIdle(), grace]);
    end.abort();
    return this.#underWay.size === 0;
  }

  /**
   * Queries due runs, of all or the named functions, and the next due time. Resolves when every run that can start has
   * started.
   */
  async runDue(functions?: Iterable<string>): Promise<void> {
    if (this.#stopped || !this.#deps.mayRun()) return;
    for (const id of functions ?? this.#activeNow().keys()) this.#stale.add(id);
    if (functions === undefined) await this.#armNext();
    await this.#turn();
  }

  /** Schedules a query for due runs. */
  arm(at: Date): void {
    if (this.#stopped || at.getTime() >= this.#timerAt) return;
    clearTimeout(this.#timer);
    this.#timerAt = at.getTime();
    const wait = Math.min(MOST_MS, Math.max(LEAST_MS, this.#timerAt - this.#deps.now()));
    this.#timer = setTimeout(() => {
      this.#timerAt = Number.POSITIVE_INFINITY;
      this.#looked(this.runDue());
    }, wait);
    this.#timer.unref();
  }

  /** Resolves when nothing is running. */
  async waitUntilIdle(): Promise<void> {
    for (;;) {
      await this.#turning;
      if (this.#underWay.size === 0) return;
      await Promise.all(this.#underWay.values());
    }
  }

  #looked(looking: Promise<void>): void {
    looking.catch((error: unknown) => {
      this.#deps.onError(error);
      this.arm(new Date(this.#deps.now() + AGAIN_MS));
    });
  }

  async #armNext(): Promise<void> {
    const next = await this.#deps.store.nextDue(new Date(this.#deps.now()));
    if (next !== null) this.arm(next);
  }

  /** The functions whose runs may run. */
  #activeNow(): ReadonlyMap<string, PluginFunction> {
    const { active } = this.#deps;
    const all = QUEUED_KINDS.flatMap((kind): readonly PluginFunction[] => active.ofKind(kind));
    return new Map(all.filter((fn) => !fn.isQuarantined).map((fn) => [fn.id, fn]));
  }

  /** One pass at a time; another one if it was requested meanwhile. */
  #turn(): Promise<void> {
    this.#again = true;
    this.#turning ??= this.#turns();
    return this.#turning;
  }

  async #turns(): Promise<void> {
    // The promise of this pass must be known before the pass can end.
    await null;
    try {
      while (this.#again && !this.#stopped && this.#deps.mayRun()) {
        this.#again = false;
        const activeNow = this.#activeNow();
        if (this.#slots.free > 0) await this.#refill(activeNow);
        for (let fn = this.#next(activeNow); fn !== null; fn = this.#next(activeNow)) this.#begin(fn);
      }
    } finally {
      this.#turning = null;
    }
  }

  async #refill(activeNow: ReadonlyMap<string, PluginFunction>): Promise<void> {
    const empty = [...this.#stale].filter((id) => !this.#window.has(id));
    const requested = empty.flatMap((id) => activeNow.get(id) ?? []).filter(({ id }) => this.#slots.mayBegin(id));
    if (requested.length === 0) return;
    // Runs that become due from here on are reported again.
    for (const { id } of requested) this.#stale.delete(id);
    try {
      const now = new Date(this.#deps.now());
      const found = await this.#deps.store.due(requested.map(toRunnableFunction), now, WINDOW);
      for (const [id, runs] of Map.groupBy(found, functionIdOf)) {
        this.#window.set(
          id,
          runs.map(({ _id }) => _id),
        );
        if (runs.length >= WINDOW) this.#stale.add(id);
      }
    } catch (error) {
      for (const { id } of requested) this.#stale.add(id);
      throw error;
    }
  }

  /** The next function with a due run and a free slot; it then moves behind the others. */
  #next(activeNow: ReadonlyMap<string, PluginFunction>): PluginFunction | null {
    for (const [id, runs] of this.#window) {
      const fn = activeNow.get(id);
      if (fn === undefined) {
        this.#window.delete(id);
        continue;
      }
      if (!this.#slots.mayBegin(id)) continue;
      this.#window.delete(id);
      this.#window.set(id, runs);
      return fn;
    }
    return null;
  }

  #begin(fn: PluginFunction): void {
    const runs = this.#window.get(fn.id) ?? [];
    const id = runs.shift();
    if (runs.length === 0) this.#window.delete(fn.id);
    if (id === undefined) return;
    const token = randomUUID();
    this.#slots.begin(fn.id);
    const running = this.#run(fn, id, token)
      .then((course) => this.#slots.end(fn.id, course))
      .catch((error: unknown) => {
        this.#slots.end(fn.id, 'other');
        this.#deps.onError(error);
        // It may still be due.
        this.#stale.add(fn.id);
        this.arm(new Date(this.#deps.now() + AGAIN_MS));
      })
      .finally(() => {
        this.#underWay.delete(token);
        this.#looked(this.#turn());
      });
    this.#underWay.set(token, running);
  }

  async #run(fn: PluginFunction, id: string, token: string) {
    const { store, aftermath, now } = this.#deps;
    const run = await store.claim(id, token, toRunnableFunction(fn), fn.plugin.version, new Date(now()));
    if (run === null) return 'other';
    const end = await attemptRun(fn, run, token, this.#deps);
    const { outcome: course, dueAt, hasNext } = await aftermath.of(run, token, end, this.#stopped);
    if (hasNext) this.#stale.add(fn.id);
    if (dueAt !== null) this.arm(dueAt);
    return course;
  }
}

/** The function as the store queries its runs. */
export function toRunnableFunction({ name, plugin }: PluginFunction): RunnableFunction {
  return { plugin: plugin.name, function: name, readsUsers: plugin.readsUsers };
}
