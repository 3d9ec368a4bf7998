/**
 * Runs what is due in the queue, in the one process that records: a few runs at one time, functions taking turns, and of one
 * line one run after the other. What waits stays in the database; a few ids of it are held in memory. Between two times at
 * which something is due it asks the database nothing. Not here: one attempt (attempt.ts), and what it leaves (aftermath.ts).
 */
import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import type { ActivePlugins, PluginFunction } from '../../../plugins/plugin.ts';
import type { Aftermath } from './aftermath.ts';
import { type AttemptNeeds, attempt } from './attempt.ts';
import type { QueueStore, RunnableFunction } from './queue-store.ts';
import { functionOf, QUEUED_KINDS } from './queued-run.ts';
import { RunSlots } from './run-slots.ts';

/** Ids of due runs that are held for one function. */
const WINDOW = 32;
/** What is due is not looked for more often, in milliseconds. */
const LEAST_MS = 20;
/** How soon it is looked for again after an error of the database. */
const AGAIN_MS = 1_000;
/** How long the end of the process waits for what is under way. */
const GRACE_MS = 3_000;
/** The longest time that a timer of Node can wait. */
const MOST_MS = 2 ** 31 - 1;

export interface RunDispatchParts extends Omit<AttemptNeeds, 'store'> {
  readonly store: QueueStore;
  readonly active: ActivePlugins;
  readonly aftermath: Aftermath;
  /** Whether this process is the one that runs the queue. */
  readonly mayRun: () => boolean;
}

export class RunDispatch {
  readonly #parts: RunDispatchParts;
  readonly #slots = new RunSlots();
  /** Ids of due runs, by function; the function whose turn is next comes first. */
  readonly #window = new Map<string, string[]>();
  /** Functions of which more may be due than the window holds. */
  readonly #stale = new Set<string>();
  /** Tokens of the runs that are under way here, and their ends. */
  readonly #underWay = new Map<string, Promise<void>>();
  #turning: Promise<void> | null = null;
  #again = false;
  #timer: NodeJS.Timeout | undefined;
  #timerAt = Number.POSITIVE_INFINITY;
  #stopped = false;

  constructor(parts: RunDispatchParts) {
    this.#parts = parts;
  }

  /** Tokens of the runs that are under way in this process. */
  get tokens(): readonly string[] {
    return [...this.#underWay.keys()];
  }

  /** Begins nothing more, and waits a moment for what is under way. @returns whether all of it has ended */
  async stop(): Promise<boolean> {
    this.#stopped = true;
    clearTimeout(this.#timer);
    const end = new AbortController();
    const grace = pause(GRACE_MS, undefined, { signal: end.signal }).catch(() => undefined);
    await Promise.race([this.quiet(), grace]);
    end.abort();
    return this.#underWay.size === 0;
  }

  /**
   * Looks for what is due, of all functions or of those named, and for the next time at which something will be.
   * Resolves when everything that may begin has begun.
   */
  async look(functions?: Iterable<string>): Promise<void> {
    if (this.#stopped || !this.#parts.mayRun()) return;
    for (const id of functions ?? this.#inForce().keys()) this.#stale.add(id);
    if (functions === undefined) await this.#armNext();
    await this.#turn();
  }

  /** Looks for what is due at a time. */
  arm(at: Date): void {
    if (this.#stopped || at.getTime() >= this.#timerAt) return;
    clearTimeout(this.#timer);
    this.#timerAt = at.getTime();
    const wait = Math.min(MOST_MS, Math.max(LEAST_MS, this.#timerAt - this.#parts.now()));
    this.#timer = setTimeout(() => {
      this.#timerAt = Number.POSITIVE_INFINITY;
      this.#looked(this.look());
    }, wait);
    this.#timer.unref();
  }

  /** Resolves when nothing is under way. */
  async quiet(): Promise<void> {
    for (;;) {
      await this.#turning;
      if (this.#underWay.size === 0) return;
      await Promise.all(this.#underWay.values());
    }
  }

  #looked(looking: Promise<void>): void {
    looking.catch((error: unknown) => {
      this.#parts.onError(error);
      this.arm(new Date(this.#parts.now() + AGAIN_MS));
    });
  }

  async #armNext(): Promise<void> {
    const next = await this.#parts.store.nextDue(new Date(this.#parts.now()));
    if (next !== null) this.arm(next);
  }

  /** The functions whose runs may be run. */
  #inForce(): ReadonlyMap<string, PluginFunction> {
    const { active } = this.#parts;
    const all = QUEUED_KINDS.flatMap((kind): readonly PluginFunction[] => active.ofKind(kind));
    return new Map(all.filter((fn) => !fn.isQuarantined).map((fn) => [fn.id, fn]));
  }

  /** One turn at a time; one more when it was asked for meanwhile. */
  #turn(): Promise<void> {
    this.#again = true;
    this.#turning ??= this.#turns();
    return this.#turning;
  }

  async #turns(): Promise<void> {
    // The promise of these turns must be known before they can end.
    await null;
    try {
      while (this.#again && !this.#stopped && this.#parts.mayRun()) {
        this.#again = false;
        const inForce = this.#inForce();
        if (this.#slots.free > 0) await this.#refill(inForce);
        for (let fn = this.#next(inForce); fn !== null; fn = this.#next(inForce)) this.#begin(fn);
      }
    } finally {
      this.#turning = null;
    }
  }

  async #refill(inForce: ReadonlyMap<string, PluginFunction>): Promise<void> {
    const empty = [...this.#stale].filter((id) => !this.#window.has(id));
    const wanted = empty.flatMap((id) => inForce.get(id) ?? []).filter(({ id }) => this.#slots.mayBegin(id));
    if (wanted.length === 0) return;
    // What becomes due from here on is told again.
    for (const { id } of wanted) this.#stale.delete(id);
    try {
      const now = new Date(this.#parts.now());
      const found = await this.#parts.store.due(wanted.map(runnableOf), now, WINDOW);
      for (const [id, runs] of Map.groupBy(found, functionOf)) {
        this.#window.set(
          id,
          runs.map(({ _id }) => _id),
        );
        if (runs.length >= WINDOW) this.#stale.add(id);
      }
    } catch (error) {
      for (const { id } of wanted) this.#stale.add(id);
      throw error;
    }
  }

  /** The next function that has a run due and a place for it; its turn comes again after the others. */
  #next(inForce: ReadonlyMap<string, PluginFunction>): PluginFunction | null {
    for (const [id, runs] of this.#window) {
      const fn = inForce.get(id);
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
        this.#parts.onError(error);
        // It may be due still.
        this.#stale.add(fn.id);
        this.arm(new Date(this.#parts.now() + AGAIN_MS));
      })
      .finally(() => {
        this.#underWay.delete(token);
        this.#looked(this.#turn());
      });
    this.#underWay.set(token, running);
  }

  async #run(fn: PluginFunction, id: string, token: string) {
    const { store, aftermath, now } = this.#parts;
    const run = await store.claim(id, token, runnableOf(fn), fn.plugin.version, new Date(now()));
    if (run === null) return 'other';
    const end = await attempt(fn, run, token, this.#parts);
    const { course, dueAt, hasNext } = await aftermath.of(run, token, end, this.#stopped);
    if (hasNext) this.#stale.add(fn.id);
    if (dueAt !== null) this.arm(dueAt);
    return course;
  }
}

/** The function as the store looks for its runs. */
export function runnableOf({ name, plugin }: PluginFunction): RunnableFunction {
  return { plugin: plugin.name, function: name, readsAccounts: plugin.readsAccounts };
}
