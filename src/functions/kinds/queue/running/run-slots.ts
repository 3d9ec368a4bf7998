/**
 * Which functions may begin another run now: a few runs at one time in all, and of one function no more than it leaves free
 * for the others, so that one that hangs cannot take every place. A function whose runs ran out of time, or met each other in
 * the database, gets fewer places until its runs succeed again. Pure. Not here: the runs (run-dispatch.ts).
 */

/** How many runs are under way at one time. Each has a session of the database. */
export const SLOTS = 8;

/** How much a run that succeeded widens the bound of its function. */
const WIDER = 0.25;

/** How a run went, for the bound of its function. */
export type Course = 'smooth' | 'conflict' | 'timeout' | 'other';

interface Use {
  underWay: number;
  /** How many runs the function may have under way. */
  bound: number;
}

export class RunSlots {
  readonly #uses = new Map<string, Use>();
  #free = SLOTS;

  get free(): number {
    return this.#free;
  }

  /** Whether a function may begin a run. */
  mayBegin(fn: string): boolean {
    const { underWay, bound } = this.#uses.get(fn) ?? { underWay: 0, bound: SLOTS };
    return underWay < this.#free && underWay < Math.floor(bound);
  }

  begin(fn: string): void {
    const use = this.#uses.get(fn) ?? { underWay: 0, bound: SLOTS };
    this.#uses.set(fn, { ...use, underWay: use.underWay + 1 });
    this.#free -= 1;
  }

  end(fn: string, course: Course): void {
    const { underWay, bound } = this.#uses.get(fn) ?? { underWay: 1, bound: SLOTS };
    const next = { underWay: underWay - 1, bound: boundAfter(bound, course) };
    // A function about which there is nothing to remember needs no entry.
    if (next.underWay === 0 && next.bound === SLOTS) this.#uses.delete(fn);
    else this.#uses.set(fn, next);
    this.#free += 1;
  }
}

function boundAfter(bound: number, course: Course): number {
  switch (course) {
    case 'smooth':
      return Math.min(SLOTS, bound + WIDER);
    case 'conflict':
      return Math.max(1, Math.min(bound, SLOTS / 2) / 2);
    case 'timeout':
      return 1;
    case 'other':
      return bound;
  }
}
