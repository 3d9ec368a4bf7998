/**
 * One queue per key: tasks of the same key run one after the other, tasks of different keys side by side. It keeps the
 * writers of one hot document in this process from spinning against each other; correctness never rests on it.
 */
import { MillraceError } from '../errors.ts';

/** Waiting tasks of one key; more are refused. */
const MAX_WAITING = 1_000;

export class KeyedQueues {
  readonly #tails = new Map<string, { last: Promise<unknown>; length: number }>();

  /**
   * Runs `task` after all earlier tasks of `key`, whatever became of them.
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
