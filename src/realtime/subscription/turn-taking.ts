/**
 * Lets those go on one after the other who have much to look through: one of them in each turn of the event loop, so that
 * many who come back at once hold up neither the others nor each other for longer than one piece of work.
 */
export class Turnstile {
  readonly #line: (() => void)[] = [];

  /** Resolves in a turn in which nobody else passes. */
  pass(): Promise<void> {
    return new Promise((resolve) => {
      if (this.#line.push(resolve) === 1) setImmediate(() => this.#next());
    });
  }

  #next(): void {
    this.#line.shift()?.();
    if (this.#line.length > 0) setImmediate(() => this.#next());
  }
}
