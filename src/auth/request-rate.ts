/**
 * How many requests a minute one client may make: a token bucket for each principal, or for the anonymous clients of
 * one network, in this process's memory. Each HTTP request takes a token, and so does a subscription over a socket. Not
 * here: the delays of failed sign-ins, which all processes share.
 */
import { MillraceError } from '../kernel/errors.ts';
import type { Principal } from './identity/principal.ts';

/** Buckets kept; the longest unused ones go first. */
const MAX_BUCKETS = 50_000;

interface Bucket {
  tokens: number;
  /** Milliseconds of the monotonic clock. */
  at: number;
}

/** Token buckets that refill steadily. */
export class RateLimiter {
  readonly #perMinute: number;
  readonly #atOnce: number;
  readonly #buckets = new Map<string, Bucket>();

  /** @param atOnce tokens that a bucket holds; a minute's worth by default */
  constructor(perMinute: number, atOnce = perMinute) {
    this.#perMinute = perMinute;
    this.#atOnce = atOnce;
  }

  /** Seconds until there is a token, 0 when there is one; takes none. */
  left(key: string, now: number): number {
    const bucket = this.#buckets.get(key);
    if (bucket === undefined) return 0;
    const tokens = bucket.tokens + ((now - bucket.at) * this.#perMinute) / 60_000;
    return tokens >= 1 ? 0 : Math.max(1, Math.ceil(((1 - tokens) * 60) / this.#perMinute));
  }

  /**
   * Takes tokens, all or none.
   * @param now milliseconds of a monotonic clock
   * @returns seconds to wait, 0 when the request may go on
   */
  take(key: string, now: number, count = 1): number {
    const bucket = this.#buckets.get(key) ?? { tokens: this.#atOnce, at: now };
    const tokens = Math.min(this.#atOnce, bucket.tokens + ((now - bucket.at) * this.#perMinute) / 60_000);
    const allowed = tokens >= count;
    // Deleted and set again, so that the map's order is the order of use.
    this.#buckets.delete(key);
    this.#buckets.set(key, { tokens: allowed ? tokens - count : tokens, at: now });
    if (this.#buckets.size > MAX_BUCKETS) {
      for (const oldest of this.#buckets.keys()) {
        this.#buckets.delete(oldest);
        break;
      }
    }
    return allowed ? 0 : Math.max(1, Math.ceil(((count - tokens) * 60) / this.#perMinute));
  }
}

/** The error for a client that asks too often. */
export function tooManyRequests(waitSeconds: number): MillraceError {
  return new MillraceError('rate-limited', 'Too many requests; slow down', {
    headers: { 'retry-after': String(waitSeconds), ratelimit: `"requests";r=0;t=${waitSeconds}` },
  });
}

/** The limit of requests per minute, shared by all ways in which clients ask. */
export class RequestRate {
  readonly #anonymous: RateLimiter | null;
  readonly #principal: RateLimiter | null;

  /** @param perMinute requests of one network of anonymous clients, and of one principal; null for any number */
  constructor({ anonymous, principal }: { readonly anonymous: number | null; readonly principal: number | null }) {
    this.#anonymous = anonymous === null ? null : new RateLimiter(anonymous);
    this.#principal = principal === null ? null : new RateLimiter(principal);
  }

  /**
   * Draws one request.
   * @param key under which the client is counted, as `clientOf` gives it
   * @throws MillraceError `rate-limited`
   */
  draw({ kind }: Principal, key: string): void {
    const limiter = kind === 'anonymous' ? this.#anonymous : this.#principal;
    const waitSeconds = limiter?.take(key, performance.now()) ?? 0;
    if (waitSeconds > 0) throw tooManyRequests(waitSeconds);
  }
}
