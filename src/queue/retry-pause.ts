/** How long a job, or the worker, waits after a failure. */

/**
 * The pause before the next attempt of a job; null after the last attempt.
 * @param pauses the pauses after each attempt but the last
 * @param attempts number of attempts so far, at least one
 * @param jitter the fraction by which a pause is longer or shorter, so that jobs that failed together do not return together
 * @param random from 0 to 1
 */
export function retryPause(pauses: readonly number[], attempts: number, jitter = 0, random = 0): number | null {
  const pause = pauses[attempts - 1];
  return pause === undefined ? null : Math.round(pause * (1 - jitter + 2 * jitter * random));
}

/** The pause after errors of the database, in milliseconds: 0.1 s doubling to 1 s. */
export function databasePauseMs(failures: number): number {
  return Math.min(100 * 2 ** Math.min(failures, 10), 1_000) * (0.75 + Math.random() / 4);
}
