/**
 * When a failed delivery is tried again. Pure. Not here: what counts as failed (outcome.ts), and pauses of a whole endpoint
 * (breaker.ts).
 */
import type { ScheduleName } from '../endpoint/endpoint.ts';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

/** Pauses before the tries after the first one, in milliseconds. `standard` is the schedule of Svix; `long` takes 75 hours. */
const PAUSES: Readonly<Record<ScheduleName, readonly number[]>> = {
  standard: [5 * SECOND, 5 * MINUTE, 30 * MINUTE, 2 * HOUR, 5 * HOUR, 10 * HOUR, 10 * HOUR],
  long: [5 * SECOND, 5 * MINUTE, 30 * MINUTE, 2 * HOUR, 5 * HOUR, 10 * HOUR, 14 * HOUR, 19 * HOUR, 24 * HOUR],
  none: [],
};
/** Each pause is longer or shorter by up to this part of it, so that what failed together does not come back together. */
const JITTER = 0.2;
/** The longest pause that a server may ask for. */
const MAX_RETRY_AFTER_MS = 24 * HOUR;
const ASKS_TO_WAIT: ReadonlySet<number> = new Set([429, 503]);

/**
 * How long to wait for the next try, in milliseconds; null when all tries are used up.
 * @param tries how many there were, one at least
 * @param random from 0 to 1
 */
export function pauseAfter(schedule: ScheduleName, tries: number, random: number): number | null {
  const pause = PAUSES[schedule][tries - 1];
  return pause === undefined ? null : Math.round(pause * (1 - JITTER + 2 * JITTER * random));
}

/**
 * How long a server asks to be left alone, in milliseconds; null when it does not (RFC 9110 section 10.2.3). Only 429 and
 * 503 may ask, for 24 hours at most.
 * @param retryAfter value of the header field: seconds, or a date
 * @param now milliseconds since 1970
 */
export function askedPause(status: number, retryAfter: string | undefined, now: number): number | null {
  if (!ASKS_TO_WAIT.has(status) || retryAfter === undefined) return null;
  const text = retryAfter.trim();
  const pause = /^\d+$/.test(text) ? Number(text) * SECOND : Date.parse(text) - now;
  return Number.isNaN(pause) || pause <= 0 ? null : Math.min(pause, MAX_RETRY_AFTER_MS);
}
