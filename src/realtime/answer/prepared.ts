/**
 * What was found out about the states of a row in turns, ahead of the code that needs it and cannot wait. Not here: what
 * is asked, and when (row-view.ts).
 */
import { inTurns } from '../../kernel/concurrency/pauses.ts';

export class Prepared<T extends object | string | number | boolean | null> {
  /** Null while there is nothing, as for almost every row. */
  #known: Map<object, Map<object, T>> | null = null;

  /** What was prepared; otherwise it is found out now. */
  get(owner: object, state: object, ask: () => T): T {
    const known = this.#known?.get(owner)?.get(state);
    return known === undefined ? ask() : known;
  }

  /**
   * Finds out in turns.
   * @param owner what is asked, such as a filter
   * @param turn resolves when the next slice may begin; after whatever else is ready, when left out
   */
  async prepare(owner: object, state: object, ask: () => T, turn?: () => Promise<unknown>): Promise<void> {
    const answer = await inTurns(ask, turn);
    this.#known ??= new Map();
    const answers = this.#known.get(owner) ?? new Map<object, T>();
    this.#known.set(owner, answers.set(state, answer));
  }
}
