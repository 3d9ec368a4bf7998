/**
 * Concurrency limits of runs: a total, and per function a share that leaves slots for the others, so that a hanging
 * function cannot take every slot. A function whose runs timed out or conflicted gets fewer slots until its runs
 * succeed again. Pure.
 */

/** Concurrent runs. Each has a database session. */
export const MAX_CONCURRENT_RUNS = 8;

/** How much a successful run raises the limit of its function. */
const WIDER = 0.25;

/** The outcome of a run, for the limit of its function. */
export type RunOutcome = 'smooth' | 'conflict' | 'timeout' | 'other';

interface Use {
  underWay: number;
  /** The concurrency limit of the function. */
  bound: number;
}

export class RunSlots {
  readonly #uses = new Map<string, Use>();
  #free = MAX_CONCURRENT_RUNS;

  get free(): number {
    return this.#free;
  }

  /** Whether a function may start a run. */
  mayBegin(fn: string): boolean {
    const { underWay, bound } = this.#uses.get(fn) ?? { underWay: 0, bound: MAX_CONCURRENT_RUNS };
    return underWay < this.#free && underWay < Math.floor(bound);
  }

  begin(fn: string): void {
    const use = this.#uses.get(fn) ?? { underWay: 0, bound: MAX_CONCURRENT_RUNS };
    this.#uses.set(fn, { ...use, underWay: use.underWay + 1 });
    this.#free -= 1;
  }

  end(fn: string, course: RunOutcome): void {
    const { underWay, bound } = this.#uses.get(fn) ?? { underWay: 1, bound: MAX_CONCURRENT_RUNS };
    const next = { underWay: underWay - 1, bound: boundAfter(bound, course) };
    // A function with the default limit needs no entry.
    if (next.underWay === 0 && next.bound === MAX_CONCURRENT_RUNS) this.#uses.delete(fn);
    else this.#uses.set(fn, next);
    this.#free += 1;
  }
}

function boundAfter(bound: number, course: RunOutcome): number {
  switch (course) {
    case 'smooth':
      return Math.min(MAX_CONCURRENT_RUNS, bound + WIDER);
    case 'conflict':
      return Math.max(1, Math.min(bound, MAX_CONCURRENT_RUNS / 2) / 2);
    case 'timeout':
      return 1;
    case 'other':
      return bound;
  }
}
