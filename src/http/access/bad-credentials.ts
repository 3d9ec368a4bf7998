/**
 * How many bad credentials one address may bring in a minute, in this process's memory: looking at one costs a signature
 * or reads of the database, so they have a limit before they are looked at. Not here: the limit of requests
 * (auth/request-rate.ts), and the delays of failed sign-ins.
 */
import { RateLimiter, tooManyRequests } from '../../auth/request-rate.ts';
import { networkOf } from '../../kernel/addresses.ts';
import { MillraceError } from '../../kernel/errors.ts';

export class BadCredentials {
  readonly #failures: RateLimiter | null;

  /** @param perMinute null for any number */
  constructor(perMinute: number | null) {
    this.#failures = perMinute === null ? null : new RateLimiter(perMinute);
  }

  /**
   * Looks at a credential, unless its address has brought too many bad ones.
   * @throws MillraceError `rate-limited`, and what `look` throws
   */
  async look<T>(address: string, look: () => T | Promise<T>): Promise<T> {
    const network = networkOf(address);
    const waitSeconds = this.#failures?.left(network, performance.now()) ?? 0;
    if (waitSeconds > 0) throw tooManyRequests(waitSeconds);
    try {
      return await look();
    } catch (error) {
      const bad = error instanceof MillraceError && error.code === 'invalid-credential';
      if (bad) this.#failures?.take(network, performance.now());
      throw error;
    }
  }
}
