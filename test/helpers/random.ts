/**
 * Repeatable random numbers: a seeded generator for randomized tests, and the seed of this run. The test that uses the
 * seed prints it; MILLRACE_SEED repeats a run. Not for secrets.
 */

/** The seed of this run: MILLRACE_SEED, or a new one. */
export function runSeed(): number {
  const given = process.env['MILLRACE_SEED'];
  return given === undefined || given === '' ? Math.floor(Math.random() * 2 ** 32) : Number(given) >>> 0;
}

/**
 * Number of runs of a randomized test: few by default, many with MILLRACE_LONG=1, and exactly MILLRACE_RUNS if that is
 * set.
 */
export function runCount(few: number, many: number): number {
  const given = Number(process.env['MILLRACE_RUNS'] ?? '');
  if (given > 0) return given;
  return process.env['MILLRACE_LONG'] === '1' ? many : few;
}

/** A stream of random numbers that depends only on its seed (mulberry32 by Tommy Ettinger, public domain). */
export class Random {
  readonly seed: number;
  #state: number;

  constructor(seed: number) {
    this.seed = seed >>> 0;
    this.#state = this.seed;
  }

  /** An unsigned 32-bit integer. */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let mixed = this.#state;
    mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return (mixed ^ (mixed >>> 14)) >>> 0;
  }

  /** An integer from 0 to `bound` - 1. */
  below(bound: number): number {
    return this.next() % bound;
  }

  /** True once in `times`. */
  once(times: number): boolean {
    return this.below(times) === 0;
  }

  pick<T>(choices: readonly T[]): T {
    const choice = choices[this.below(choices.length)];
    if (choice === undefined) throw new Error('There is nothing to pick from');
    return choice;
  }

  bytes(length: number): Buffer {
    const bytes = Buffer.alloc(length);
    for (let i = 0; i < length; i++) bytes[i] = this.next() & 0xff;
    return bytes;
  }
}
