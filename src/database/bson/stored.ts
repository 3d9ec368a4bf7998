/**
 * The one reader of stored documents: for read-modify-write, where every value keeps its BSON type and what could not be
 * written back as it was is refused, and for judging and showing, where nothing is refused. The driver's own
 * deserializer is not used for either: it makes a DBRef of a document with members `$ref` and `$id`, and policies would
 * then be asked about the members of that object instead of the stored ones. It also loses the order of number-like
 * names, and writes an unreadable date back as 1970.
 */
import { BSON, Code, type Document } from 'mongodb';
import { isPlain } from '../../kernel/objects.ts';
import { translateError } from '../errors.ts';
import * as bson from './bson-bytes.ts';
import { rawMembers } from './raw.ts';
import { MAP, OBJECT, type OrderedDocument, readDocument, readValue, SHOWN, SHOWN_MAP } from './stored-values.ts';

export type { OrderedDocument } from './stored-values.ts';

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

/**
 * Reads a stored document for judging or showing it: exactly typed as far as JavaScript can, and never refused.
 * @throws MillraceError `internal` when the bytes are no BSON document
 */
export function readStored(raw: Uint8Array): Document {
  return readDocument(asBuffer(raw), 0, raw.length, 1, SHOWN);
}

/** As {@link readStored}, with every document as a Map: the driver writes it in the stored order, whatever its names. */
export function readOrdered(raw: Uint8Array): OrderedDocument {
  return readDocument(asBuffer(raw), 0, raw.length, 1, SHOWN_MAP);
}

/** As {@link decodeStored}, with every document as a Map, so that writing it back keeps the stored order too. */
export function decodeOrdered(raw: Uint8Array): OrderedDocument {
  return readDocument(asBuffer(raw), 0, raw.length, 1, MAP);
}

/** Values of these types are written as they were read. */
const PLAIN: ReadonlySet<number> = new Set([
  bson.DOUBLE,
  bson.STRING,
  bson.OBJECT_ID,
  bson.DATE,
  bson.INT32,
  bson.INT64,
]);

/** Whether the driver writes what {@link readOrdered} reads, to the last byte: it has no way to write some values. */
export function isWritable(raw: Buffer): boolean {
  try {
    for (const { type } of rawMembers(raw)) {
      if (PLAIN.has(type)) continue;
      return raw.equals(BSON.serialize(readOrdered(raw)));
    }
    return true;
  } catch {
    return false;
  }
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

/**
 * The bytes under which a document is stored: the server puts `_id` first, whatever stands before it.
 * @throws MillraceError `document-too-large`
 */
export function encodeStored(document: Document | OrderedDocument): Uint8Array {
  const ordered = startsWithId(document) ? document : inOrderOf(document, ID_FIRST);
  try {
    return BSON.serialize(ordered, { ignoreUndefined: false });
  } catch (error) {
    throw translateError(error);
  }
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

function asBuffer(raw: Uint8Array): Buffer {
  return Buffer.isBuffer(raw) ? raw : Buffer.from(raw.buffer, raw.byteOffset, raw.byteLength);
}
