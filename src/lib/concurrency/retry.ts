/** Retries an operation for a limited time, with random pauses that grow up to a limit. */
import { setTimeout as pause } from 'node:timers/promises';

export interface RetryOptions {
  /** No further attempt starts after this time, in milliseconds. */
  readonly limitMs: number;
  /** Longest pause before the second attempt, in milliseconds; it doubles with each further attempt. */
  readonly delayMs: number;
  /** Longest pause of all, in milliseconds. */
  readonly maxDelayMs: number;
  /** Whether an error can be retried. */
  readonly retryable: (error: unknown) => boolean;
}

/** Runs `operation` until it succeeds, fails permanently, or the time is used up; then its last error is thrown. */
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
