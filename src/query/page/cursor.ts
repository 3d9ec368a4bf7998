/**
 * Page cursors: a position written down for the client, signed so that only this installation makes them, and bound to
 * the question they belong to. They are not secret: whoever got the page has seen the key.
 */
import { createHmac, type KeyObject, timingSafeEqual } from 'node:crypto';
import { BSON, type Document } from 'bson';
import { MillraceError } from '../../kernel/errors.ts';
import { LIMITS } from '../limits.ts';
import type { PagePosition } from './page.ts';

const FORMAT = 1;
const MAC_BYTES = 16;

/**
 * Writes a position down.
 * @param key secret of the installation, at least 32 bytes; as a key object, which is prepared once for all uses
 * @param question what the cursor is bound to (`questionOf`)
 * @throws MillraceError `invalid-parameter` when the sort key is too large to travel in an address, or a date that a
 *   foreign writer stored beyond what JavaScript can tell: written as another date, it would lead back to its own page
 */
export function encodeCursor(key: KeyObject, question: string, position: PagePosition): string {
  // A list of one value, or of none for the key that an empty array has: BSON has no word for it.
  const values = position.values.map((value) => (value === undefined ? [] : [value]));
  if (position.values.some((value) => value instanceof Date && Number.isNaN(value.getTime()))) {
    throw new MillraceError('invalid-parameter', 'A document of this page has a date out of range to sort pages by', {
      hint: 'Sort by other fields, or ask without limit.',
    });
  }
  const alone = position.alone === true ? { a: true } : {};
  const payload = BSON.serialize({ f: FORMAT, d: position.direction === 'next' ? 1 : -1, k: values, ...alone });
  if (payload.length > LIMITS.cursorKeyBytes) {
    throw new MillraceError('invalid-parameter', 'A document of this page has too long a value to sort pages by', {
      hint: `Sort by fields whose values stay below ${LIMITS.cursorKeyBytes} bytes, or ask without limit.`,
    });
  }
  return Buffer.concat([sign(key, question, payload), payload]).toString('base64url');
}

/**
 * Reads a cursor back.
 * @param keys secrets of the installation, any of which may have signed it
 * @param read reads a document with exact types; the driver would make objects of its own of some values
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
  // The length keeps what is signed apart: no question and payload can be mistaken for another pair.
  const mac = createHmac('sha256', key).update(`cursor:${question.length}:`).update(question).update(payload);
  return mac.digest().subarray(0, MAC_BYTES);
}

function mismatch(): MillraceError {
  return new MillraceError('cursor-mismatch', 'The page cursor belongs to another query', {
    hint: 'Use a cursor with the collection, filter, sort and fields of the page that gave it.',
  });
}
