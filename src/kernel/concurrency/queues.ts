/**
 * One queue per key: tasks of the same key run one after the other, tasks of different keys run at the same time.
 * Without it, writers of one often changed document would make each other's compare-and-replace fail again and again.
 * Correctness does not depend on it.
 */
import { MillraceError } from '../errors.ts';

/** Waiting tasks of one key; more are refused. */
const MAX_WAITING = 1_000;

export class KeyedQueues {
  readonly #tails = new Map<string, { last: Promise<unknown>; length: number }>();

  /**
   * Runs `task` after all earlier tasks of `key`, whether they succeeded or failed.
   * @throws MillraceError `contention` when too many wait already
   */
  async run<T>(key: string, task: () => Promise<T>): Promise<T> {
    const queue = this.#tails.get(key);
    if (queue && queue.length >= MAX_WAITING) {
      throw new MillraceError('contention', 'Too many writers wait for this document', {
        headers: { 'retry-after': '1' },
      });
    }
    const state = queue ?? { last: Promise.resolve(), length: 0 };
    if (!queue) this.#tails.set(key, state);
    state.length++;
    const result = queue ? state.last.then(task, task) : task();
    state.last = result;
    try {
      return await result;
    } finally {
      if (--state.length === 0) this.#tails.delete(key);
    }
  }
}
