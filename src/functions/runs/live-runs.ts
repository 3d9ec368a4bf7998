/**
 * Runs as they happen, for live views: each line that a run of this process logs, immediately, and runs when they start, change
 * and end. Runs of other processes come from the collection, which is followed only while there are watchers.
 */
import type { LogLine } from '../sandbox/sandbox.ts';
import type { Run } from './run.ts';

/** The run of a log line. */
export type RunRef = Pick<Run, 'id' | 'plugin' | 'function' | 'restricted'>;

export interface RunWatcher {
  readonly onRun: (run: Run) => void;
  readonly onLine: (run: RunRef, line: LogLine) => void;
}

/** A run of another process, with its log lines. */
export interface OtherProcessRun {
  readonly run: Run;
  readonly lines: readonly LogLine[];
}

/**
 * Follows the collection of runs. Calls back for each run that was stored or has changed.
 * @returns a function that stops it
 */
export type SubscribeToRuns = (onRun: (foreign: OtherProcessRun) => void) => () => void;

/** Maximum remembered states of reported runs: states that are stored after more than these are reported twice. */
const MAX_REPORTED = 10_000;

export class LiveRuns {
  readonly #follow: SubscribeToRuns;
  readonly #here: RunWatcher | null;
  readonly #watchers = new Set<RunWatcher>();
  /** States already reported, so that runs of this process are not reported again when they come back from the database. */
  readonly #reported = new Set<string>();
  #unfollow: (() => void) | null = null;

  /** @param here receives the runs of this process only, until it ends */
  constructor(follow: SubscribeToRuns, here: RunWatcher | null = null) {
    this.#follow = follow;
    this.#here = here;
  }

  /** Whether there are watchers; without, nothing is reported. */
  get isWatched(): boolean {
    return this.#watchers.size > 0;
  }

  get watchers(): number {
    return this.#watchers.size;
  }

  /** @returns a function that ends the watch */
  watch(watcher: RunWatcher): () => void {
    this.#watchers.add(watcher);
    this.#unfollow ??= this.#follow((foreign) => this.#reportForeign(foreign));
    return () => {
      if (!this.#watchers.delete(watcher) || this.isWatched) return;
      this.#unfollow?.();
      this.#unfollow = null;
      this.#reported.clear();
    };
  }

  /** Reports a run of this process. */
  run(run: Run): void {
    this.#here?.onRun(run);
    if (!this.isWatched || !this.#isNew(run)) return;
    for (const { onRun } of this.#watchers) onRun(run);
  }

  /** Reports a line that a run of this process has logged. */
  line(run: RunRef, line: LogLine): void {
    this.#here?.onLine(run, line);
    if (!this.isWatched) return;
    this.#remember(linesOf(run));
    for (const { onLine } of this.#watchers) onLine(run, line);
  }

  #reportForeign({ run, lines }: OtherProcessRun): void {
    if (!this.#isNew(run)) return;
    // A run of this process may come back from the database before its end was reported.
    const missed = this.#reported.has(linesOf(run)) ? [] : lines;
    for (const { onLine, onRun } of this.#watchers) {
      for (const line of missed) onLine(run, line);
      onRun(run);
    }
  }

  #isNew({ id, attempts, state }: Run): boolean {
    const key = `${id} ${attempts} ${state}`;
    if (this.#reported.has(key)) return false;
    this.#remember(key);
    return true;
  }

  #remember(key: string): void {
    this.#reported.add(key);
    for (const oldest of this.#reported) {
      if (this.#reported.size <= MAX_REPORTED) break;
      this.#reported.delete(oldest);
    }
  }
}

/** Records that the lines of a run were reported live. */
function linesOf({ id }: RunRef): string {
  return `${id} lines`;
}
