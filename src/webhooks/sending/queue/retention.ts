/** Retention of deliveries. TTL indexes delete older ones. */

const DAY_MS = 24 * 3_600_000;

/** Ended deliveries and their attempts. */
export const FINISHED_RETENTION_MS = 30 * DAY_MS;
/**
 * Deliveries that have not ended, and bodies that several share. No schedule is nearly that long, and
 * what is pending for a removed endpoint is canceled: this is the bound for whatever is left all the same.
 */
export const PENDING_RETENTION_MS = 60 * DAY_MS;

/** When a row is deleted. @param from milliseconds since 1970 */
export function deliveryExpiry(from: number, keptMs: number): Date {
  return new Date(from + keptMs);
}
