/**
 * Tries an operation again, for a bounded time, with random pauses that grow up to a bound. Not here: which errors may
 * be tried again; the caller says that.
 */
import { setTimeout as pause } from 'node:timers/promises';

export interface RetryOptions {
  /** No further try starts after this time, in milliseconds. */
  readonly limitMs: number;
  /** Longest pause before the second try, in milliseconds; it doubles with each further try. */
  readonly delayMs: number;
  /** Longest pause of all, in milliseconds. */
  readonly maxDelayMs: number;
  /** Tells whether an error deserves another try. */
  readonly retryable: (error: unknown) => boolean;
}

/** Runs `operation` until it succeeds, fails for good, or the time is used up; then its last error is thrown. */
export async function retry<T>(operation: () => Promise<T>, options: RetryOptions): Promise<T> {
  const end = performance.now() + options.limitMs;
  for (let longest = options.delayMs; ; longest = Math.min(longest * 2, options.maxDelayMs)) {
    try {
      return await operation();
    } catch (error) {
      const wait = Math.random() * longest;
      if (performance.now() + wait > end || !options.retryable(error)) throw error;
      await pause(wait);
    }
  }
}
