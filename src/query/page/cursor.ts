/**
 * Page cursors: a position in a list as a text for the client. It is signed, so that only this instance can create
 * them, and bound to its query. Cursors are not secret: a client that received the page has seen the key.
 */
import { createHmac, type KeyObject, timingSafeEqual } from 'node:crypto';
import { BSON, type Document } from 'bson';
import { MillraceError } from '../../lib/errors.ts';
import { QUERY_LIMITS } from '../limits.ts';
import type { PagePosition } from './page.ts';

const FORMAT = 1;
const MAC_BYTES = 16;

/**
 * Encodes a position.
 * @param key secret of the instance, at least 32 bytes; as a key object, which is prepared once for all uses
 * @param query the query that the cursor is bound to (`queryFingerprint`)
 * @throws MillraceError `invalid-parameter` when the sort key is too large for a URL, or has a date of another program
 * beyond JavaScript's range: written as another date, it would lead back to its own page
 */
export function encodeCursor(key: KeyObject, query: string, position: PagePosition): string {
  // Each value is a list of one value, or an empty list for the key of an empty array: BSON cannot express `undefined`.
  const values = position.values.map((value) => (value === undefined ? [] : [value]));
  if (position.values.some((value) => value instanceof Date && Number.isNaN(value.getTime()))) {
    throw new MillraceError(
      'invalid-parameter',
      'A document of this page has a date out of range, so pages cannot be sorted by it',
      {
        hint: 'Sort by other fields, or omit the limit.',
      },
    );
  }
  const alone = position.alone === true ? { a: true } : {};
  const payload = BSON.serialize({ f: FORMAT, d: position.direction === 'next' ? 1 : -1, k: values, ...alone });
  if (payload.length > QUERY_LIMITS.cursorKeyBytes) {
    throw new MillraceError(
      'invalid-parameter',
      'A document of this page has a value that is too long to sort pages by',
      {
        hint: `Sort by fields whose values stay below ${QUERY_LIMITS.cursorKeyBytes} bytes, or omit the limit.`,
      },
    );
  }
  return Buffer.concat([sign(key, query, payload), payload]).toString('base64url');
}

/**
 * Decodes a cursor.
 * @param keys secrets of the instance, any of which may have signed it
 * @param read reads a document with exact types; the driver would turn some values into objects of its own
 * @throws MillraceError `cursor-mismatch` when another instance created it, or for another query
 */
export function decodeCursor(
  keys: readonly KeyObject[],
  query: string,
  cursor: string,
  read: (bytes: Uint8Array) => Document,
): PagePosition {
  const bytes = Buffer.from(cursor.slice(0, 2 * (QUERY_LIMITS.cursorKeyBytes + MAC_BYTES)), 'base64url');
  const payload = bytes.subarray(MAC_BYTES);
  const mac = bytes.subarray(0, MAC_BYTES);
  if (mac.length < MAC_BYTES || bytes.toString('base64url') !== cursor) throw mismatch();
  if (!keys.some((key) => timingSafeEqual(mac, sign(key, query, payload)))) throw mismatch();
  return readPayload(read(payload));
}

function readPayload(payload: Document): PagePosition {
  const keys: unknown = payload['k'];
  if (Number(payload['f']) !== FORMAT || !Array.isArray(keys)) throw mismatch();
  const direction = Number(payload['d']) === 1 ? 'next' : 'prev';
  const values = keys.map((one: unknown) => (Array.isArray(one) ? one[0] : undefined));
  return { direction, values, alone: payload['a'] === true };
}

function sign(key: KeyObject, query: string, payload: Uint8Array): Buffer {
  // The length separates the two signed parts: no other query and payload give the same signed text.
  const mac = createHmac('sha256', key).update(`cursor:${query.length}:`).update(query).update(payload);
  return mac.digest().subarray(0, MAC_BYTES);
}

function mismatch(): MillraceError {
  return new MillraceError('cursor-mismatch', 'The page cursor belongs to another query', {
    hint: 'Use a cursor with the collection, filter, sort and fields of the page that returned it.',
  });
}
