/**
 * Exact reading of stored documents for read-modify-write: every value keeps its BSON type, and what could not be
 * written back as it was is refused. The driver's own deserializer is not used because it turns documents that look
 * like references into DBRef, loses the order of number-like names, and writes an unreadable date back as 1970.
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
import { MillraceError } from '../kernel/errors.ts';
import * as bson from './bson-bytes.ts';
import { rawMembers } from './raw.ts';
import { isPlain, setMember } from './wire-values.ts';

/** A stored document with its members in stored order, embedded documents alike. The driver writes it as a document. */
export type OrderedDocument = Map<string, unknown>;

/**
 * Reads a stored document exactly: numbers as Int32, Double, Long and Decimal128, dates as Date, everything else as
 * the driver's class. Writing it back gives the same bytes, but for the order of number-like names (JavaScript sorts
 * them first: use {@link decodeOrdered} where order counts) and the names inside arrays, which are always 0, 1, 2, …
 * @throws MillraceError `unsupported-value` for what could not be written back unchanged: text that is not UTF-8,
 *   dates beyond ±8.64e15 ms, repeated names, `undefined`, DBPointer, unsorted regular expression options;
 *   `internal` when the bytes are no BSON document
 */
export function decodeStored(raw: Uint8Array): Document {
  return readDocument(asBuffer(raw), 0, raw.length, 1, OBJECT);
}

/**
 * Reads the `_id` of a stored document exactly, whatever else the document holds.
 * @throws MillraceError `unsupported-value` for an id that could not be written as it is, `internal` for damaged bytes
 */
export function decodeStoredId(raw: Uint8Array): unknown {
  const src = asBuffer(raw);
  for (const { type, name, start, end } of rawMembers(src)) {
    if (name === '_id') return readValue(src, type, start, end, 1, MAP);
  }
  throw bson.damaged('it has no id');
}

/** Reads a stored document for showing it: exactly typed as far as the driver can, and never refused. */
export function readStored(raw: Uint8Array): Document {
  return BSON.deserialize(raw, { promoteValues: false, bsonRegExp: true, validation: { utf8: false } });
}

/** As {@link decodeStored}, with every document as a Map, so that writing it back keeps the stored order too. */
export function decodeOrdered(raw: Uint8Array): OrderedDocument {
  return readDocument(asBuffer(raw), 0, raw.length, 1, MAP);
}

/**
 * The stored document so that the driver writes it with the very same members in the same order: what was decoded
 * already, where JavaScript keeps that order, else read once more.
 * @param decoded what {@link decodeStored} made of the same bytes
 */
export function exactly(raw: Uint8Array, decoded: Document): Document | OrderedDocument {
  return keepsOrder(decoded) ? decoded : decodeOrdered(raw);
}

/** Number-like names come first in an object. One that names a BSON type makes the driver take it for a value. */
function keepsOrder(value: unknown): boolean {
  if (Array.isArray(value)) return value.every(keepsOrder);
  if (value instanceof Code) return !value.scope;
  if (!isPlain(value)) return true;
  if (Object.hasOwn(value, '_bsontype')) return false;
  let first = true;
  for (const name of Object.keys(value)) {
    if (first && NUMBER_LIKE.test(name)) return false;
    first = false;
    if (!keepsOrder(value[name])) return false;
  }
  return true;
}

/** The bytes under which a document is stored: the server puts `_id` first, whatever stands before it. */
export function encodeStored(document: Document | OrderedDocument): Uint8Array {
  return BSON.serialize(startsWithId(document) ? document : inOrderOf(document, ID_FIRST), { ignoreUndefined: false });
}

const ID_FIRST: OrderedDocument = new Map([['_id', null]]);

/** Number-like names stand before all others in a JavaScript object, whatever was said first. */
function startsWithId(document: Document | OrderedDocument): boolean {
  if (document instanceof Map) return true;
  for (const key in document) return key === '_id';
  return true;
}

/**
 * A changed document with its members in the order of the stored one, new members behind, embedded documents alike.
 * MongoDB compares embedded documents in order, so a change of one member must not move the others.
 */
export function inOrderOf(document: Document, stored: OrderedDocument): OrderedDocument {
  const ordered: OrderedDocument = new Map();
  for (const [key, before] of stored) {
    if (Object.hasOwn(document, key)) ordered.set(key, valueInOrderOf(document[key], before));
  }
  for (const key of Object.keys(document)) if (!stored.has(key)) ordered.set(key, document[key]);
  return ordered;
}

function valueInOrderOf(value: unknown, before: unknown): unknown {
  if (before instanceof Map && isPlain(value)) return embeddedInOrderOf(value, before);
  if (!Array.isArray(before) || !Array.isArray(value)) return value;
  return value.map((element, index) => valueInOrderOf(element, before[index]));
}

/** An embedded document may be another one than before, in an order of its own, which JavaScript kept but for numbers. */
function embeddedInOrderOf(document: Document, stored: OrderedDocument): OrderedDocument {
  const keys = Object.keys(document);
  if (keys.some((key) => NUMBER_LIKE.test(key))) return inOrderOf(document, stored);
  return new Map(keys.map((key) => [key, valueInOrderOf(document[key], stored.get(key))]));
}

/** Names that JavaScript moves before all others. */
const NUMBER_LIKE = /^(?:0|[1-9]\d*)$/;

/** How documents are kept once they are read. */
interface Shape<T extends object> {
  make(): T;
  has(document: T, name: string): boolean;
  set(document: T, name: string, value: unknown): void;
}

const OBJECT: Shape<Document> = {
  make: () => ({}),
  has: (document, name) => Object.hasOwn(document, name),
  set: setMember,
};

const MAP: Shape<OrderedDocument> = {
  make: () => new Map(),
  has: (document, name) => document.has(name),
  set: (document, name, value) => document.set(name, value),
};

function readDocument<T extends object>(src: Buffer, start: number, limit: number, depth: number, shape: Shape<T>): T {
  const document = shape.make();
  readMembers(src, start, limit, depth, shape, (name, value) => {
    if (shape.has(document, name)) throw inexact('a repeated name');
    shape.set(document, name, value);
  });
  return document;
}

function readArray<T extends object>(
  src: Buffer,
  start: number,
  limit: number,
  depth: number,
  shape: Shape<T>,
): unknown[] {
  const values: unknown[] = [];
  readMembers(src, start, limit, depth, shape, (_name, value) => values.push(value));
  return values;
}

function readMembers<T extends object>(
  src: Buffer,
  start: number,
  limit: number,
  depth: number,
  shape: Shape<T>,
  take: (name: string, value: unknown) => void,
): void {
  if (depth > bson.MAX_STORED_DEPTH) throw bson.damaged('it is nested too deeply');
  const end = bson.documentEnd(src, start, limit);
  let at = start + 4;
  while (at < end) {
    const type = src[at] ?? 0;
    const name = bson.nameEnd(src, at + 1, end);
    const after = bson.valueEnd(src, type, name + 1, end);
    take(text(src, at + 1, name), readValue(src, type, name + 1, after, depth, shape));
    at = after;
  }
}

/** Reads the value between `start` and `end`, whose length has been checked. */
function readValue<T extends object>(
  src: Buffer,
  type: number,
  start: number,
  end: number,
  depth: number,
  shape: Shape<T>,
): unknown {
  switch (type) {
    case bson.DOUBLE:
      return new Double(src.readDoubleLE(start));
    case bson.STRING:
      return text(src, start + 4, end - 1);
    case bson.DOCUMENT:
      return readDocument(src, start, end, depth + 1, shape);
    case bson.ARRAY:
      return readArray(src, start, end, depth + 1, shape);
    case bson.BINARY:
      return new Binary(Buffer.from(src.subarray(bson.binaryStart(src, start), end)), src[start + 4] ?? 0);
    case bson.OBJECT_ID:
      return new ObjectId(Buffer.from(src.subarray(start, end)));
    case bson.BOOLEAN:
      return src[start] !== 0;
    case bson.DATE:
      return date(src.readBigInt64LE(start));
    case bson.NULL:
      return null;
    case bson.REGEX:
      return regex(src, start, end);
    case bson.CODE:
      return new Code(text(src, start + 4, end - 1));
    case bson.SYMBOL:
      return new BSONSymbol(text(src, start + 4, end - 1));
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
    default:
      throw inexact(type === bson.UNDEFINED ? 'the value undefined' : 'a DBPointer');
  }
}

function text(src: Buffer, start: number, end: number): string {
  const string = src.toString('utf8', start, end);
  // Only text with a replacement character can have been damaged by decoding; it then differs in length or bytes.
  if (string.includes('\ufffd') && !Buffer.from(string).equals(src.subarray(start, end))) {
    throw inexact('text that is not UTF-8');
  }
  return string;
}

function date(milliseconds: bigint): Date {
  const value = new Date(Number(milliseconds));
  if (Number.isNaN(value.getTime())) throw inexact('a date out of range');
  return value;
}

function regex(src: Buffer, start: number, end: number): BSONRegExp {
  const split = bson.nameEnd(src, start, end);
  const options = text(src, split + 1, end - 1);
  if (!/^i?l?m?s?u?x?$/.test(options)) throw inexact('unusual regular expression options');
  return new BSONRegExp(text(src, start, split), options);
}

function codeWithScope<T extends object>(
  src: Buffer,
  start: number,
  end: number,
  depth: number,
  shape: Shape<T>,
): Code {
  const codeEnd = bson.stringEnd(src, start + 4, end);
  return new Code(text(src, start + 8, codeEnd), readDocument(src, codeEnd + 1, end, depth + 1, shape));
}

function inexact(what: string): MillraceError {
  return new MillraceError('unsupported-value', `The stored document holds ${what} and cannot be changed here`, {
    hint: 'Delete it and create it anew, or change it in the database itself',
  });
}

function asBuffer(raw: Uint8Array): Buffer {
  return Buffer.isBuffer(raw) ? raw : Buffer.from(raw.buffer, raw.byteOffset, raw.byteLength);
}
