/**
 * Page cursors: a position in a list as a text for the client. It is signed, so that only this installation makes them,
 * and bound to its question. Cursors are not secret: a client that got the page has seen the key.
 */
import { createHmac, type KeyObject, timingSafeEqual } from 'node:crypto';
import { BSON, type Document } from 'bson';
import { MillraceError } from '../../kernel/errors.ts';
import { LIMITS } from '../limits.ts';
import type { PagePosition } from './page.ts';

const FORMAT = 1;
const MAC_BYTES = 16;

/**
 * Encodes a position.
 * @param key secret of the installation, at least 32 bytes; as a key object, which is prepared once for all uses
 * @param question what the cursor is bound to (`questionOf`)
 * @throws MillraceError `invalid-parameter` when the sort key is too large to travel in an address, or holds a date of
 *   a foreign writer beyond JavaScript's range: written as another date, it would lead back to its own page
 */
export function encodeCursor(key: KeyObject, question: string, position: PagePosition): string {
  // Each value is a list of one value, or an empty list for the key of an empty array: BSON cannot express `undefined`.
  const values = position.values.map((value) => (value === undefined ? [] : [value]));
  if (position.values.some((value) => value instanceof Date && Number.isNaN(value.getTime()))) {
    throw new MillraceError(
      'invalid-parameter',
      'A document of this page has a date out of range, so pages cannot be sorted by it',
      {
        hint: 'Sort by other fields, or ask without limit.',
      },
    );
  }
  const alone = position.alone === true ? { a: true } : {};
  const payload = BSON.serialize({ f: FORMAT, d: position.direction === 'next' ? 1 : -1, k: values, ...alone });
  if (payload.length > LIMITS.cursorKeyBytes) {
    throw new MillraceError(
      'invalid-parameter',
      'A document of this page has a value that is too long to sort pages by',
      {
        hint: `Sort by fields whose values stay below ${LIMITS.cursorKeyBytes} bytes, or ask without limit.`,
      },
    );
  }
  return Buffer.concat([sign(key, question, payload), payload]).toString('base64url');
}

/**
 * Decodes a cursor.
 * @param keys secrets of the installation, any of which may have signed it
 * @param read reads a document with exact types; the driver would turn some values into objects of its own
 * @throws MillraceError `cursor-mismatch` when it was not made here, or for another question
 */
export function decodeCursor(
  keys: readonly KeyObject[],
  question: string,
  cursor: string,
  read: (bytes: Uint8Array) => Document,
): PagePosition {
  const bytes = Buffer.from(cursor.slice(0, 2 * (LIMITS.cursorKeyBytes + MAC_BYTES)), 'base64url');
  const payload = bytes.subarray(MAC_BYTES);
  const mac = bytes.subarray(0, MAC_BYTES);
  if (mac.length < MAC_BYTES || bytes.toString('base64url') !== cursor) throw mismatch();
  if (!keys.some((key) => timingSafeEqual(mac, sign(key, question, payload)))) throw mismatch();
  return readPayload(read(payload));
}

function readPayload(payload: Document): PagePosition {
  const keys: unknown = payload['k'];
  if (Number(payload['f']) !== FORMAT || !Array.isArray(keys)) throw mismatch();
  const direction = Number(payload['d']) === 1 ? 'next' : 'prev';
  const values = keys.map((one: unknown) => (Array.isArray(one) ? one[0] : undefined));
  return { direction, values, alone: payload['a'] === true };
}

function sign(key: KeyObject, question: string, payload: Uint8Array): Buffer {
  // The length separates the two parts that are signed: no other question and payload give the same signed text.
  const mac = createHmac('sha256', key).update(`cursor:${question.length}:`).update(question).update(payload);
  return mac.digest().subarray(0, MAC_BYTES);
}

function mismatch(): MillraceError {
  return new MillraceError('cursor-mismatch', 'The page cursor belongs to another query', {
    hint: 'Use a cursor with the collection, filter, sort and fields of the page that gave it.',
  });
}
