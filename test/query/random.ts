/** Seeded random numbers for tests: the same seed gives the same run. `MILLRACE_SEED` repeats one. */
import type { Test } from 'tap';

export class Random {
  readonly seed: number;
  #state: number;

  constructor(seed: number) {
    this.seed = seed;
    this.#state = seed >>> 0;
  }

  /** From 0 to 1, exclusive (mulberry32). */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let t = this.#state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  }

  /** A whole number from 0 to `bound`, exclusive. */
  below(bound: number): number {
    return Math.floor(this.next() * bound);
  }

  chance(probability: number): boolean {
    return this.next() < probability;
  }

  pick<T>(values: readonly T[]): T {
    const value = values[this.below(values.length)];
    if (value === undefined) throw new RangeError('Nothing to pick from');
    return value;
  }

  /** From `least` to `most` things. */
  several<T>(least: number, most: number, make: () => T): T[] {
    return Array.from({ length: least + this.below(most - least + 1) }, make);
  }
}

/** Random numbers for one test, with the seed in the output. */
export function seeded(t: Test): Random {
  const seed = Number(process.env['MILLRACE_SEED'] ?? Math.floor(Math.random() * 2 ** 32));
  t.comment(`MILLRACE_SEED=${seed}`);
  return new Random(seed);
}
