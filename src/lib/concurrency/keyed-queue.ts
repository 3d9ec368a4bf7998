/**
 * One queue per key: tasks of the same key run one after the other, tasks of different keys concurrently. Without it,
 * writers of one frequently changed document would make each other's compare-and-replace fail. Correctness does not
 * depend on it.
 */
import { MillraceError } from '../errors.ts';

/** Maximum waiting tasks of one key; more are rejected. */
const MAX_WAITING = 1_000;

export class KeyedQueues {
  readonly #tails = new Map<string, { last: Promise<unknown>; length: number }>();

  /**
   * Runs `task` after all earlier tasks of `key`, whether they succeeded or failed.
   * @throws MillraceError `write-conflict` when too many wait already
   */
  async run<T>(key: string, task: () => Promise<T>): Promise<T> {
    const queue = this.#tails.get(key);
    if (queue && queue.length >= MAX_WAITING) {
      throw new MillraceError('write-conflict', 'Too many writers wait for this document', {
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
