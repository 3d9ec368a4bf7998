/**
 * Event ids that also carry the pass of a stream (auth/tokens/stream-passes.ts). When an EventSource reconnects, it sends the last
 * id, also to another origin, where it sends no cookies. Pure.
 */

/** Between a position and a pass. Neither holds it. */
const SEPARATOR = '~';

/** An id: the position, which may be empty, and the pass. */
export function idWithPass(position: string, pass: string): string {
  return `${position}${SEPARATOR}${pass}`;
}

/** The parts of `Last-Event-ID`; the position is empty before the first event that has one. */
export function readEventId(header: string | string[] | undefined): { position: string; pass: string | null } {
  const [position = '', pass = null] = String(header ?? '').split(SEPARATOR, 2);
  return { position, pass };
}
