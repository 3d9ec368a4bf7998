/** How long deliveries are kept. Indexes of the database delete what is older. */

const DAY_MS = 24 * 3_600_000;

/** Ended deliveries and their tries. */
export const ENDED_KEPT_MS = 30 * DAY_MS;
/**
 * Deliveries that have not ended, and bodies that several share. No schedule is nearly that long, and
 * what is pending for a removed endpoint is discarded: this is the bound for whatever is left all the same.
 */
export const WAITING_KEPT_MS = 60 * DAY_MS;

/** When a row is deleted. @param from milliseconds since 1970 */
export function expiry(from: number, keptMs: number): Date {
  return new Date(from + keptMs);
}
