/**
 * What follows from the answer to a try: it is delivered, tried again at some time, or failed. Pure.
 */
import type { RetryScheduleName } from '../endpoint/endpoint.ts';
import { retryAfterMs, retryDelayMs } from './retry-schedule.ts';
import type { AttemptTrigger } from './sender.ts';

/** The result of an attempt: `error` is null for a success. */
export interface AttemptResponse {
  readonly status: number | null;
  readonly error: string | null;
  readonly retryAfter: string | undefined;
}

export type AttemptOutcome =
  | { readonly state: 'succeeded' | 'failed' }
  /** `pauseMs`: time until the next attempt. */
  | { readonly state: 'pending'; readonly pauseMs: number };

/** The endpoint no longer exists, says its server (RFC 9110 section 15.5.11). */
export const GONE_STATUS = 410;

/** The body of the delivery is no longer stored. */
export const MISSING_BODY_ERROR = 'no-body';

/**
 * @param attempts number of attempts in the schedule, including this one
 * @param random from 0 to 1
 * @param now milliseconds since 1970
 */
export function decideAttemptOutcome(
  { status, error, retryAfter }: AttemptResponse,
  {
    trigger,
    schedule,
    attempts,
  }: { readonly trigger: AttemptTrigger; readonly schedule: RetryScheduleName; readonly attempts: number },
  random: number,
  now: number,
): AttemptOutcome {
  if (error === null) return { state: 'succeeded' };
  const last = trigger === 'test' || status === GONE_STATUS || error === MISSING_BODY_ERROR;
  const pause = last ? null : retryDelayMs(schedule, attempts, random);
  if (pause === null) return { state: 'failed' };
  const requested = status === null ? null : retryAfterMs(status, retryAfter, now);
  return { state: 'pending', pauseMs: Math.max(pause, requested ?? 0) };
}

/** Why a response with this status is a failure; null for a success. Only 2xx is one; redirects are not followed. */
export function statusError(status: number): string | null {
  if (status >= 200 && status < 300) return null;
  return status >= 300 && status < 400 ? 'redirected' : 'status';
}
