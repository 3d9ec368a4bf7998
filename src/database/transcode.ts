/**
 * Stored BSON to JSON text without making objects: walks a document's bytes and writes the JSON of each value as
 * wire-values.ts defines it. It knows one document at a time and nothing of reserved members (json.ts does).
 */
import { Binary, Decimal128 } from 'mongodb';
import * as bson from './bson-bytes.ts';
import { writeDate, writeDouble, writeInt64, writeInteger } from './write-numbers.ts';
import { writeAscii, writeHex, writeString, writeText } from './write-text.ts';

const COMMA = 0x2c;
const COLON = 0x3a;
const QUOTE = 0x22;

/** Bytes of JSON that one byte of BSON can become at most: a control character in a string or a name. */
export const GROWTH = 6;

/**
 * Writes an embedded document as a JSON object, or an array as a JSON array. Returns the place after it.
 * @param start where the document's length stands
 * @param end the place of its last byte, as `documentEnd` gives it
 * @param out a buffer with room for GROWTH bytes for every byte of the document
 * @throws MillraceError `internal` when the bytes are no BSON
 */
export function writeDocument(
  src: Buffer,
  start: number,
  end: number,
  out: Buffer,
  to: number,
  isArray: boolean,
  depth: number,
): number {
  if (depth > bson.MAX_STORED_DEPTH) throw bson.damaged('it is nested too deeply');
  out[to] = isArray ? 0x5b : 0x7b;
  let at = to + 1;
  let from = start + 4;
  while (from < end) {
    const type = src[from] ?? 0;
    const name = bson.nameEnd(src, from + 1, end);
    if (!isArray) at = writeName(src, from + 1, name, out, at);
    from = bson.valueEnd(src, type, name + 1, end);
    at = writeValue(src, type, name + 1, from, out, at, depth);
    out[at++] = COMMA;
  }
  if (at > to + 1) at--;
  out[at] = isArray ? 0x5d : 0x7d;
  return at + 1;
}

/** Writes a member's name and the colon behind it. */
export function writeName(src: Buffer, start: number, end: number, out: Buffer, to: number): number {
  const at = writeString(src, start, end, out, to);
  out[at] = COLON;
  return at + 1;
}

/** Writes one value. Its place must have been checked by `valueEnd`, which gave `end`. */
export function writeValue(
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
    case bson.CODE:
    case bson.SYMBOL:
      return writeString(src, start + 4, end - 1, out, to);
    case bson.INT32:
      return writeInteger(bson.int32At(src, start), out, to);
    case bson.DOUBLE:
      return writeDouble(src.readDoubleLE(start), out, to);
    case bson.DOCUMENT:
      return writeDocument(src, start, end - 1, out, to, false, depth + 1);
    case bson.ARRAY:
      return writeDocument(src, start, end - 1, out, to, true, depth + 1);
    case bson.OBJECT_ID:
      return writeObjectId(src, start, out, to);
    case bson.BOOLEAN:
      return writeAscii(src[start] === 1 ? 'true' : 'false', out, to);
    case bson.DATE:
      return writeDate(bson.int32At(src, start), bson.int32At(src, start + 4), out, to);
    case bson.INT64:
      return writeInt64(bson.int32At(src, start), bson.int32At(src, start + 4), out, to);
    case bson.NULL:
    case bson.UNDEFINED:
      return writeAscii('null', out, to);
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
      const split = bson.nameEnd(src, start, end);
      const pattern = src.toString('utf8', start, split);
      return writeText(`/${pattern}/${src.toString('utf8', split + 1, end - 1)}`, out, to);
    }
    case bson.CODE_WITH_SCOPE:
      return writeString(src, start + 8, bson.stringEnd(src, start + 4, end), out, to);
    case bson.DB_POINTER: {
      const namespace = bson.stringEnd(src, start, end);
      let at = writeAscii('{"$ref":', out, to);
      at = writeString(src, start + 4, namespace, out, at);
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
  const first = bson.binaryStart(src, start);
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
