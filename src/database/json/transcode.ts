/**
 * Stored BSON to JSON text without intermediate objects: reads a document's bytes and writes the JSON of each value as
 * wire-values.ts defines it.
 */
import { Binary, Decimal128 } from 'mongodb';
import * as bson from '../bson/bson-bytes.ts';
import { ALL_FIELDS, type IncludedFields, includedFieldsBelow, isPartlyIncluded } from '../bson/included-fields.ts';
import {
  copyUnescapedBytes,
  writeAscii,
  writeHex,
  writeJsonString,
  writeRawBytes,
  writeUtf8String,
} from './write-json-string.ts';
import {
  isShortDouble,
  writeDate,
  writeDouble,
  writeInt64,
  writeInteger,
  writeNumbersAsJson,
} from './write-numbers.ts';

const COMMA = 0x2c;
const COLON = 0x3a;
const QUOTE = 0x22;
const TRUE = Buffer.from('true');
const FALSE = Buffer.from('false');
const NULL = Buffer.from('null');

/** Maximum bytes of JSON that one byte of BSON can become: a control character in a string or a name. */
export const MAX_JSON_GROWTH = 6;

/** Maximum number of doubles of an array that are printed in one call. */
const MOST_WAITING = 256;

/** Decides whether a field is omitted, by its type and the offset of its name. */
export type FieldSkipTest = (src: Buffer, type: number, nameStart: number, nameEnd: number) => boolean;

/** Writes an embedded document or an array. Its length is at `start`, its last byte at `end`. */
function writeNested(
  src: Buffer,
  start: number,
  end: number,
  out: Buffer,
  to: number,
  depth: number,
  included: IncludedFields,
): number {
  out[to] = 0x7b;
  let at = writeJsonFields(src, start + 4, end, out, to + 1, depth, null, included);
  if (at > to + 1) at--;
  out[at] = 0x7d;
  return at + 1;
}

/**
 * Writes the fields of a document, each with a comma after it. Returns the offset after the last comma.
 * @param start the offset of the first field
 * @param end the offset of the document's last byte, as `documentEnd` returns it
 * @param out a buffer with room for `MAX_JSON_GROWTH` bytes for every byte of the document
 * @param skips decides which fields to omit; null for none
 * @param included the fields that are written; no others are
 * @throws MillraceError `internal` if the bytes are not BSON
 */
export function writeJsonFields(
  src: Buffer,
  start: number,
  end: number,
  out: Buffer,
  to: number,
  depth: number,
  skips: FieldSkipTest | null,
  included: IncludedFields,
): number {
  if (depth > bson.MAX_STORED_DEPTH) throw bson.damagedDocumentError('it is nested too deeply');
  let at = to;
  let from = start;
  while (from < end) {
    const type = src[from] ?? 0;
    const name = from + 1;
    // Copies the name without searching for its end first: copying stops at the 0 after it.
    let nameEnd = copyUnescapedBytes(src, name, end, out, at + 1);
    let valueAt = at + nameEnd - name + 3;
    if (src[nameEnd] === 0 && nameEnd < end) {
      out[at] = QUOTE;
      out[valueAt - 2] = QUOTE;
      out[valueAt - 1] = COLON;
    } else {
      nameEnd = bson.fieldNameEnd(src, nameEnd, end);
      valueAt = writeUtf8String(src, name, nameEnd, out, at) + 1;
      out[valueAt - 1] = COLON;
    }
    const value = nameEnd + 1;
    if (skips?.(src, type, name, nameEnd)) {
      from = bson.valueEnd(src, type, value, end);
      continue;
    }
    if (included !== ALL_FIELDS) {
      const own = includedFieldsBelow(included, src, name, nameEnd);
      if (isPartlyIncluded(own) && (type === bson.DOCUMENT || type === bson.ARRAY)) {
        from = bson.valueEnd(src, type, value, end);
        at = writePart(src, type, value, from, out, valueAt, depth, own);
        out[at++] = COMMA;
        continue;
      }
      if (!own.rest) {
        from = bson.valueEnd(src, type, value, end);
        continue;
      }
    }
    if (type === bson.STRING) {
      const last = bson.stringEnd(src, value, end);
      at = writeUtf8String(src, value + 4, last, out, valueAt);
      from = last + 1;
    } else if (type === bson.INT32) {
      from = value + 4;
      if (from > end) throw bson.damagedDocumentError('a value is truncated');
      at = writeInteger(bson.readInt32(src, value), out, valueAt);
    } else {
      from = bson.valueEnd(src, type, value, end);
      at = writeJsonValue(src, type, value, from, out, valueAt, depth);
    }
    out[at++] = COMMA;
  }
  return at;
}

/** Writes the included part of a document or an array. `end` must come from `valueEnd`. */
function writePart(
  src: Buffer,
  type: number,
  start: number,
  end: number,
  out: Buffer,
  to: number,
  depth: number,
  included: IncludedFields,
): number {
  const write = type === bson.DOCUMENT ? writeNested : writeArray;
  return write(src, start, end - 1, out, to, depth + 1, included);
}

/** @param included the fields of the documents in it that are written; other values are omitted if `rest` is false */
function writeArray(
  src: Buffer,
  start: number,
  end: number,
  out: Buffer,
  to: number,
  depth: number,
  included: IncludedFields,
): number {
  if (depth > bson.MAX_STORED_DEPTH) throw bson.damagedDocumentError('it is nested too deeply');
  out[to] = 0x5b;
  let at = to + 1;
  let from = start + 4;
  // Consecutive doubles with many digits (coordinates, vectors) are collected and printed in one call, which costs
  // half.
  const waiting: number[] = [];
  while (from < end) {
    const type = src[from] ?? 0;
    const value = bson.fieldNameEnd(src, from + 1, end) + 1;
    from = bson.valueEnd(src, type, value, end);
    const isPart = included !== ALL_FIELDS && (type === bson.DOCUMENT || type === bson.ARRAY);
    if (!isPart && !included.rest) continue;
    const double = type === bson.DOUBLE ? src.readDoubleLE(value) : 0;
    if (type === bson.DOUBLE && (waiting.length > 0 || !isShortDouble(double))) {
      waiting.push(double);
      if (waiting.length === MOST_WAITING) at = writeWaiting(waiting, out, at);
      continue;
    }
    if (waiting.length > 0) at = writeWaiting(waiting, out, at);
    at = isPart
      ? writePart(src, type, value, from, out, at, depth, included)
      : writeJsonValue(src, type, value, from, out, at, depth);
    out[at++] = COMMA;
  }
  if (waiting.length > 0) at = writeWaiting(waiting, out, at);
  if (at > to + 1) at--;
  out[at] = 0x5d;
  return at + 1;
}

function writeWaiting(waiting: number[], out: Buffer, to: number): number {
  const at = writeNumbersAsJson(waiting, out, to);
  waiting.length = 0;
  out[at] = COMMA;
  return at + 1;
}

/** Writes one value. `end` must come from `valueEnd`, which checks the value's length. */
export function writeJsonValue(
  src: Buffer,
  type: number,
  start: number,
  end: number,
  out: Buffer,
  to: number,
  depth: number,
): number {
  switch (type) {
    case bson.STRING:
    case bson.JAVASCRIPT:
    case bson.SYMBOL:
      return writeUtf8String(src, start + 4, end - 1, out, to);
    case bson.INT32:
      return writeInteger(bson.readInt32(src, start), out, to);
    case bson.DOUBLE:
      return writeDouble(src.readDoubleLE(start), out, to);
    case bson.DOCUMENT:
      return writeNested(src, start, end - 1, out, to, depth + 1, ALL_FIELDS);
    case bson.ARRAY:
      return writeArray(src, start, end - 1, out, to, depth + 1, ALL_FIELDS);
    case bson.OBJECT_ID:
      return writeObjectId(src, start, out, to);
    case bson.BOOLEAN:
      return writeRawBytes(src[start] === 1 ? TRUE : FALSE, out, to);
    case bson.DATE:
      return writeDate(bson.readInt32(src, start), bson.readInt32(src, start + 4), out, to);
    case bson.INT64:
      return writeInt64(bson.readInt32(src, start), bson.readInt32(src, start + 4), out, to);
    case bson.NULL:
    case bson.UNDEFINED:
      return writeRawBytes(NULL, out, to);
    default:
      return writeRareValue(src, type, start, end, out, to);
  }
}

function writeRareValue(src: Buffer, type: number, start: number, end: number, out: Buffer, to: number): number {
  switch (type) {
    case bson.DECIMAL128:
      return writeAscii(`"${new Decimal128(Buffer.from(src.subarray(start, end)))}"`, out, to);
    case bson.BINARY:
      return writeBinary(src, start, end, out, to);
    case bson.TIMESTAMP:
      return writeAscii(`"${src.readUInt32LE(start + 4)}:${src.readUInt32LE(start)}"`, out, to);
    case bson.REGEX: {
      const split = bson.fieldNameEnd(src, start, end);
      const pattern = src.toString('utf8', start, split);
      return writeJsonString(`/${pattern}/${src.toString('utf8', split + 1, end - 1)}`, out, to);
    }
    case bson.CODE_WITH_SCOPE:
      return writeUtf8String(src, start + 8, bson.stringEnd(src, start + 4, end), out, to);
    case bson.DB_POINTER: {
      const namespace = bson.stringEnd(src, start, end);
      let at = writeAscii('{"$ref":', out, to);
      at = writeUtf8String(src, start + 4, namespace, out, at);
      at = writeAscii(',"$id":', out, at);
      at = writeObjectId(src, namespace + 1, out, at);
      return writeAscii('}', out, at);
    }
    default:
      return writeAscii(type === bson.MIN_KEY ? '"MinKey"' : '"MaxKey"', out, to);
  }
}

function writeObjectId(src: Buffer, start: number, out: Buffer, to: number): number {
  out[to] = QUOTE;
  const at = writeHex(src, start, start + 12, out, to + 1);
  out[at] = QUOTE;
  return at + 1;
}

function writeBinary(src: Buffer, start: number, end: number, out: Buffer, to: number): number {
  const first = bson.binaryContentOffset(src, start);
  if (src[start + 4] !== Binary.SUBTYPE_UUID || end - first !== 16) {
    out[to] = QUOTE;
    const at = to + 1 + out.write(src.toString('base64', first, end), to + 1, 'latin1');
    out[at] = QUOTE;
    return at + 1;
  }
  let at = to;
  out[at++] = QUOTE;
  for (let i = 0; i < 16; i++) {
    if (i === 4 || i === 6 || i === 8 || i === 10) out[at++] = 0x2d;
    at = writeHex(src, first + i, first + i + 1, out, at);
  }
  out[at++] = QUOTE;
  return at;
}
