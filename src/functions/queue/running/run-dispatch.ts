/**
 * Runs what is due in the queue, in the one process that records: with limited concurrency, fairly between functions,
 * and one run of a FIFO group at a time. Pending runs stay in the database; only some ids are held in memory.
 */
import { randomUUID } from 'node:crypto';
import { type GroupFetchRequest, Worker } from '../../../queue/worker.ts';
import type { ActivePlugins, PluginFunction } from '../../plugins/plugin.ts';
import { type AttemptDeps, attemptRun } from './attempt.ts';
import type { AttemptFinalizer } from './attempt-finalizer.ts';
import type { QueueStore, RunnableFunction } from './queue-store.ts';
import { functionIdOf, QUEUED_KINDS } from './queued-run-transitions.ts';
import { type RunOutcome, RunSlots } from './run-slots.ts';

/** Ids of due runs that are held for one function. */
const WINDOW = 32;
/** Minimum interval between queries for everything that is due, in milliseconds. */
const LEAST_MS = 20;
/** Grace period for running runs when the process ends. */
const GRACE_MS = 3_000;

export interface RunDispatchDeps extends Omit<AttemptDeps, 'store'> {
  readonly store: QueueStore;
  readonly active: ActivePlugins;
  readonly aftermath: AttemptFinalizer;
  /** Whether this process runs the queue. */
  readonly mayRun: () => boolean;
}

/** A run that was found due. */
interface FoundRun {
  readonly fn: PluginFunction;
  readonly id: string;
}

export class RunDispatch {
  readonly #deps: RunDispatchDeps;
  readonly #worker: Worker<FoundRun>;
  readonly #slots = new RunSlots();
  /** Ids of due runs, by function; the next function comes first. */
  readonly #window = new Map<string, string[]>();
  /** Tokens of the runs of this process. */
  readonly #tokens = new Set<string>();

  constructor(deps: RunDispatchDeps) {
    this.#deps = deps;
    const { now, onError, mayRun } = deps;
    this.#worker = new Worker({
      now,
      findGroups: () => this.#findGroups(),
      room: (id) => (mayRun() && !this.#window.has(id) && this.#mayStart(id) ? WINDOW : 0),
      findJobs: (requests) => this.#findJobs(requests),
      next: () => (mayRun() ? this.#next() : undefined),
      handle: (run) => this.#run(run),
      minLookMs: LEAST_MS,
      onError,
    });
  }

  /** Tokens of the runs of this process. */
  get tokens(): readonly string[] {
    return [...this.#tokens];
  }

  /**
   * Starts no more runs, and gives running ones a grace period.
   * @returns whether all of them have ended
   */
  stop(): Promise<boolean> {
    return this.#worker.stop(GRACE_MS);
  }

  /**
   * Queries due runs, of all or the named functions, and the next due time. Resolves when every run that can start has
   * started.
   */
  async runDue(functions?: Iterable<string>): Promise<void> {
    if (!this.#deps.mayRun()) return;
    // Without functions there is no call, and the worker sends no queries.
    if (functions === undefined) this.#worker.start();
    for (const id of functions ?? []) this.#worker.wakeGroup(id);
    await this.#worker.polled();
  }

  /** Resolves when nothing is running. */
  waitUntilIdle(): Promise<void> {
    return this.#worker.idle();
  }

  async #findGroups() {
    const { active, store, now, mayRun } = this.#deps;
    if (!mayRun()) return { due: [], next: null };
    const due = QUEUED_KINDS.flatMap((kind) => active.ofKind(kind).map(({ id }) => id));
    return { due, next: await store.nextDue(new Date(now())) };
  }

  /** An active function whose runs may run. */
  #runnable(id: string): PluginFunction | undefined {
    const fn = this.#deps.active.find(id);
    return fn?.isQuarantined ? undefined : fn;
  }

  #mayStart(id: string): boolean {
    return this.#runnable(id) !== undefined && this.#slots.mayBegin(id);
  }

  async #findJobs(requests: readonly GroupFetchRequest[]): Promise<ReadonlyMap<string, number>> {
    const { store, now } = this.#deps;
    const functions = requests.flatMap(({ group }) => this.#runnable(group) ?? []);
    const found = await store.due(functions.map(toRunnableFunction), new Date(now()), WINDOW);
    const byFunction = Map.groupBy(found, functionIdOf);
    for (const [id, runs] of byFunction)
      this.#window.set(
        id,
        Array.from(runs, ({ _id }) => _id),
      );
    return new Map(requests.map(({ group }) => [group, byFunction.get(group)?.length ?? 0]));
  }

  /** Takes a due run of the next function that may start one; the function then moves behind the others. */
  #next(): FoundRun | undefined {
    for (const [function_, ids] of this.#window) {
      const fn = this.#runnable(function_);
      const id = ids[0];
      if (fn !== undefined && id !== undefined && !this.#slots.mayBegin(fn.id)) continue;
      this.#window.delete(function_);
      if (fn === undefined || id === undefined) continue;
      if (ids.length > 1) this.#window.set(fn.id, ids.slice(1));
      this.#slots.begin(fn.id);
      return { fn, id };
    }
    return undefined;
  }

  async #run({ fn, id }: FoundRun): Promise<void> {
    const { store, aftermath, now } = this.#deps;
    const token = randomUUID();
    this.#tokens.add(token);
    let outcome: RunOutcome = 'other';
    try {
      const run = await store.claim(id, token, toRunnableFunction(fn), fn.plugin.version, new Date(now()));
      if (run === null) return;
      const end = await attemptRun(fn, run, token, this.#deps);
      const next = await aftermath.of(run, token, end, this.#worker.stopped);
      outcome = next.outcome;
      if (next.hasNext) this.#worker.wakeGroup(fn.id);
      if (next.dueAt !== null) this.#worker.wakeAt(next.dueAt.getTime());
    } finally {
      this.#tokens.delete(token);
      this.#slots.end(fn.id, outcome);
    }
  }
}

/** The function as the store queries its runs. */
export function toRunnableFunction({ name, plugin }: PluginFunction): RunnableFunction {
  return { plugin: plugin.name, function: name, readsUsers: plugin.readsUsers };
}
