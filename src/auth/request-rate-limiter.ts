/**
 * The rate limit of clients: a token bucket for each principal, or for the anonymous clients of one network, in this
 * process's memory. Each HTTP request takes a token, and so does a subscription over a socket.
 */
import { MillraceError } from '../lib/errors.ts';
import type { Principal } from './identity/principal.ts';

/** Maximum number of buckets; the longest unused ones are dropped first. */
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

  /** @param atOnce capacity of a bucket; a minute's worth by default */
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
   * @returns seconds to wait, 0 when the request may proceed
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

/** The error for a client above the rate limit. */
export function tooManyRequests(waitSeconds: number): MillraceError {
  return new MillraceError('rate-limited', 'Too many requests; slow down', {
    headers: { 'retry-after': String(waitSeconds), ratelimit: `"requests";r=0;t=${waitSeconds}` },
  });
}

/** The limit of requests per minute, shared by HTTP and sockets. */
export class RequestRateLimiter {
  readonly #anonymous: RateLimiter | null;
  readonly #principal: RateLimiter | null;

  /** Requests per minute of one network of anonymous clients, and of one principal; null for any number. */
  constructor({ anonymous, principal }: { readonly anonymous: number | null; readonly principal: number | null }) {
    this.#anonymous = anonymous === null ? null : new RateLimiter(anonymous);
    this.#principal = principal === null ? null : new RateLimiter(principal);
  }

  /**
   * Takes one request.
   * @param key under which the client is counted, from `clientLimitKey`
   * @throws MillraceError `rate-limited`
   */
  takeRequest({ kind }: Principal, key: string): void {
    const limiter = kind === 'anonymous' ? this.#anonymous : this.#principal;
    const waitSeconds = limiter?.take(key, performance.now()) ?? 0;
    if (waitSeconds > 0) throw tooManyRequests(waitSeconds);
  }
}
