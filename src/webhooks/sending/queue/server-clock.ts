/**
 * The time of the database server, which all processes share, without a query each time. The server compares leases
 * itself; this is for values written with them.
 */

const REFRESH_INTERVAL_MS = 60_000;

export class ServerClock {
  readonly #read: () => Promise<number>;
  readonly #offset: () => number;
  #base = Date.now();
  #at = Number.NEGATIVE_INFINITY;

  /**
   * @param read reads the server's time, in milliseconds since 1970
   * @param offset milliseconds added; for tests
   */
  constructor(read: () => Promise<number>, offset: () => number) {
    this.#read = read;
    this.#offset = offset;
  }

  /**
   * Reads the server's time, unless read a moment ago. Called when there is work, so an idle process sends no query.
   */
  async refresh(): Promise<void> {
    if (performance.now() - this.#at < REFRESH_INTERVAL_MS) return;
    const requested = performance.now();
    const base = await this.#read();
    this.#at = (requested + performance.now()) / 2;
    this.#base = base;
  }

  /** Milliseconds since 1970. */
  now(): number {
    const passed = this.#at === Number.NEGATIVE_INFINITY ? 0 : performance.now() - this.#at;
    return Math.round(this.#base + passed + this.#offset());
  }
}
