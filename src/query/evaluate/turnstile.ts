/**
 * Lets those go on one after the other who have much to look through: one of them in each turn of the event loop, the
 * clients in turns. So many pieces of work hold up neither the others nor each other for longer than one piece, and nobody
 * waits for all that another client has asked.
 */

/** Milliseconds after which a piece of work is long enough. */
const PIECE_MS = 5;

export class Turnstile {
  /** Who waits, by client; the client whose turn is next comes first. */
  readonly #lines = new Map<unknown, (() => void)[]>();

  /** Resolves in a turn of the event loop in which nobody else passes. */
  pass(client: unknown): Promise<void> {
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

  /** The way of one piece of work after the other. */
  lane(client: unknown): Lane {
    return new Lane(() => this.pass(client));
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

/** One work of a client, piece by piece. */
export class Lane {
  readonly #pass: () => Promise<void>;
  #began = performance.now();

  constructor(pass: () => Promise<void>) {
    this.#pass = pass;
  }

  /** Waits for the next turn. */
  async pass(): Promise<void> {
    await this.#pass();
    this.#began = performance.now();
  }

  /** Whether the piece under way is long enough: then `pass` comes before the next one. */
  get isOver(): boolean {
    return performance.now() - this.#began >= PIECE_MS;
  }
}
