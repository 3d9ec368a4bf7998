/** How long deliveries are kept. Indexes of the database delete what is older. */

const DAY_MS = 24 * 3_600_000;

/** Ended deliveries and their tries. */
export const ENDED_KEPT_MS = 30 * DAY_MS;
/**
 * Deliveries that have not ended, and bodies that several share. No schedule is nearly that long; what is left then belongs to
 * an endpoint that was removed while no process could discard it.
 */
export const WAITING_KEPT_MS = 60 * DAY_MS;

/** When a row is deleted. @param from milliseconds since 1970 */
export function expiry(from: number, keptMs: number): Date {
  return new Date(from + keptMs);
}
