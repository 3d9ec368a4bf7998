/**
 * Trying again, with a bound and a random pause that grows. Not here: which errors deserve it; the caller knows.
 */
import { setTimeout as pause } from 'node:timers/promises';

export interface RetryOptions {
  /** Tries in all, the first one included. */
  readonly attempts: number;
  /** Longest pause before the second try, in milliseconds; doubles with each further one. */
  readonly delayMs: number;
  /** Tells whether an error deserves another try. */
  readonly retryable: (error: unknown) => boolean;
}

/** Runs `operation` until it succeeds, fails for good, or the tries are used up; then its last error is thrown. */
export async function retry<T>(operation: () => Promise<T>, options: RetryOptions): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await operation();
    } catch (error) {
      if (attempt >= options.attempts || !options.retryable(error)) throw error;
      await pause(Math.random() * options.delayMs * 2 ** (attempt - 1));
    }
  }
}
