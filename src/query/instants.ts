/**
 * Times as texts that name an instant: ISO 8601 with an offset or `Z`. Two of them may be the same instant though the
 * texts differ. Pure.
 */

/** An instant, exact to the nanosecond as its text is. */
export interface Instant {
  /** Milliseconds since 1970, without the fraction of the second. */
  readonly ms: number;
  /** Nine digits. */
  readonly fraction: string;
}

/** Captures the time up to the minute, seconds, fraction and offset; for the database's engine, too. */
export const INSTANT_PATTERN =
  '^([0-9]{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12][0-9]|3[01])T(?:[01][0-9]|2[0-3]):[0-5][0-9])(?::([0-5][0-9])(?:[.]([0-9]{1,9}))?)?(Z|[+-](?:[01][0-9]|2[0-3]):[0-5][0-9])\\z';

const INSTANT = new RegExp(INSTANT_PATTERN.replace('\\z', '$'));

/** The instant that a text names; null for every other text, and for a day that does not exist. */
export function asInstant(text: string): Instant | null {
  if (text.length < 17 || text.length > 35) return null;
  const [, minute, seconds = '00', fraction = '', offset] = INSTANT.exec(text) ?? [];
  if (minute === undefined || offset === undefined) return null;
  const day = minute.slice(0, 10);
  const midnight = new Date(`${day}T00:00Z`);
  // JavaScript reads 30 February as 2 March.
  if (Number.isNaN(midnight.getTime()) || !midnight.toISOString().startsWith(day)) return null;
  return { ms: Date.parse(`${minute}:${seconds}${offset}`), fraction: fraction.padEnd(9, '0') };
}

/** Negative, zero or positive, as the first instant is before, at or after the second. */
export function compareInstants(a: Instant, b: Instant): number {
  if (a.ms !== b.ms) return a.ms - b.ms;
  return a.fraction === b.fraction ? 0 : a.fraction < b.fraction ? -1 : 1;
}

const DAY_MS = 86_400_000;

/**
 * Two days between which every text lies that may be compared differently as an instant than as a text: an offset moves
 * a time by less than a day. Before `from` and from `to` on, texts and instants are in the same order.
 */
export function daysAround({ ms }: Instant): { readonly from: string; readonly to: string } {
  const day = (at: number): string => new Date(at).toISOString().slice(0, 10);
  const [from, to] = [day(ms - 2 * DAY_MS), day(ms + 3 * DAY_MS)];
  // Years outside of four digits are written with a sign, which sorts before all digits.
  return { from: /^\d/.test(from) ? from : '', to: /^\d/.test(to) ? to : ':' };
}
