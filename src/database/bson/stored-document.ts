/**
 * The only reader of stored documents. For changes (`decodeExactDocument`), every value keeps its BSON type, and a value
 * that cannot be written back unchanged is rejected. For filters, policies and responses (`decodeDocument`), nothing is
 * rejected. The driver's own deserializer is used for neither: it makes a DBRef of a document with fields `$ref` and
 * `$id`, so policies would test the fields of that object instead of the stored ones. It also loses the order of
 * number-like names, and writes an unreadable date back as 1970.
 */
import { BSON, Code, type Document } from 'mongodb';
import { runCooperatively } from '../../lib/concurrency/cooperative-yield.ts';
import { isPlainObject } from '../../lib/plain-object.ts';
import { translateError } from '../errors.ts';
import * as bson from './bson-bytes.ts';
import {
  decodeBsonDocument,
  decodeBsonValue,
  LENIENT_MAP_BUILDER,
  LENIENT_OBJECT_BUILDER,
  MAP_BUILDER,
  OBJECT_BUILDER,
  type OrderedDocument,
} from './decode-bson-document.ts';
import { asBuffer, rawFields } from './raw-bson.ts';

export type { OrderedDocument } from './decode-bson-document.ts';

/**
 * Reads a stored document exactly: numbers as Int32, Double, Long and Decimal128, dates as Date, everything else as the
 * driver's class. Writing it back gives the same bytes, with two exceptions: number-like names move to the front,
 * because JavaScript sorts them first (use {@link decodeExactDocumentMap} where order counts), and the names inside arrays
 * become 0, 1, 2, … @throws MillraceError `unsupported-value` for a value that cannot be written back unchanged: text
 * that is not UTF-8, dates beyond ±8.64e15 ms, repeated names, `undefined`, DBPointer, unsorted regular expression
 * options; `internal` if the bytes are not a BSON document
 */
export function decodeExactDocument(raw: Uint8Array): Document {
  return decodeBsonDocument(asBuffer(raw), 0, raw.length, 1, OBJECT_BUILDER);
}

/**
 * Reads only the `_id` of a stored document, exactly: the rest of the document may have values that would be rejected.
 * @throws MillraceError `unsupported-value` for an id that cannot be written back unchanged, `internal` for damaged
 * bytes
 */
export function decodeDocumentId(raw: Uint8Array): unknown {
  const src = asBuffer(raw);
  for (const { type, name, start, end } of rawFields(src)) {
    if (name === '_id') return decodeBsonValue(src, type, start, end, 1, MAP_BUILDER);
  }
  throw bson.damagedDocumentError('it has no id');
}

/**
 * Reads a stored document to test or return it: with exact types as far as JavaScript has them; no value is rejected.
 * @throws MillraceError `internal` if the bytes are not a BSON document
 */
export function decodeDocument(raw: Uint8Array): Document {
  return decodeBsonDocument(asBuffer(raw), 0, raw.length, 1, LENIENT_OBJECT_BUILDER);
}

/** Size in bytes from which reading a document yields: below it takes 2 ms at most. */
export const LARGE_DOCUMENT_BYTES = 32 * 1024;

/**
 * As {@link decodeDocument}, a few milliseconds at a time for a large document.
 * @param turn resolves when the next slice may begin; by default it yields to whatever else is ready
 */
export async function decodeDocumentCooperatively(raw: Uint8Array, turn?: () => Promise<unknown>): Promise<Document> {
  return raw.length < LARGE_DOCUMENT_BYTES ? decodeDocument(raw) : runCooperatively(() => decodeDocument(raw), turn);
}

/**
 * As {@link decodeDocument}, with every document as a Map, so that the driver writes it in the stored order, whatever its
 * names are.
 */
export function decodeDocumentMap(raw: Uint8Array): OrderedDocument {
  return decodeBsonDocument(asBuffer(raw), 0, raw.length, 1, LENIENT_MAP_BUILDER);
}

/** As {@link decodeExactDocument}, with every document as a Map, so that writing it back keeps the stored order. */
export function decodeExactDocumentMap(raw: Uint8Array): OrderedDocument {
  return decodeBsonDocument(asBuffer(raw), 0, raw.length, 1, MAP_BUILDER);
}

/** The driver writes values of these types with the bytes that were read. */
const PLAIN: ReadonlySet<number> = new Set([
  bson.DOUBLE,
  bson.STRING,
  bson.OBJECT_ID,
  bson.DATE,
  bson.INT32,
  bson.INT64,
]);

/**
 * Whether the driver would write exactly these bytes from what {@link decodeDocumentMap} makes of them: some values it cannot
 * write.
 */
export function survivesRoundTrip(raw: Buffer): boolean {
  try {
    for (const { type } of rawFields(raw)) {
      if (PLAIN.has(type)) continue;
      return raw.equals(BSON.serialize(decodeDocumentMap(raw)));
    }
    return true;
  } catch {
    return false;
  }
}

/**
 * The stored document in a form that the driver writes with the same fields in the same order. That is the object that
 * was decoded already if JavaScript keeps its order; otherwise the bytes are read again into Maps.
 * @param decoded what {@link decodeExactDocument} made of the same bytes
 */
export function withStoredFieldOrder(raw: Uint8Array, decoded: Document): Document | OrderedDocument {
  return keepsOrder(decoded) ? decoded : decodeExactDocumentMap(raw);
}

/**
 * False if the object has a number-like name, which JavaScript moves to the front, or `_bsontype`, which makes the
 * driver take it for a value.
 */
function keepsOrder(value: unknown): boolean {
  if (Array.isArray(value)) return value.every(keepsOrder);
  if (value instanceof Code) return !value.scope;
  if (!isPlainObject(value)) return true;
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
 * The bytes that the server stores for a document: it moves `_id` to the front.
 * @throws MillraceError `document-too-large`
 */
export function encodeBsonDocument(document: Document | OrderedDocument): Uint8Array {
  const ordered = startsWithId(document) ? document : reorderFields(document, ID_FIRST);
  try {
    return BSON.serialize(ordered, { ignoreUndefined: false });
  } catch (error) {
    throw translateError(error);
  }
}

const ID_FIRST: OrderedDocument = new Map([['_id', null]]);

/** JavaScript puts number-like names before all others, even before an `_id` that was set first. */
function startsWithId(document: Document | OrderedDocument): boolean {
  if (document instanceof Map) return true;
  for (const key in document) return key === '_id';
  return true;
}

/**
 * A changed document with its fields in the order of the stored one and new fields at the end; its embedded documents
 * likewise. MongoDB compares embedded documents with their order, so a change of one field must not move the others.
 */
export function reorderFields(document: Document, stored: OrderedDocument): OrderedDocument {
  const ordered: OrderedDocument = new Map();
  for (const [key, before] of stored) {
    if (Object.hasOwn(document, key)) ordered.set(key, valueInOrderOf(document[key], before));
  }
  for (const key of Object.keys(document)) if (!stored.has(key)) ordered.set(key, document[key]);
  return ordered;
}

function valueInOrderOf(value: unknown, before: unknown): unknown {
  if (before instanceof Map && isPlainObject(value)) return embeddedInOrderOf(value, before);
  if (!Array.isArray(before) || !Array.isArray(value)) return value;
  return value.map((element, index) => valueInOrderOf(element, before[index]));
}

/**
 * An embedded document may be a new one with its own order. JavaScript has kept that order, except for number-like
 * names.
 */
function embeddedInOrderOf(document: Document, stored: OrderedDocument): OrderedDocument {
  const keys = Object.keys(document);
  if (keys.some((key) => NUMBER_LIKE.test(key))) return reorderFields(document, stored);
  return new Map(keys.map((key) => [key, valueInOrderOf(document[key], stored.get(key))]));
}

/** Names that JavaScript moves to the front of an object. */
const NUMBER_LIKE = /^(?:0|[1-9]\d*)$/;
