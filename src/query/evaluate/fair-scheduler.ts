/**
 * Lets long evaluations alternate: one piece of work in each turn of the event loop, and one client after the other. So
 * many pieces of work delay each other and everything else by one piece at most, and a client does not wait for all the
 * work of another client.
 */

/** Milliseconds after which a piece of work should pause. */
const PIECE_MS = 5;

export class FairScheduler {
  /** Waiting work, by client; the next client comes first. */
  readonly #lines = new Map<unknown, (() => void)[]>();

  /** Resolves in a turn of the event loop in which no other work runs. */
  waitTurn(client: unknown): Promise<void> {
    return new Promise((resolve) => {
      const line = this.#lines.get(client);
      if (line !== undefined) {
        line.push(resolve);
        return;
      }
      if (this.#lines.size === 0) setImmediate(() => this.#next());
      this.#lines.set(client, [resolve]);
    });
  }

  /** A queue entry for one evaluation of this client, which waits before each of its pieces. */
  createTask(client: unknown): ScheduledTask {
    return new ScheduledTask(() => this.waitTurn(client));
  }

  #next(): void {
    const [first] = this.#lines;
    if (first === undefined) return;
    const [client, line] = first;
    this.#lines.delete(client);
    line.shift()?.();
    if (line.length > 0) this.#lines.set(client, line);
    if (this.#lines.size > 0) setImmediate(() => this.#next());
  }
}

/** One evaluation of a client, done in pieces. */
export class ScheduledTask {
  readonly #waitTurn: () => Promise<void>;
  #began = performance.now();

  constructor(pass: () => Promise<void>) {
    this.#waitTurn = pass;
  }

  /** Waits for the next turn. */
  async waitTurn(): Promise<void> {
    await this.#waitTurn();
    this.#began = performance.now();
  }

  /** True if the current piece has run long enough: call `pass` before the next one. */
  get shouldYield(): boolean {
    return performance.now() - this.#began >= PIECE_MS;
  }
}
