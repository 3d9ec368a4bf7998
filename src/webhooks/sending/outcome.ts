/**
 * What follows from the answer to a try: it is delivered, tried again at some time, or failed. Pure.
 */
import type { ScheduleName } from '../endpoint/endpoint.ts';
import { pauseAfter, requestedPause } from './schedule.ts';
import type { Trigger } from './sender.ts';

/** The result of an attempt: `error` is null for a success. */
export interface ApiResponse {
  readonly status: number | null;
  readonly error: string | null;
  readonly retryAfter: string | undefined;
}

export type TryOutcome =
  | { readonly state: 'succeeded' | 'failed' }
  /** `pauseMs`: time until the next attempt. */
  | { readonly state: 'pending'; readonly pauseMs: number };

/** The endpoint no longer exists, says its server (RFC 9110 section 15.5.11). */
export const GONE = 410;

/** The body of the delivery is no longer stored. */
export const NO_BODY = 'no-body';

/**
 * @param tries number of attempts in the schedule, including this one
 * @param random from 0 to 1
 * @param now milliseconds since 1970
 */
export function outcomeOf(
  { status, error, retryAfter }: ApiResponse,
  {
    trigger,
    schedule,
    attempts,
  }: { readonly trigger: Trigger; readonly schedule: ScheduleName; readonly attempts: number },
  random: number,
  now: number,
): TryOutcome {
  if (error === null) return { state: 'succeeded' };
  const last = trigger === 'test' || status === GONE || error === NO_BODY;
  const pause = last ? null : pauseAfter(schedule, attempts, random);
  if (pause === null) return { state: 'failed' };
  const requested = status === null ? null : requestedPause(status, retryAfter, now);
  return { state: 'pending', pauseMs: Math.max(pause, requested ?? 0) };
}

/** Why a response with this status is a failure; null for a success. Only 2xx is one; redirects are not followed. */
export function statusError(status: number): string | null {
  if (status >= 200 && status < 300) return null;
  return status >= 300 && status < 400 ? 'redirected' : 'status';
}
