/**
 * Writes a whole document from BSON to JSON text: `id` first, the fields in stored order, `_meta` last, as to-wire.ts
 * does with objects.
 */
import type { ObjectId } from 'mongodb';
import { SERVER_FIELDS } from '../../lib/server-fields.ts';
import * as bson from '../bson/bson-bytes.ts';
import { ALL_FIELDS, type IncludedFields } from '../bson/included-fields.ts';
import { asBuffer } from '../bson/raw-bson.ts';
import { decodeDocument } from '../bson/stored-document.ts';
import type { ByteOutput } from './byte-output.ts';
import { idText } from './ids.ts';
import { MAX_JSON_GROWTH, writeJsonFields, writeJsonValue } from './transcode.ts';
import { writeJsonString, writeRawBytes } from './write-json-string.ts';
import { writeInteger } from './write-numbers.ts';

const COMMA = 0x2c;
const ID = Buffer.from('_id');
const META = Buffer.from('_meta');
/** The fields that are not written among the others; `_meta` is recognized by its name. */
const RESERVED = [...SERVER_FIELDS].filter((name) => name !== '_meta').map((name) => Buffer.from(name));
/** For each byte 1 if the name of a server field begins with it: most names are ruled out by it. */
const FIRST_BYTES = Uint8Array.from({ length: 256 }, (_, byte) =>
  Number([META, ...RESERVED].some((name) => name[0] === byte)),
);
const REVISION = Buffer.from('revision');
/** The other fields of `_meta` in output order, each with its only allowed type. */
const META_FIELDS = [
  { name: Buffer.from('createdAt'), label: Buffer.from(',"createdAt":'), type: bson.DATE },
  { name: Buffer.from('updatedAt'), label: Buffer.from(',"updatedAt":'), type: bson.DATE },
  { name: Buffer.from('createdBy'), label: Buffer.from(',"createdBy":'), type: bson.STRING },
  { name: Buffer.from('updatedBy'), label: Buffer.from(',"updatedBy":'), type: bson.STRING },
];
const NO_META = Buffer.from(
  '"_meta":{"revision":0,"createdAt":null,"updatedAt":null,"createdBy":null,"updatedBy":null}',
);
const META_LABEL = Buffer.from('"_meta":{"revision":');
const ID_LABEL = Buffer.from('"id":');
const NULL = Buffer.from('null');

/** Room for the JSON of a value that is longer than {@link MAX_JSON_GROWTH} times its bytes, such as `false`. */
const LONGEST_VALUE = 64;
/** Room for the names, punctuation and nulls of `id` and `_meta`, in bytes. */
const FRAME = 512;

/**
 * Appends a stored document as a JSON object.
 * @param withMeta whether to write `_meta`
 * @param included the fields to write besides `id` and `_meta`
 * @throws MillraceError `internal` if the bytes are not a BSON document; then the output's length is unchanged
 */
export function appendDocumentJson(
  raw: Uint8Array,
  output: ByteOutput,
  withMeta: boolean,
  included: IncludedFields = ALL_FIELDS,
): void {
  const src = asBuffer(raw);
  const end = bson.documentEnd(src, 0, src.length);
  if (end + 1 !== src.length) throw bson.damagedDocumentError('bytes follow its end');
  const id = bson.findField(src, 4, end, ID);
  const oddId = id < 0 || src[id] === bson.OBJECT_ID || src[id] === bson.STRING ? '' : idText(readId(src, id, end));
  output.reserve((src.length + oddId.length) * MAX_JSON_GROWTH + FRAME);
  const out = output.bytes;
  let at = output.length;
  out[at++] = 0x7b;
  if (id >= 0) at = writeId(src, id, end, oddId, out, at);
  metaStart = -1;
  at = writeJsonFields(src, 4, end, out, at, 1, isReserved, included);
  if (withMeta) at = metaStart < 0 ? writeRawBytes(NO_META, out, at) : writeMeta(src, metaStart, end, out, at);
  else if (out[at - 1] === COMMA) at--;
  out[at] = 0x7d;
  output.length = at + 1;
}

/** Whether two values in stored documents are written as the same JSON. */
export function isSameJson(one: Buffer, a: bson.ValueOffsets, other: Buffer, b: bson.ValueOffsets): boolean {
  return jsonOf(one, a).equals(jsonOf(other, b));
}

function jsonOf(src: Buffer, { type, start, end }: bson.ValueOffsets): Buffer {
  const out = Buffer.allocUnsafe((end - start) * MAX_JSON_GROWTH + LONGEST_VALUE);
  return out.subarray(0, writeJsonValue(src, type, start, bson.valueEnd(src, type, start, end), out, 0, 1));
}

/** The offset of the current document's `_meta` value, or -1. `isReserved` sets it. */
let metaStart = -1;

/** Whether a top-level field is not written among the fields: it is written elsewhere, or not at all. */
function isReserved(src: Buffer, type: number, start: number, end: number): boolean {
  if (FIRST_BYTES[src[start] ?? 0] === 0) return false;
  if (bson.hasFieldName(src, start, end, META)) {
    metaStart = type === bson.DOCUMENT ? end + 1 : -1;
    return true;
  }
  for (const name of RESERVED) if (bson.hasFieldName(src, start, end, name)) return true;
  return false;
}

function writeId(src: Buffer, field: number, end: number, oddId: string, out: Buffer, to: number): number {
  let at = writeRawBytes(ID_LABEL, out, to);
  const type = src[field] ?? 0;
  const start = field + 1 + ID.length + 1;
  if (type === bson.STRING || type === bson.OBJECT_ID) {
    at = writeJsonValue(src, type, start, bson.valueEnd(src, type, start, end), out, at, 1);
  } else {
    at = writeJsonString(oddId, out, at);
  }
  out[at] = COMMA;
  return at + 1;
}

/** Reads an `_id` of an uncommon type as an object: it builds a document with only this field and decodes that. */
function readId(src: Buffer, field: number, end: number): unknown {
  const after = bson.valueEnd(src, src[field] ?? 0, field + 1 + ID.length + 1, end);
  const alone = Buffer.alloc(after - field + 5);
  alone.writeInt32LE(alone.length, 0);
  src.copy(alone, 4, field, after);
  return decodeDocument(alone)['_id'];
}

function writeMeta(src: Buffer, start: number, limit: number, out: Buffer, to: number): number {
  const end = bson.documentEnd(src, start, limit);
  const first = start + 4;
  let field = bson.findField(src, first, end, REVISION);
  let at = writeInteger(readRevision(src, field, end), out, writeRawBytes(META_LABEL, out, to));
  for (const { name, label, type } of META_FIELDS) {
    at = writeRawBytes(label, out, at);
    // They are usually stored in this order, so the search continues after the last one found before it starts from the
    // beginning.
    const next = bson.findField(src, Math.max(field, first), end, name);
    field = next < 0 ? bson.findField(src, first, end, name) : next;
    if (field < 0 || src[field] !== type) {
      at = writeRawBytes(NULL, out, at);
    } else {
      const value = field + 1 + name.length + 1;
      at = writeJsonValue(src, type, value, bson.valueEnd(src, type, value, end), out, at, 2);
    }
  }
  out[at] = 0x7d;
  return at + 1;
}

/** The revision if it is an integer, otherwise 0: another program may have stored any type and value. */
function readRevision(src: Buffer, field: number, end: number): number {
  if (field < 0) return 0;
  const type = src[field] ?? 0;
  const start = field + 1 + REVISION.length + 1;
  bson.valueEnd(src, type, start, end);
  let revision = 0;
  if (type === bson.INT32) revision = src.readInt32LE(start);
  if (type === bson.DOUBLE) revision = src.readDoubleLE(start);
  if (type === bson.INT64) revision = Number(src.readBigInt64LE(start));
  return Number.isSafeInteger(revision) ? revision : 0;
}

/**
 * The revision of a stored document; 0 if another program wrote it.
 * @throws MillraceError `internal` if the bytes are not a BSON document
 */
export function storedRevision(raw: Uint8Array): number {
  const src = asBuffer(raw);
  const end = bson.documentEnd(src, 0, src.length);
  const meta = bson.findField(src, 4, end, META);
  if (meta < 0 || src[meta] !== bson.DOCUMENT) return 0;
  const start = meta + 1 + META.length + 1;
  const metaEnd = bson.documentEnd(src, start, end);
  return readRevision(src, bson.findField(src, start + 4, metaEnd, REVISION), metaEnd);
}

/** A text that is different for different ids: `o` and the hex digits of an ObjectId, or `s` and a string. */
export function idKey(id: ObjectId | string): string {
  return typeof id === 'string' ? `s${id}` : `o${id.toHexString()}`;
}

/** The `idKey` of a stored document, or null if its id has another type. */
export function storedIdKey(raw: Uint8Array): string | null {
  const src = asBuffer(raw);
  const end = bson.documentEnd(src, 0, src.length);
  const field = bson.findField(src, 4, end, ID);
  const at = field + 1 + ID.length + 1;
  if (src[field] === bson.OBJECT_ID) return `o${src.toString('hex', at, at + 12)}`;
  if (src[field] === bson.STRING) return `s${src.toString('utf8', at + 4, bson.stringEnd(src, at, end))}`;
  return null;
}
