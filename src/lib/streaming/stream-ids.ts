/**
 * Event ids that also contain the pass of a stream (auth/tokens/stream-reconnect-tokens.ts). When an EventSource reconnects, it
 * sends the last id, also to another origin, to which it sends no cookies.
 */

/** Separates position and pass. Neither contains it. */
const SEPARATOR = '~';

/** An id: the position, which may be empty, and the pass. */
export function formatStreamEventId(position: string, pass: string): string {
  return `${position}${SEPARATOR}${pass}`;
}

/** The parts of `Last-Event-ID`; the position is empty before the first event that has one. */
export function parseLastEventId(header: string | string[] | undefined): { position: string; pass: string | null } {
  const [position = '', pass = null] = String(header ?? '').split(SEPARATOR, 2);
  return { position, pass };
}
