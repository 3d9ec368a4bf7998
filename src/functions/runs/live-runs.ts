/**
 * Runs as they happen, for those who watch: each line that a run of this process logs, at once; runs when they begin, change
 * and end. Runs of other processes come from the collection, which is followed only while somebody watches. Not here: HTTP
 * (http/run-stream.ts).
 */
import type { LogLine } from '../sandbox/sandbox.ts';
import type { Run } from './run.ts';

/** The run that a line belongs to. */
export type RunName = Pick<Run, 'id' | 'plugin' | 'function' | 'restricted'>;

export interface Watcher {
  readonly onRun: (run: Run) => void;
  readonly onLine: (run: RunName, line: LogLine) => void;
}

/** A run of another process, with the lines that it logged. */
export interface ForeignRun {
  readonly run: Run;
  readonly lines: readonly LogLine[];
}

/** Follows the collection of runs. Calls back for each run that was stored or has changed. @returns ends that */
export type FollowRuns = (onRun: (foreign: ForeignRun) => void) => () => void;

/** States that were told, remembered at most: what is stored later than that is told twice. */
const MAX_TOLD = 10_000;

export class LiveRuns {
  readonly #follow: FollowRuns;
  readonly #here: Watcher | null;
  readonly #watchers = new Set<Watcher>();
  /** What watchers were told, so that what this process stores is not told again when it comes back from the database. */
  readonly #told = new Set<string>();
  #unfollow: (() => void) | null = null;

  /** @param here told of the runs of this process alone, for as long as it runs */
  constructor(follow: FollowRuns, here: Watcher | null = null) {
    this.#follow = follow;
    this.#here = here;
  }

  /** Whether somebody watches: without, nothing has to be told. */
  get isWatched(): boolean {
    return this.#watchers.size > 0;
  }

  get watchers(): number {
    return this.#watchers.size;
  }

  /** @returns ends the watching */
  watch(watcher: Watcher): () => void {
    this.#watchers.add(watcher);
    this.#unfollow ??= this.#follow((foreign) => this.#tellForeign(foreign));
    return () => {
      if (!this.#watchers.delete(watcher) || this.isWatched) return;
      this.#unfollow?.();
      this.#unfollow = null;
      this.#told.clear();
    };
  }

  /** Tells of a run of this process. */
  run(run: Run): void {
    this.#here?.onRun(run);
    if (!this.isWatched || !this.#isNew(run)) return;
    for (const { onRun } of this.#watchers) onRun(run);
  }

  /** Tells of a line that a run of this process has logged. */
  line(run: RunName, line: LogLine): void {
    this.#here?.onLine(run, line);
    if (!this.isWatched) return;
    this.#remember(linesOf(run));
    for (const { onLine } of this.#watchers) onLine(run, line);
  }

  #tellForeign({ run, lines }: ForeignRun): void {
    if (!this.#isNew(run)) return;
    // A run of this process may come back from the database before its end was told.
    const missed = this.#told.has(linesOf(run)) ? [] : lines;
    for (const { onLine, onRun } of this.#watchers) {
      for (const line of missed) onLine(run, line);
      onRun(run);
    }
  }

  #isNew({ id, attempt, state }: Run): boolean {
    const key = `${id} ${attempt} ${state}`;
    if (this.#told.has(key)) return false;
    this.#remember(key);
    return true;
  }

  #remember(key: string): void {
    this.#told.add(key);
    for (const oldest of this.#told) {
      if (this.#told.size <= MAX_TOLD) break;
      this.#told.delete(oldest);
    }
  }
}

/** Remembers that the lines of a run were told as they came. */
function linesOf({ id }: RunName): string {
  return `${id} lines`;
}
