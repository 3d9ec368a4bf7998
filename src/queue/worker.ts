/**
 * The loop that runs the due jobs of a queue: find groups with due jobs, fetch as many as may start, start them. It
 * queries the database only when something may be due: after a start, when woken, at the next due time, and when a
 * group of which more are due has room again. So an idle process sends no queries.
 */
import { setTimeout as pause } from 'node:timers/promises';

/** Groups of one fetch. */
const MAX_GROUPS = 64;
/** Retry delay of a job that could not be handled, in milliseconds. */
const UNHANDLED_MS = 1_000;
const MAX_TIMER_MS = 6 * 3_600_000;

/** How many jobs of a group can be fetched now. */
export interface GroupFetchRequest {
  readonly group: string;
  readonly count: number;
}

/** What one kind of job does at each step of the loop. */
export interface WorkerOptions<Job> {
  /** Milliseconds since 1970. */
  readonly now: () => number;
  /** The groups with due jobs, and the next due time. */
  readonly findGroups: (signal: AbortSignal) => Promise<{ readonly due: Iterable<string>; readonly next: Date | null }>;
  /** How many jobs of a group can be fetched now. */
  readonly room: (group: string, now: number) => number;
  /**
   * Finds due jobs of groups, leases them if that is done here, and holds them for `next`.
   * @returns how many were found of each group that was searched
   */
  readonly findJobs: (requests: readonly GroupFetchRequest[]) => Promise<ReadonlyMap<string, number>>;
  /** Takes the next fetched job that may start; undefined if none may. @param time monotonic, in milliseconds */
  readonly next: (time: number) => Job | undefined;
  /** Runs one attempt of a job. */
  readonly handle: (job: Job) => Promise<void>;
  readonly onError: (error: unknown) => void;
  /** When a fetched job may start that waits only for its time, by the monotonic clock; null if there is none. */
  readonly nextTime?: () => number | null;
  /** When jobs of a group may be fetched again that waits for a time; in milliseconds since 1970. */
  readonly opensAt?: (group: string) => number;
  /** Returns fetched jobs that were not started to the queue, when the worker stops. */
  readonly release?: () => Promise<void>;
  /** Shortest interval between two looks, in milliseconds. */
  readonly minLookMs?: number;
  /** Longest interval between two looks, in milliseconds, if other processes create jobs without a wake-up. */
  readonly maxLookMs?: number;
}

export class Worker<Job> {
  readonly #options: WorkerOptions<Job>;
  readonly #end = new AbortController();
  /** Groups of which more may be due; the next one first. */
  readonly #due = new Set<string>();
  /** Groups that became due during a fetch, whose result may lack that. */
  readonly #dueMeanwhile = new Set<string>();
  readonly #running = new Set<Promise<void>>();
  #all = false;
  #lookedAt = Number.NEGATIVE_INFINITY;
  /** In milliseconds since 1970. */
  #nextDue = Number.POSITIVE_INFINITY;
  /** Before this monotonic time the database is not queried again. */
  #retryAt = Number.NEGATIVE_INFINITY;
  #failures = 0;
  #started = false;
  #polling: Promise<void> | null = null;
  #pollTimer: NodeJS.Timeout | undefined;
  #startTimer: NodeJS.Timeout | undefined;

  constructor(options: WorkerOptions<Job>) {
    this.#options = options;
  }

  start(): void {
    this.#started = true;
    this.wake();
  }

  /** Number of jobs that are running. */
  get running(): number {
    return this.#running.size;
  }

  get stopped(): boolean {
    return this.#end.signal.aborted;
  }

  /** Anything may be due. */
  wake(): void {
    this.#all = true;
    this.#poll();
  }

  /** A group has due jobs. */
  wakeGroup(group: string): void {
    this.#due.add(group);
    this.#dueMeanwhile.add(group);
    this.#poll();
  }

  /** A job becomes due at a time, in milliseconds since 1970. */
  wakeAt(time: number): void {
    if (time >= this.#nextDue) return;
    this.#nextDue = time;
    this.#poll();
  }

  /** Whether earlier jobs of a group may still wait in the database. */
  isBehind(group: string): boolean {
    return this.#due.has(group);
  }

  /** A group no longer exists. */
  forget(group: string): void {
    this.#due.delete(group);
  }

  /** Starts fetched jobs, after a limit has changed. */
  startJobs(): void {
    const { next, nextTime } = this.#options;
    clearTimeout(this.#startTimer);
    if (this.stopped) return;
    // One time for all of this: the loop and the timer would both miss a job whose time comes in between.
    const now = performance.now();
    for (let job = next(now); job !== undefined; job = next(now)) this.#startJob(job);
    if (this.#due.size > 0) this.#poll();
    const at = nextTime?.() ?? null;
    if (at !== null && at > now) this.#startTimer = setTimeout(() => this.startJobs(), at - now);
  }

  /** Resolves when every job that is due and may start has started, or the database could not be queried. */
  async polled(): Promise<void> {
    while (this.#polling !== null) await this.#polling;
  }

  /** Resolves when no job is running, and none is about to start. */
  async idle(): Promise<void> {
    while (this.#polling !== null || this.#running.size > 0) await Promise.all([this.#polling, ...this.#running]);
  }

  /**
   * Fetches and starts no more jobs, and gives running ones a grace period.
   * @returns whether all of them have ended
   */
  async stop(graceMs: number): Promise<boolean> {
    this.#end.abort();
    clearTimeout(this.#pollTimer);
    clearTimeout(this.#startTimer);
    const { release, onError } = this.#options;
    const ended = new AbortController();
    const grace = pause(graceMs, undefined, { signal: ended.signal }).catch(() => undefined);
    await Promise.race([this.polled(), grace]);
    // What is not released is due again when its lease ends.
    await release?.().catch(onError);
    await Promise.race([this.idle(), grace]);
    ended.abort();
    return this.#running.size === 0;
  }

  #startJob(job: Job): void {
    const { handle, now, onError } = this.#options;
    const running = handle(job)
      .catch((error: unknown) => {
        onError(error);
        this.wakeAt(now() + UNHANDLED_MS);
      })
      .finally(() => {
        this.#running.delete(running);
        this.startJobs();
      });
    this.#running.add(running);
  }

  /** Queries the database if something can be fetched, or when the next time comes. */
  #poll(): void {
    if (!this.#started || this.stopped || this.#polling !== null) return;
    // One time for both: a group that opens in between, or a pause that ends, would be missed.
    const now = this.#options.now();
    const time = performance.now();
    if (time < this.#retryAt || (!this.#all && this.#requests(now).length === 0)) {
      this.#setTimer(now, time);
      return;
    }
    this.#polling = this.#fetchAll().finally(() => {
      this.#polling = null;
      this.#poll();
    });
  }

  async #fetchAll(): Promise<void> {
    const { now, findJobs, onError } = this.#options;
    try {
      while (!this.stopped) {
        if (this.#all) await this.#look();
        const requests = this.#requests(now());
        if (requests.length === 0) break;
        this.#dueMeanwhile.clear();
        const found = await findJobs(requests);
        for (const { group, count } of requests) {
          const number = found.get(group);
          if (number === undefined) continue;
          // Moved to the end, so that all groups get their turn.
          this.#due.delete(group);
          if (number === count || this.#dueMeanwhile.has(group)) this.#due.add(group);
        }
        this.startJobs();
      }
      this.#failures = 0;
    } catch (error) {
      if (this.stopped) return;
      if (this.#failures === 0) onError(error);
      this.#all = true;
      this.#retryAt = performance.now() + databasePauseMs(this.#failures);
      this.#failures += 1;
    }
  }

  async #look(): Promise<void> {
    const { findGroups, minLookMs = 0 } = this.#options;
    const { signal } = this.#end;
    const early = this.#lookedAt + minLookMs - performance.now();
    if (early > 0) await pause(early, undefined, { signal });
    this.#all = false;
    this.#lookedAt = performance.now();
    this.#nextDue = Number.POSITIVE_INFINITY;
    const { due, next } = await findGroups(signal);
    for (const group of due) this.#due.add(group);
    this.#nextDue = Math.min(this.#nextDue, next?.getTime() ?? Number.POSITIVE_INFINITY);
  }

  #requests(now: number): readonly GroupFetchRequest[] {
    const requests: GroupFetchRequest[] = [];
    for (const group of this.#due) {
      if (requests.length === MAX_GROUPS) break;
      const count = this.#options.room(group, now);
      if (count > 0) requests.push({ group, count });
    }
    return requests;
  }

  /** @param time monotonic, in milliseconds */
  #setTimer(now: number, time: number): void {
    const { opensAt, maxLookMs = Number.POSITIVE_INFINITY } = this.#options;
    clearTimeout(this.#pollTimer);
    const nextLook = Number.isFinite(maxLookMs) ? this.#lookedAt + maxLookMs - time : maxLookMs;
    let wait = Math.min(this.#nextDue - now, nextLook);
    for (const group of opensAt === undefined ? [] : this.#due) {
      const opens = opensAt?.(group) ?? 0;
      // Others wait for a slot, which the end of a job frees.
      if (opens > now) wait = Math.min(wait, opens - now);
    }
    const retry = this.#retryAt - time;
    if (retry > 0) wait = retry;
    if (wait === Number.POSITIVE_INFINITY) return;
    this.#pollTimer = setTimeout(() => this.#onTime(), Math.min(Math.max(wait, 1), MAX_TIMER_MS)).unref();
  }

  #onTime(): void {
    const { now, maxLookMs = Number.POSITIVE_INFINITY } = this.#options;
    if (this.#nextDue <= now() || performance.now() - this.#lookedAt >= maxLookMs) this.wake();
    else this.#poll();
  }
}

/**
 * The pause before the next attempt of a job; null after the last attempt.
 * @param pauses the pauses after each attempt but the last
 * @param attempts number of attempts so far, at least one
 * @param jitter the fraction by which a pause is longer or shorter, so that jobs that failed together do not return together
 * @param random from 0 to 1
 */
export function retryPause(pauses: readonly number[], attempts: number, jitter = 0, random = 0): number | null {
  const pause = pauses[attempts - 1];
  return pause === undefined ? null : Math.round(pause * (1 - jitter + 2 * jitter * random));
}

/** The pause after errors of the database, in milliseconds: 0.1 s doubling to 1 s. */
function databasePauseMs(failures: number): number {
  return Math.min(100 * 2 ** Math.min(failures, 10), 1_000) * (0.75 + Math.random() / 4);
}
