/**
 * A position as clients see it: `<epoch>-<number>`, opaque to them and compared by the server alone. It is the id of an
 * event and a place in the log. Not here: whether a position can still be used (feed.ts).
 */
import { MillraceError } from '../../kernel/errors.ts';
import type { LogRow } from './row.ts';

/** A place in the log. */
export type LogPosition = Pick<LogRow, 'epoch' | 'number'>;

const FORM = /^([1-9]\d{0,14})-([1-9]\d{0,14}|0)$/;

/** The text of a place in the log. */
export function formatPosition(place: LogPosition): string {
  return `${place.epoch}-${place.number}`;
}

/** The place that a text names. @throws MillraceError `invalid-parameter` when it is not a position */
export function requirePosition(text: string): LogPosition {
  const place = parsePosition(text);
  if (place !== null) return place;
  throw new MillraceError('invalid-parameter', 'This is not a position of this server', {
    hint: "A position is the 'position' of an earlier response or the id of an event, such as 1-1042. Without one, events from now on are sent",
  });
}

/** The place that a text names, or null when it is not a position. */
export function parsePosition(text: string): LogPosition | null {
  const match = FORM.exec(text);
  return match === null ? null : { epoch: Number(match[1]), number: Number(match[2]) };
}
