/**
 * BSON as bytes (bsonspec.org, version 1.1): where a document, a name and a value end. Every length is checked against
 * the end of the surrounding document, so damaged bytes cause an error and never a read beyond that end.
 */
import { MillraceError } from '../../lib/errors.ts';

/** Element types, with the numbers of the specification. */
export const DOUBLE = 0x01;
export const STRING = 0x02;
export const DOCUMENT = 0x03;
export const ARRAY = 0x04;
export const BINARY = 0x05;
export const UNDEFINED = 0x06;
export const OBJECT_ID = 0x07;
export const BOOLEAN = 0x08;
export const DATE = 0x09;
export const NULL = 0x0a;
export const REGEX = 0x0b;
export const DB_POINTER = 0x0c;
export const JAVASCRIPT = 0x0d;
export const SYMBOL = 0x0e;
export const CODE_WITH_SCOPE = 0x0f;
export const INT32 = 0x10;
export const TIMESTAMP = 0x11;
export const INT64 = 0x12;
export const DECIMAL128 = 0x13;
export const MAX_KEY = 0x7f;
export const MIN_KEY = 0xff;

/** Deepest nesting read from the database; MongoDB itself allows 200 levels. */
export const MAX_STORED_DEPTH = 256;

/** The error for bytes that are not a BSON document: an error of the stored data, not of the client. */
export function damagedDocumentError(what: string): MillraceError {
  return new MillraceError('internal', `A stored document is damaged: ${what}`);
}

/** A little-endian signed 32-bit integer; bytes after the end of `src` count as 0, callers check the end themselves. */
export function readInt32(src: Uint8Array, at: number): number {
  return (src[at] ?? 0) | ((src[at + 1] ?? 0) << 8) | ((src[at + 2] ?? 0) << 16) | ((src[at + 3] ?? 0) << 24);
}

/**
 * The offset of a document's last byte (its terminating 0).
 * @param start the offset of the document's length, its first byte
 * @param limit the first byte after the space in which the document must end
 */
export function documentEnd(src: Uint8Array, start: number, limit: number): number {
  const size = readInt32(src, start);
  if (start + 5 > limit || size < 5 || start + size > limit) throw damagedDocumentError('a length is wrong');
  const end = start + size - 1;
  if (src[end] !== 0) throw damagedDocumentError('a document does not end');
  return end;
}

/** The offset of the 0 that ends a name, given the last byte of the surrounding document. */
export function fieldNameEnd(src: Uint8Array, start: number, end: number): number {
  let at = start;
  while (src[at] !== 0 && at < end) at++;
  if (at >= end) throw damagedDocumentError('a name does not end');
  return at;
}

/** The offset of the terminating 0 of a string. Its length is at `start`, and its text begins 4 bytes after that. */
export function stringEnd(src: Uint8Array, start: number, end: number): number {
  if (start + 5 > end) throw damagedDocumentError('a string is truncated');
  const size = readInt32(src, start);
  if (size < 1 || size > end - start - 4) throw damagedDocumentError('a string has a wrong length');
  const last = start + 4 + size - 1;
  if (src[last] !== 0) throw damagedDocumentError('a string does not end');
  return last;
}

/** First byte after a value. The content of embedded documents and arrays is not checked. */
export function valueEnd(src: Uint8Array, type: number, start: number, end: number): number {
  const after = measure(src, type, start, end);
  if (after > end) throw damagedDocumentError('a value is truncated');
  return after;
}

function measure(src: Uint8Array, type: number, start: number, end: number): number {
  switch (type) {
    case DOUBLE:
    case DATE:
    case TIMESTAMP:
    case INT64:
      return start + 8;
    case INT32:
      return start + 4;
    case BOOLEAN:
      if ((src[start] ?? 2) > 1) throw damagedDocumentError('a boolean is neither true nor false');
      return start + 1;
    case OBJECT_ID:
      return start + 12;
    case DECIMAL128:
      return start + 16;
    case NULL:
    case UNDEFINED:
    case MIN_KEY:
    case MAX_KEY:
      return start;
    case STRING:
    case JAVASCRIPT:
    case SYMBOL:
      return stringEnd(src, start, end) + 1;
    case DB_POINTER:
      return stringEnd(src, start, end) + 13;
    case DOCUMENT:
    case ARRAY:
      return documentEnd(src, start, end) + 1;
    case BINARY:
      return binaryEnd(src, start, end);
    case REGEX:
      return fieldNameEnd(src, fieldNameEnd(src, start, end) + 1, end) + 1;
    case CODE_WITH_SCOPE:
      return codeWithScopeEnd(src, start, end);
    default:
      throw damagedDocumentError(`type ${type} does not exist`);
  }
}

/** The offset of a field's type byte, searched from the field at `start` on, or -1. */
export function findField(src: Uint8Array, start: number, end: number, requested: Uint8Array): number {
  let from = start;
  while (from < end) {
    const name = fieldNameEnd(src, from + 1, end);
    if (hasFieldName(src, from + 1, name, requested)) return from;
    from = valueEnd(src, src[from] ?? 0, name + 1, end);
  }
  return -1;
}

/** A value: its type, its first byte, and the first byte after it. */
export interface ValueOffsets {
  readonly type: number;
  readonly start: number;
  readonly end: number;
}

/** The location of a field's value, or null; the document begins at `start` and ends before `limit`. */
export function findFieldValue(src: Uint8Array, start: number, limit: number, name: Uint8Array): ValueOffsets | null {
  const end = documentEnd(src, start, limit);
  const field = findField(src, start + 4, end, name);
  if (field < 0) return null;
  const type = src[field] ?? 0;
  const value = field + name.length + 2;
  return { type, start: value, end: valueEnd(src, type, value, end) };
}

/** Whether the bytes between two offsets are this name. */
export function hasFieldName(src: Uint8Array, start: number, end: number, name: Uint8Array): boolean {
  if (end - start !== name.length) return false;
  for (let i = 0; i < name.length; i++) if (src[start + i] !== name[i]) return false;
  return true;
}

/**
 * Whether a document has an array at a path, or on the way to it.
 * @param steps the names of the path
 */
export function pathHasArray(raw: Uint8Array, steps: readonly Uint8Array[]): boolean {
  let start = 0;
  let limit = raw.length;
  for (const step of steps) {
    const end = documentEnd(raw, start, limit);
    const field = findField(raw, start + 4, end, step);
    if (field < 0) return false;
    const type = raw[field] ?? 0;
    if (type !== DOCUMENT) return type === ARRAY;
    start = field + step.length + 2;
    limit = end;
  }
  return false;
}

/**
 * Where the bytes of a binary start. The old subtype 2 repeats the length before them. The server does not check that;
 * if the second length is missing, everything is content.
 */
export function binaryContentOffset(src: Uint8Array, start: number): number {
  const size = readInt32(src, start);
  return src[start + 4] === 2 && size >= 4 && readInt32(src, start + 5) === size - 4 ? start + 9 : start + 5;
}

function binaryEnd(src: Uint8Array, start: number, end: number): number {
  const size = readInt32(src, start);
  if (start + 5 > end || size < 0 || size > end - start - 5) throw damagedDocumentError('a binary has a wrong length');
  return start + 5 + size;
}

function codeWithScopeEnd(src: Uint8Array, start: number, end: number): number {
  if (start + 14 > end) throw damagedDocumentError('a code is truncated');
  const after = start + readInt32(src, start);
  if (after > end || documentEnd(src, stringEnd(src, start + 4, end) + 1, end) + 1 !== after) {
    throw damagedDocumentError('a code has a wrong length');
  }
  return after;
}
