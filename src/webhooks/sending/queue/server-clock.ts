/**
 * The time of the database server, which all processes share, without asking it each time. Leases are compared by the server
 * itself; this is for what is written with them. Not here: monotonic time, by which a process knows that a lease has ended.
 */

const FRESH_MS = 60_000;

export class ServerClock {
  readonly #read: () => Promise<number>;
  readonly #offset: () => number;
  #base = Date.now();
  #at = Number.NEGATIVE_INFINITY;

  /**
   * @param read asks the server for its time, in milliseconds since 1970
   * @param offset milliseconds that are added; for tests
   */
  constructor(read: () => Promise<number>, offset: () => number) {
    this.#read = read;
    this.#offset = offset;
  }

  /** Asks the server, unless it was asked a moment ago. Called when there is work, so an idle process asks nothing. */
  async refresh(): Promise<void> {
    if (performance.now() - this.#at < FRESH_MS) return;
    const asked = performance.now();
    const base = await this.#read();
    this.#at = (asked + performance.now()) / 2;
    this.#base = base;
  }

  /** Milliseconds since 1970. */
  now(): number {
    const passed = this.#at === Number.NEGATIVE_INFINITY ? 0 : performance.now() - this.#at;
    return Math.round(this.#base + passed + this.#offset());
  }
}
