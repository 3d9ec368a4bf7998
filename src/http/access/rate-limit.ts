/** Limits every HTTP request to its client's rate (auth/request-rate-limiter.ts), and the verification of invalid credentials. */

import { setImmediate } from 'node:timers/promises';
import fp from 'fastify-plugin';
import { clientLimitKey } from '../../auth/identity/principal.ts';
import { RateLimiter, type RequestRateLimiter, tooManyRequests } from '../../auth/request-rate-limiter.ts';
import { clientNetwork } from '../../config/addresses.ts';
import { Semaphore } from '../../lib/concurrency/semaphore.ts';
import { MillraceError } from '../../lib/errors.ts';

export interface RateLimitOptions {
  readonly requestRate: RequestRateLimiter;
}

/** Register it after authentication. */
export const rateLimit = fp<RateLimitOptions>(
  async (app, { requestRate }) => {
    app.addHook('onRequest', (request, _reply, done) => {
      try {
        requestRate.takeRequest(request.asker, clientLimitKey(request.asker, request.ip));
      } catch (error) {
        done(error instanceof Error ? error : new Error(String(error)));
        return;
      }
      done();
    });
  },
  { name: 'rate-limit', dependencies: ['authentication'] },
);

/** Waiting credentials of one slowed network; as many as one IP address may have connections by default. */
const MAX_WAITING = 1_024;

interface Line {
  readonly slots: Semaphore;
  /** Waiting and running. */
  length: number;
}

/**
 * Slows down networks that send invalid credentials, without rejecting a valid one: only verification distinguishes
 * them, so every credential is verified. Verification costs a signature or database reads, so a network that sent too
 * many invalid ones within a minute has its credentials verified one after the other. Counted in this process's memory.
 */
export class BadCredentialThrottle {
  readonly #failures: RateLimiter | null;
  readonly #lines = new Map<string, Line>();

  /** @param perMinute invalid credentials of a network before it is slowed; null for any number */
  constructor(perMinute: number | null) {
    this.#failures = perMinute === null ? null : new RateLimiter(perMinute);
  }

  /**
   * Verifies a credential: at once, or one at a time when its network is slowed.
   * @param address IP address of the client
   * @param verify throws `invalid-token` for an invalid one
   * @throws MillraceError what `verify` throws, `rate-limited` for an invalid one of a slowed network, `overloaded`
   */
  async verifyThrottled<T>(address: string, verify: () => T | Promise<T>): Promise<T> {
    const network = clientNetwork(address);
    const slowed = this.#failures !== null && this.#failures.left(network, performance.now()) > 0;
    try {
      return await (slowed ? this.#inTurn(network, verify) : verify());
    } catch (error) {
      if (!(error instanceof MillraceError) || error.code !== 'invalid-token') throw error;
      const waitSeconds = this.#failures?.take(network, performance.now()) ?? 0;
      throw waitSeconds > 0 ? tooManyRequests(waitSeconds) : error;
    }
  }

  /** Verifies one credential of a network at a time, and yields to other requests after each. */
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
