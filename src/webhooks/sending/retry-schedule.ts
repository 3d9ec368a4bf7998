/** The retry schedules of failed deliveries. */
import { retryPause } from '../../queue/worker.ts';
import type { RetryScheduleName } from '../endpoint/endpoint.ts';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

/**
 * Pauses before the attempts after the first one, in milliseconds. `standard` is the schedule of Svix; `long` takes 75
 * hours.
 */
const PAUSES: Readonly<Record<RetryScheduleName, readonly number[]>> = {
  standard: [5 * SECOND, 5 * MINUTE, 30 * MINUTE, 2 * HOUR, 5 * HOUR, 10 * HOUR, 10 * HOUR],
  long: [5 * SECOND, 5 * MINUTE, 30 * MINUTE, 2 * HOUR, 5 * HOUR, 10 * HOUR, 14 * HOUR, 19 * HOUR, 24 * HOUR],
  none: [],
};
/**
 * Jitter: each pause is longer or shorter by up to this fraction, so that deliveries that failed together do not return
 * together.
 */
const JITTER = 0.2;
/** The longest pause that a server can request. */
const MAX_RETRY_AFTER_MS = 24 * HOUR;
const REQUESTS_TO_WAIT: ReadonlySet<number> = new Set([429, 503]);

/**
 * The pause before the next attempt, in milliseconds; null after the last attempt.
 * @param attempts number of attempts so far, at least one
 * @param random from 0 to 1
 */
export function retryDelayMs(schedule: RetryScheduleName, attempts: number, random: number): number | null {
  return retryPause(PAUSES[schedule], attempts, JITTER, random);
}

/**
 * The pause that a server requests, in milliseconds; null without one (RFC 9110 section 10.2.3). Only 429 and 503 can
 * request it, for 24 hours at most.
 * @param retryAfter value of the header field: seconds, or a date
 * @param now milliseconds since 1970
 */
export function retryAfterMs(status: number, retryAfter: string | undefined, now: number): number | null {
  if (!REQUESTS_TO_WAIT.has(status) || retryAfter === undefined) return null;
  const text = retryAfter.trim();
  const pause = /^\d+$/.test(text) ? Number(text) * SECOND : Date.parse(text) - now;
  return Number.isNaN(pause) || pause <= 0 ? null : Math.min(pause, MAX_RETRY_AFTER_MS);
}
