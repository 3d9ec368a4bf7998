/**
 * Slows down networks that send bad credentials, without refusing a good one: only verifying tells them apart, so every
 * credential is verified. Verifying costs a signature or database reads. So a network that sent too many bad ones
 * within a minute has its credentials verified one after the other. Counted in this process's memory. Not here:
 * credentials that were verified before and cost nothing (auth/authenticator.ts), the limit of requests
 * (auth/request-rate.ts), and the delays of failed sign-ins.
 */
import { setImmediate } from 'node:timers/promises';
import { RateLimiter, tooManyRequests } from '../../auth/request-rate.ts';
import { Semaphore } from '../../kernel/concurrency/semaphore.ts';
import { networkOf } from '../../kernel/config/addresses.ts';
import { MillraceError } from '../../kernel/errors.ts';

/** Credentials of one slowed network that wait; as many as one address may have connections by default. */
const MAX_WAITING = 1_024;

interface Line {
  readonly slots: Semaphore;
  /** Waiting and under way. */
  length: number;
}

export class BadCredentials {
  readonly #failures: RateLimiter | null;
  readonly #lines = new Map<string, Line>();

  /** @param perMinute bad credentials of a network before it is slowed; null for any number */
  constructor(perMinute: number | null) {
    this.#failures = perMinute === null ? null : new RateLimiter(perMinute);
  }

  /**
   * Verifies a credential: at once, or in its turn when its network is slowed.
   * @param address IP address of the client
   * @param verify throws `invalid-credential` for a bad one
   * @throws MillraceError what `verify` throws, `rate-limited` for a bad one of a slowed network, `overloaded`
   */
  async look<T>(address: string, verify: () => T | Promise<T>): Promise<T> {
    const network = networkOf(address);
    const slowed = this.#failures !== null && this.#failures.left(network, performance.now()) > 0;
    try {
      return await (slowed ? this.#inTurn(network, verify) : verify());
    } catch (error) {
      if (!(error instanceof MillraceError) || error.code !== 'invalid-credential') throw error;
      const waitSeconds = this.#failures?.take(network, performance.now()) ?? 0;
      throw waitSeconds > 0 ? tooManyRequests(waitSeconds) : error;
    }
  }

  /** Verifies one credential of a network at a time, with a pause for other requests after each. */
  async #inTurn<T>(network: string, verify: () => T | Promise<T>): Promise<T> {
    const line = this.#lines.get(network) ?? { slots: new Semaphore(1, MAX_WAITING), length: 0 };
    this.#lines.set(network, line);
    line.length += 1;
    try {
      return await line.slots.run(async () => {
        await setImmediate();
        return verify();
      });
    } finally {
      line.length -= 1;
      if (line.length === 0) this.#lines.delete(network);
    }
  }
}
