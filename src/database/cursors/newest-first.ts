/**
 * Pages of rows that are listed newest first: by `createdAt`, then by `_id`, which is a text. A cursor names the last row of
 * the page before. Not here: lists in an order that the client chooses (query/page).
 */
import type { Document } from 'mongodb';
import { MillraceError } from '../../kernel/errors.ts';

export const NEWEST_FIRST = { createdAt: -1, _id: -1 } as const;

/** The last moment that a date can hold, in milliseconds since 1970. */
const MAX_TIME = 8.64e15;

interface Place {
  readonly createdAt: Date;
  readonly _id: string;
}

/**
 * Conditions for the rows after the page that a cursor ends, all of which must hold.
 * @throws MillraceError `cursor-mismatch`
 */
export function olderThan(cursor: string): readonly Document[] {
  const { createdAt, _id } = placeOf(cursor);
  return [
    { $or: [{ createdAt: { $lt: createdAt } }, { createdAt, _id: { $lt: _id } }] },
    // The same once more, for the bounds of the index.
    { createdAt: { $lte: createdAt } },
  ];
}

/**
 * Cuts the rows that were read to a page.
 * @param rows one more than the page holds, if there are that many
 * @returns the page, and the cursor of the next one; null at the end of the list
 */
export function pageOf<T extends Place>(rows: readonly T[], limit: number): readonly [readonly T[], string | null] {
  const page = rows.slice(0, limit);
  const last = page.at(-1);
  return [page, rows.length > page.length && last !== undefined ? cursorOf(last) : null];
}

function cursorOf({ createdAt, _id }: Place): string {
  return Buffer.from(JSON.stringify([createdAt.getTime(), _id])).toString('base64url');
}

function placeOf(cursor: string): Place {
  try {
    const place: unknown = JSON.parse(Buffer.from(cursor, 'base64url').toString());
    if (Array.isArray(place) && Number.isSafeInteger(place[0]) && typeof place[1] === 'string') {
      if (Math.abs(place[0]) <= MAX_TIME) return { createdAt: new Date(place[0]), _id: place[1] };
    }
  } catch {
    // It is no JSON; refused below.
  }
  throw new MillraceError('cursor-mismatch', 'The cursor is not one of this list');
}
