/**
 * Pages of rows, newest first: by `createdAt`, then by `_id`, which is a text. A cursor names the last row of the
 * previous page.
 */
import type { Document } from 'mongodb';
import { MillraceError } from '../../lib/errors.ts';

export const NEWEST_FIRST = { createdAt: -1, _id: -1 } as const;

/** The maximum value of a date, in milliseconds since 1970. */
const MAX_TIME = 8.64e15;

interface CursorPosition {
  readonly createdAt: Date;
  readonly _id: string;
}

/**
 * Conditions for the rows after the page that a cursor ends, combined with `and`.
 * @throws MillraceError `cursor-mismatch`
 */
export function olderThanCursor(cursor: string): readonly Document[] {
  const { createdAt, _id } = positionOf(cursor);
  return [
    { $or: [{ createdAt: { $lt: createdAt } }, { createdAt, _id: { $lt: _id } }] },
    // Repeated for the bounds of the index.
    { createdAt: { $lte: createdAt } },
  ];
}

/**
 * Cuts rows to a page.
 * @param rows one more than the page has, if there are that many
 * @returns the page, and the cursor of the next one; null at the end of the list
 */
export function pageWithCursor<T extends CursorPosition>(
  rows: readonly T[],
  limit: number,
): readonly [readonly T[], string | null] {
  const page = rows.slice(0, limit);
  const last = page.at(-1);
  return [page, rows.length > page.length && last !== undefined ? cursorOf(last) : null];
}

function cursorOf({ createdAt, _id }: CursorPosition): string {
  return Buffer.from(JSON.stringify([createdAt.getTime(), _id])).toString('base64url');
}

function positionOf(cursor: string): CursorPosition {
  try {
    const position: unknown = JSON.parse(Buffer.from(cursor, 'base64url').toString());
    if (Array.isArray(position) && Number.isSafeInteger(position[0]) && typeof position[1] === 'string') {
      if (Math.abs(position[0]) <= MAX_TIME) return { createdAt: new Date(position[0]), _id: position[1] };
    }
  } catch {
    // Not JSON; rejected below.
  }
  throw new MillraceError('cursor-mismatch', 'The cursor is not one of this list');
}
