/**
 * A semaphore with a second limit: how many tasks run concurrently, and how many of them for one client; the others
 * wait. Clients are served in turn, so no client waits until all tasks of another client are done. A client with slow
 * tasks may run one at a time, so that it leaves more to the others.
 */
export class FairSemaphore {
  #free: number;
  readonly #each: number;
  readonly #slowMs: number;
  readonly #now: () => number;
  readonly #underWay = new Map<unknown, number>();
  /** The waiting tasks of each client; the next client first. */
  readonly #lines = new Map<unknown, (() => void)[]>();
  /** Clients whose last task was slow, until they have no task left. */
  readonly #slow = new Set<unknown>();

  /**
   * @param each concurrent tasks of one client
   * @param slowMs after a task that took longer, in milliseconds, its client may run one at a time, until one was
   * faster
   * @param now a monotonic clock in milliseconds; for tests
   */
  constructor(count: number, each: number, slowMs = Number.POSITIVE_INFINITY, now = () => performance.now()) {
    this.#free = count;
    this.#each = each;
    this.#slowMs = slowMs;
    this.#now = now;
  }

  /** @param whose the client: any value that is the same for all its tasks */
  async run<T>(whose: unknown, task: () => Promise<T>): Promise<T> {
    // While a permit is free, only clients at their own limit wait.
    if (this.#free > 0 && this.#hasRoom(whose)) this.#take(whose);
    else await new Promise<void>((go) => this.#wait(whose, go));
    const start = this.#now();
    try {
      return await task();
    } finally {
      if (this.#now() - start > this.#slowMs) this.#slow.add(whose);
      else this.#slow.delete(whose);
      this.#giveBack(whose);
    }
  }

  #hasRoom(whose: unknown): boolean {
    return this.#of(whose) < (this.#slow.has(whose) ? 1 : this.#each);
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
    if (left === 0 && !this.#lines.has(whose)) this.#slow.delete(whose);
    // More than one may start: a client that is not slow any more has its permits again.
    while (this.#free > 0 && this.#beginNext());
  }

  /** Starts a task of the next client. @returns whether there was one */
  #beginNext(): boolean {
    for (const [next, line] of this.#lines) {
      if (!this.#hasRoom(next)) continue;
      this.#lines.delete(next);
      const go = line.shift();
      if (line.length > 0) this.#lines.set(next, line);
      this.#take(next);
      go?.();
      return true;
    }
    return false;
  }
}
