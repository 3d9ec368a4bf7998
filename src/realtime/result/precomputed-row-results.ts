/**
 * Results about the states of a row that were computed cooperatively, ahead of code that needs them and cannot wait.
 */
import { runCooperatively } from '../../lib/concurrency/cooperative-yield.ts';

export class PrecomputedRowResults<T extends object | string | number | boolean | null> {
  /** Null without any, as for almost every row. */
  #known: Map<object, Map<object, T>> | null = null;

  /** The precomputed result; otherwise it is computed now. */
  get(owner: object, state: object, request: () => T): T {
    const known = this.#known?.get(owner)?.get(state);
    return known === undefined ? request() : known;
  }

  /**
   * Computes with yields.
   * @param owner the key, such as a filter
   * @param turn resolves when the next slice may begin; by default it yields to whatever else is ready
   */
  async prepare(owner: object, state: object, request: () => T, turn?: () => Promise<unknown>): Promise<void> {
    const response = await runCooperatively(request, turn);
    this.#known ??= new Map();
    const responses = this.#known.get(owner) ?? new Map<object, T>();
    this.#known.set(owner, responses.set(state, response));
  }
}
