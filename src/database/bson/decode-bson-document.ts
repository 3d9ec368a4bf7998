/**
 * Stored BSON as values: every type of the specification as the driver's class, read from checked bytes. Some values
 * cannot be written back unchanged; the caller decides whether they are rejected or read as the nearest value.
 */
import {
  Binary,
  BSON,
  BSONRegExp,
  BSONSymbol,
  Code,
  Decimal128,
  type Document,
  Double,
  Int32,
  Long,
  MaxKey,
  MinKey,
  ObjectId,
  Timestamp,
} from 'mongodb';
import { canYield, countStepAndYield, resumableProgress } from '../../lib/concurrency/cooperative-yield.ts';
import { MillraceError } from '../../lib/errors.ts';
import { setField } from '../../lib/plain-object.ts';
import * as bson from './bson-bytes.ts';
import { DbPointer } from './db-pointer.ts';

/**
 * A stored document with its fields in stored order, and its embedded documents likewise. The driver writes a Map as a
 * document.
 */
export type OrderedDocument = Map<string, unknown>;

/** How a read document is represented: as an object or as a Map. */
export interface DocumentBuilder<T extends object> {
  make(): T;
  has(document: T, name: string): boolean;
  set(document: T, name: string, value: unknown): void;
  /** True: a value that cannot be written back unchanged is rejected. False: it is read as the nearest value. */
  readonly exact: boolean;
}

export const OBJECT_BUILDER: DocumentBuilder<Document> = {
  make: () => ({}),
  has: (document, name) => Object.hasOwn(document, name),
  set: setField,
  exact: true,
};

export const MAP_BUILDER: DocumentBuilder<OrderedDocument> = {
  make: () => new Map(),
  has: (document, name) => document.has(name),
  set: (document, name, value) => document.set(name, value),
  exact: true,
};

export const LENIENT_OBJECT_BUILDER: DocumentBuilder<Document> = { ...OBJECT_BUILDER, exact: false };

export const LENIENT_MAP_BUILDER: DocumentBuilder<OrderedDocument> = { ...MAP_BUILDER, exact: false };

export function decodeBsonDocument<T extends object>(
  src: Buffer,
  start: number,
  limit: number,
  depth: number,
  shape: DocumentBuilder<T>,
): T {
  if (depth > bson.MAX_STORED_DEPTH) throw bson.damagedDocumentError('it is nested too deeply');
  const end = bson.documentEnd(src, start, limit);
  const reading = begun(src, start, shape, shape.make);
  const document = reading.created;
  while (reading.at < end) {
    const type = src[reading.at] ?? 0;
    const nameEnd = bson.fieldNameEnd(src, reading.at + 1, end);
    const after = bson.valueEnd(src, type, nameEnd + 1, end);
    const name = text(src, reading.at + 1, nameEnd, shape);
    if (shape.exact && shape.has(document, name)) throw inexact('a repeated name');
    shape.set(document, name, decodeBsonValue(src, type, nameEnd + 1, after, depth, shape));
    reading.at = after;
    countStepAndYield();
  }
  if (depth > 1) reading.end();
  return document;
}

/** One document or array that is being read. */
interface Reading<T> {
  readonly created: T;
  /** The offset of the next field. */
  at: number;
  /** Drops the progress: its result is part of the surrounding document. */
  end(): void;
}

const nothing = (): void => {};

/**
 * Starts to read at an offset, or continues there after a yield (lib/concurrency/cooperative-yield.ts). The
 * outermost document of a run stays stored, so that work that begins by reading it gets the same object after each
 * yield.
 */
function begun<T>(src: Buffer, start: number, shape: object, make: () => T): Reading<T> {
  if (!canYield()) return { created: make(), at: start + 4, end: nothing };
  const all = resumableProgress(src.buffer, shape, () => new Map<number, Reading<T>>());
  const position = src.byteOffset + start;
  const known = all.get(position);
  if (known !== undefined) return known;
  const reading: Reading<T> = { created: make(), at: start + 4, end: () => all.delete(position) };
  all.set(position, reading);
  return reading;
}

/**
 * Elements keep their order, whatever their names are. In exact mode a name that cannot be written back is rejected.
 */
function readArray<T extends object>(
  src: Buffer,
  start: number,
  limit: number,
  depth: number,
  shape: DocumentBuilder<T>,
): unknown[] {
  if (depth > bson.MAX_STORED_DEPTH) throw bson.damagedDocumentError('it is nested too deeply');
  const end = bson.documentEnd(src, start, limit);
  const reading = begun(src, start, shape, (): unknown[] => []);
  const values = reading.created;
  while (reading.at < end) {
    const type = src[reading.at] ?? 0;
    const value = bson.fieldNameEnd(src, reading.at + 1, end) + 1;
    if (shape.exact) text(src, reading.at + 1, value - 1, shape);
    const after = bson.valueEnd(src, type, value, end);
    values.push(decodeBsonValue(src, type, value, after, depth, shape));
    reading.at = after;
    countStepAndYield();
  }
  reading.end();
  return values;
}

/** Reads the value between `start` and `end`, whose length has been checked. */
export function decodeBsonValue<T extends object>(
  src: Buffer,
  type: number,
  start: number,
  end: number,
  depth: number,
  shape: DocumentBuilder<T>,
): unknown {
  switch (type) {
    case bson.DOUBLE:
      return new Double(src.readDoubleLE(start));
    case bson.STRING:
      return text(src, start + 4, end - 1, shape);
    case bson.DOCUMENT:
      return decodeBsonDocument(src, start, end, depth + 1, shape);
    case bson.ARRAY:
      return readArray(src, start, end, depth + 1, shape);
    case bson.BINARY:
      return binary(src, start, end, shape);
    case bson.OBJECT_ID:
      return new ObjectId(Buffer.from(src.subarray(start, end)));
    case bson.BOOLEAN:
      return src[start] !== 0;
    case bson.DATE:
      return date(src.readBigInt64LE(start), shape);
    case bson.NULL:
      return null;
    case bson.REGEX:
      return regex(src, start, end, shape);
    case bson.JAVASCRIPT:
      return new Code(text(src, start + 4, end - 1, shape));
    case bson.SYMBOL:
      return new BSONSymbol(text(src, start + 4, end - 1, shape));
    case bson.CODE_WITH_SCOPE:
      return codeWithScope(src, start, end, depth, shape);
    case bson.INT32:
      return new Int32(src.readInt32LE(start));
    case bson.TIMESTAMP:
      return new Timestamp({ i: src.readUInt32LE(start), t: src.readUInt32LE(start + 4) });
    case bson.INT64:
      return new Long(src.readInt32LE(start), src.readInt32LE(start + 4));
    case bson.DECIMAL128:
      return new Decimal128(Buffer.from(src.subarray(start, end)));
    case bson.MIN_KEY:
      return new MinKey();
    case bson.MAX_KEY:
      return new MaxKey();
    case bson.UNDEFINED:
      return nearest(shape, 'the value undefined', undefined);
    default:
      return nearest(shape, 'a DBPointer', pointer(src, start, shape));
  }
}

/** The functions below need only to know whether a value must be exact. */
type Exactness = Pick<DocumentBuilder<object>, 'exact'>;

/** A text for display: damaged bytes become U+FFFD. */
export function decodeUtf8Text(src: Buffer, start: number, end: number): string {
  return (end - start <= SHORT ? asciiText(src, start, end) : null) ?? src.toString('utf8', start, end);
}

function text(src: Buffer, start: number, end: number, how: Exactness): string {
  const string = decodeUtf8Text(src, start, end);
  // Decoding replaces damaged bytes with U+FFFD. So only a text with that character can differ from its bytes.
  if (how.exact && string.includes('\ufffd') && !Buffer.from(string).equals(src.subarray(start, end))) {
    throw inexact('text that is not UTF-8');
  }
  return string;
}

/**
 * Text of up to this many bytes is read in JavaScript, which is faster than a call into the runtime for short texts.
 */
const SHORT = 12;

/** The text of the bytes; null if one of them is not ASCII. */
function asciiText(src: Buffer, start: number, end: number): string | null {
  let string = '';
  for (let at = start; at < end; at++) {
    const byte = src[at] ?? 0x80;
    if (byte >= 0x80) return null;
    string += String.fromCharCode(byte);
  }
  return string;
}

function date(milliseconds: bigint, how: Exactness): Date {
  const value = new Date(Number(milliseconds));
  return Number.isNaN(value.getTime()) ? nearest(how, 'a date out of range', value) : value;
}

function regex(src: Buffer, start: number, end: number, how: Exactness): BSONRegExp {
  const split = bson.fieldNameEnd(src, start, end);
  const pattern = text(src, start, split, how);
  const options = text(src, split + 1, end - 1, how);
  if (/^i?l?m?s?u?x?$/.test(options)) return new BSONRegExp(pattern, options);
  // The constructor of the class rejects other options, so they are set afterwards.
  return nearest(how, 'unusual regular expression options', Object.assign(new BSONRegExp(pattern), { options }));
}

function binary(src: Buffer, start: number, end: number, how: Exactness): Binary {
  const first = bson.binaryContentOffset(src, start);
  const subtype = src[start + 4] ?? 0;
  const value = new Binary(Buffer.from(src.subarray(first, end)), subtype);
  if (subtype === Binary.SUBTYPE_BYTE_ARRAY && first === start + 5) return nearest(how, 'an old binary', value);
  return how.exact && subtype === Binary.SUBTYPE_VECTOR && !isWritten(value) ? nearest(how, 'a vector', value) : value;
}

/** Whether the driver can write a value: it rejects a damaged one. */
function isWritten(value: Binary): boolean {
  try {
    return BSON.serialize({ value }).length > 0;
  } catch {
    return false;
  }
}

function pointer(src: Buffer, start: number, how: Exactness): DbPointer {
  const last = bson.stringEnd(src, start, src.length);
  return new DbPointer(text(src, start + 4, last, how), new ObjectId(Buffer.from(src.subarray(last + 1, last + 13))));
}

function codeWithScope<T extends object>(
  src: Buffer,
  start: number,
  end: number,
  depth: number,
  shape: DocumentBuilder<T>,
): Code {
  const codeEnd = bson.stringEnd(src, start + 4, end);
  return new Code(text(src, start + 8, codeEnd, shape), decodeBsonDocument(src, codeEnd + 1, end, depth + 1, shape));
}

/** The nearest value, for one that JavaScript or the driver cannot hold; an error in exact mode. */
function nearest<V>(how: Exactness, what: string, value: V): V {
  if (how.exact) throw inexact(what);
  return value;
}

function inexact(what: string): MillraceError {
  return new MillraceError('unsupported-value', `The stored document contains ${what} and cannot be changed here`, {
    hint: 'Delete it and create it again, or change it in the database itself',
  });
}
