/**
 * A position as clients see it: `<epoch>-<number>`, opaque to them and compared by the server only. It is the id of an
 * event and identifies a row of the log.
 */
import { MillraceError } from '../../lib/errors.ts';
import type { LogRow } from './log-row.ts';

/** A log position. */
export type LogPosition = Pick<LogRow, 'epoch' | 'number'>;

const FORM = /^([1-9]\d{0,14})-([1-9]\d{0,14}|0)$/;

/** The text of a log position. */
export function formatPosition(position: LogPosition): string {
  return `${position.epoch}-${position.number}`;
}

/** Parses a position. @throws MillraceError `invalid-parameter` if it is not a position */
export function requirePosition(text: string): LogPosition {
  const position = parsePosition(text);
  if (position !== null) return position;
  throw new MillraceError('invalid-parameter', 'This is not a position of this server', {
    hint: "A position is the 'position' of an earlier response or the id of an event, such as 1-1042. Without one, events from now on are sent",
  });
}

/** Parses a position; null if it is not one. */
export function parsePosition(text: string): LogPosition | null {
  const match = FORM.exec(text);
  return match === null ? null : { epoch: Number(match[1]), number: Number(match[2]) };
}
