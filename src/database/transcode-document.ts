/**
 * The frame of a document on its way from BSON to JSON text: `id` first, the members in stored order, `_meta` last, as
 * to-wire.ts does with objects. Values are written by transcode.ts.
 */
import { BSON } from 'mongodb';
import * as bson from './bson-bytes.ts';
import type { ByteOutput } from './byte-output.ts';
import { idText } from './ids.ts';
import { GROWTH, writeName, writeValue } from './transcode.ts';
import { writeInteger } from './write-numbers.ts';
import { writeAscii, writeText } from './write-text.ts';

const COMMA = 0x2c;
const ID = Buffer.from('_id');
const FOREIGN_ID = Buffer.from('id');
const EXPANDED = Buffer.from('_expanded');
const META = Buffer.from('_meta');
const REVISION = Buffer.from('revision');
const TIMES = ['createdAt', 'updatedAt'].map((name) => Buffer.from(name));
const AUTHORS = ['createdBy', 'updatedBy'].map((name) => Buffer.from(name));
const NO_META = '"_meta":{"revision":0,"createdAt":null,"updatedAt":null,"createdBy":null,"updatedBy":null}';

/** Room for the names, punctuation and nulls of `id` and `_meta`, in bytes. */
const FRAME = 512;

/**
 * Appends a stored document as a JSON object.
 * @param withMeta whether to write `_meta`
 * @throws MillraceError `internal` when the bytes are no BSON document; the output's length is unchanged then
 */
export function appendDocument(raw: Uint8Array, output: ByteOutput, withMeta: boolean): void {
  const src = asBuffer(raw);
  const end = bson.documentEnd(src, 0, src.length);
  if (end + 1 !== src.length) throw bson.damaged('bytes follow its end');
  const id = findMember(src, 0, end, ID);
  const oddId = id < 0 || src[id] === bson.OBJECT_ID || src[id] === bson.STRING ? '' : idText(readId(src, id, end));
  output.reserve((src.length + oddId.length) * GROWTH + FRAME);
  const out = output.bytes;
  let at = writeAscii('{', out, output.length);
  if (id >= 0) at = writeId(src, id, end, oddId, out, at);
  let meta = -1;
  let from = 4;
  while (from < end) {
    const type = src[from] ?? 0;
    const name = bson.nameEnd(src, from + 1, end);
    const after = bson.valueEnd(src, type, name + 1, end);
    if (isNamed(src, from + 1, name, META)) meta = type === bson.DOCUMENT ? name + 1 : -1;
    else if (!isHidden(src, from + 1, name)) {
      at = writeName(src, from + 1, name, out, at);
      at = writeValue(src, type, name + 1, after, out, at, 1);
      out[at++] = COMMA;
    }
    from = after;
  }
  if (withMeta) at = meta < 0 ? writeAscii(NO_META, out, at) : writeMeta(src, meta, end, out, at);
  else if (out[at - 1] === COMMA) at--;
  output.length = writeAscii('}', out, at);
}

/** The place of a member's type byte in the document whose length stands at `start`, or -1. */
function findMember(src: Buffer, start: number, end: number, wanted: Buffer): number {
  let from = start + 4;
  while (from < end) {
    const name = bson.nameEnd(src, from + 1, end);
    if (isNamed(src, from + 1, name, wanted)) return from;
    from = bson.valueEnd(src, src[from] ?? 0, name + 1, end);
  }
  return -1;
}

function isNamed(src: Buffer, start: number, end: number, name: Buffer): boolean {
  if (end - start !== name.length) return false;
  for (let i = 0; i < name.length; i++) if (src[start + i] !== name[i]) return false;
  return true;
}

function isHidden(src: Buffer, start: number, end: number): boolean {
  return isNamed(src, start, end, ID) || isNamed(src, start, end, FOREIGN_ID) || isNamed(src, start, end, EXPANDED);
}

function writeId(src: Buffer, member: number, end: number, oddId: string, out: Buffer, to: number): number {
  let at = writeAscii('"id":', out, to);
  const type = src[member] ?? 0;
  const start = member + 1 + ID.length + 1;
  if (type === bson.STRING || type === bson.OBJECT_ID) {
    at = writeValue(src, type, start, bson.valueEnd(src, type, start, end), out, at, 1);
  } else {
    at = writeText(oddId, out, at);
  }
  out[at] = COMMA;
  return at + 1;
}

/** Reads an `_id` of an uncommon type as an object, by way of a document that holds nothing else. */
function readId(src: Buffer, member: number, end: number): unknown {
  const after = bson.valueEnd(src, src[member] ?? 0, member + 1 + ID.length + 1, end);
  const alone = Buffer.alloc(after - member + 5);
  alone.writeInt32LE(alone.length, 0);
  src.copy(alone, 4, member, after);
  try {
    return BSON.deserialize(alone, { promoteValues: false, bsonRegExp: true, validation: { utf8: false } })['_id'];
  } catch {
    throw bson.damaged('its id cannot be read');
  }
}

function writeMeta(src: Buffer, start: number, limit: number, out: Buffer, to: number): number {
  const end = bson.documentEnd(src, start, limit);
  let at = writeAscii('"_meta":{"revision":', out, to);
  at = writeInteger(readRevision(src, start, end), out, at);
  for (const name of TIMES) at = writeMetaMember(src, start, end, name, bson.DATE, out, at);
  for (const name of AUTHORS) at = writeMetaMember(src, start, end, name, bson.STRING, out, at);
  out[at] = 0x7d;
  return at + 1;
}

/** The revision when it is an integer, as a foreign writer may have given it any type and value. */
function readRevision(src: Buffer, start: number, end: number): number {
  const member = findMember(src, start, end, REVISION);
  if (member < 0) return 0;
  const type = src[member] ?? 0;
  const at = member + 1 + REVISION.length + 1;
  bson.valueEnd(src, type, at, end);
  let revision = 0;
  if (type === bson.INT32) revision = src.readInt32LE(at);
  if (type === bson.DOUBLE) revision = src.readDoubleLE(at);
  if (type === bson.INT64) revision = Number(src.readBigInt64LE(at));
  return Number.isSafeInteger(revision) ? revision : 0;
}

/**
 * The revision of a stored document, 0 when others wrote it.
 * @throws MillraceError `internal` when the bytes are no BSON document
 */
export function storedRevision(raw: Uint8Array): number {
  const src = asBuffer(raw);
  const end = bson.documentEnd(src, 0, src.length);
  const meta = findMember(src, 0, end, META);
  if (meta < 0 || src[meta] !== bson.DOCUMENT) return 0;
  const start = meta + 1 + META.length + 1;
  return readRevision(src, start, bson.documentEnd(src, start, end));
}

function asBuffer(raw: Uint8Array): Buffer {
  return Buffer.isBuffer(raw) ? raw : Buffer.from(raw.buffer, raw.byteOffset, raw.byteLength);
}

function writeMetaMember(
  src: Buffer,
  start: number,
  end: number,
  name: Buffer,
  type: number,
  out: Buffer,
  to: number,
): number {
  let at = writeAscii(',"', out, to);
  at += name.copy(out, at);
  at = writeAscii('":', out, at);
  const member = findMember(src, start, end, name);
  if (member < 0 || src[member] !== type) return writeAscii('null', out, at);
  const value = member + 1 + name.length + 1;
  return writeValue(src, type, value, bson.valueEnd(src, type, value, end), out, at, 2);
}
