/**
 * A semaphore with a second bound: how many tasks run at one time, and how many of them for one client; the others
 * wait. Clients take turns, so no client waits until all tasks of another client are done.
 */
export class FairSemaphore {
  #free: number;
  readonly #each: number;
  readonly #underWay = new Map<unknown, number>();
  /** The waiting tasks of each client; the client that is next comes first. */
  readonly #lines = new Map<unknown, (() => void)[]>();

  /** @param each how many tasks of one client may run at one time */
  constructor(count: number, each: number) {
    this.#free = count;
    this.#each = each;
  }

  /** @param whose the client: any value that is the same for all its tasks */
  async run<T>(whose: unknown, task: () => Promise<T>): Promise<T> {
    // While a place is free, only clients wait that have reached their own bound.
    if (this.#free > 0 && this.#of(whose) < this.#each) this.#take(whose);
    else await new Promise<void>((go) => this.#wait(whose, go));
    try {
      return await task();
    } finally {
      this.#giveBack(whose);
    }
  }

  #of(whose: unknown): number {
    return this.#underWay.get(whose) ?? 0;
  }

  #wait(whose: unknown, go: () => void): void {
    const line = this.#lines.get(whose);
    if (line === undefined) this.#lines.set(whose, [go]);
    else line.push(go);
  }

  #take(whose: unknown): void {
    this.#free -= 1;
    this.#underWay.set(whose, this.#of(whose) + 1);
  }

  #giveBack(whose: unknown): void {
    this.#free += 1;
    const left = this.#of(whose) - 1;
    if (left > 0) this.#underWay.set(whose, left);
    else this.#underWay.delete(whose);
    for (const [next, line] of this.#lines) {
      if (this.#of(next) >= this.#each) continue;
      this.#lines.delete(next);
      const go = line.shift();
      if (line.length > 0) this.#lines.set(next, line);
      this.#take(next);
      go?.();
      return;
    }
  }
}
