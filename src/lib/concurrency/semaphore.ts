/** A semaphore with a limited queue: more tasks are rejected. For work that takes memory or a core. */
import { MillraceError } from '../errors.ts';

export class Semaphore {
  #free: number;
  readonly #maxWaiting: number;
  readonly #waiting: (() => void)[] = [];

  constructor(atOnce: number, maxWaiting: number) {
    this.#free = atOnce;
    this.#maxWaiting = maxWaiting;
  }

  /** Runs `task` in its turn. @throws MillraceError `overloaded` if too many wait already */
  async run<T>(task: () => Promise<T>): Promise<T> {
    await this.#enter();
    try {
      return await task();
    } finally {
      const next = this.#waiting.shift();
      if (next) next();
      else this.#free += 1;
    }
  }

  async #enter(): Promise<void> {
    if (this.#free > 0) {
      this.#free -= 1;
      return;
    }
    if (this.#waiting.length >= this.#maxWaiting) {
      throw new MillraceError('overloaded', 'Too many such requests wait already', { headers: { 'retry-after': '1' } });
    }
    await new Promise<void>((resolve) => this.#waiting.push(resolve));
  }
}
