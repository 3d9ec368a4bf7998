/**
 * What follows from the answer to a try: it is delivered, tried again at some time, or dead. Pure. Not here: what follows for
 * the endpoint (breaker.ts), and the call itself (direct/callee.ts).
 */
import type { ScheduleName } from '../endpoint/endpoint.ts';
import { askedPause, pauseAfter } from './schedule.ts';
import type { Trigger } from './sender.ts';

/** The answer to a try: `error` is null for a success. */
export interface Answered {
  readonly status: number | null;
  readonly error: string | null;
  readonly retryAfter: string | undefined;
}

export type TryOutcome =
  | { readonly state: 'delivered' | 'dead' }
  /** `pauseMs`: how long to wait for the next try. */
  | { readonly state: 'pending'; readonly pauseMs: number };

/** The server says that the endpoint is no longer there (RFC 9110 section 15.5.11). */
export const GONE = 410;

/** The body of the delivery is no longer stored. */
export const NO_BODY = 'no-body';

/**
 * @param tries how many there were by the schedule, this one included
 * @param random from 0 to 1
 * @param now milliseconds since 1970
 */
export function outcomeOf(
  { status, error, retryAfter }: Answered,
  { trigger, schedule, tries }: { readonly trigger: Trigger; readonly schedule: ScheduleName; readonly tries: number },
  random: number,
  now: number,
): TryOutcome {
  if (error === null) return { state: 'delivered' };
  const last = trigger === 'test' || status === GONE || error === NO_BODY;
  const pause = last ? null : pauseAfter(schedule, tries, random);
  if (pause === null) return { state: 'dead' };
  const asked = status === null ? null : askedPause(status, retryAfter, now);
  return { state: 'pending', pauseMs: Math.max(pause, asked ?? 0) };
}

/** Why an answer with this status is a failure; null for a success. Only 2xx is one; a redirect is not followed. */
export function statusError(status: number): string | null {
  if (status >= 200 && status < 300) return null;
  return status >= 300 && status < 400 ? 'redirected' : 'status';
}
