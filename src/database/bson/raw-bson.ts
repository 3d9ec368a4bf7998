/**
 * Raw BSON: locating top-level fields (bsonspec.org, version 1.1), comparing fields by their bytes, and decoding
 * documents that no user wrote.
 */
import { BSON, type Timestamp } from 'mongodb';
import { countStepAndYield, resumableProgress } from '../../lib/concurrency/cooperative-yield.ts';
import type { ValueOffsets } from './bson-bytes.ts';

/** A field of a raw document: its type byte, its name, and the location of its value. */
export interface RawField {
  readonly type: number;
  readonly name: string;
  readonly start: number;
  readonly end: number;
}

const FIXED: Readonly<Record<number, number>> = {
  1: 8,
  6: 0,
  7: 12,
  8: 1,
  9: 8,
  10: 0,
  16: 4,
  17: 8,
  18: 8,
  19: 16,
  127: 0,
  255: 0,
};

/** The fields of a raw document in order. Throws RangeError if the bytes are not a document. */
export function* rawFields(bytes: Buffer): Generator<RawField> {
  const end = lastByte(bytes);
  for (let at = 4; at < end; ) {
    const position = positionOf(bytes, at, end);
    yield { type: position.type, name: nameAt(bytes, position), start: position.start, end: position.end };
    at = position.end;
  }
}

/** The location of a field in the bytes. */
interface JsonPosition {
  readonly type: number;
  readonly name: number;
  /** The offset of its value; the byte before ends its name. */
  readonly start: number;
  readonly end: number;
}

function lastByte(bytes: Buffer): number {
  const end = bytes.readInt32LE(0) - 1;
  if (end + 1 > bytes.length) throw new RangeError('The BSON document is truncated');
  return end;
}

function positionOf(bytes: Buffer, at: number, end: number): JsonPosition {
  const type = bytes.readUInt8(at);
  const nameEnd = bytes.indexOf(0, at + 1);
  const start = nameEnd + 1;
  const next = start + valueLength(bytes, type, start);
  if (nameEnd < 0 || next > end) throw new RangeError('The BSON document is truncated');
  return { type, name: at + 1, start, end: next };
}

const nameAt = (bytes: Buffer, { name, start }: JsonPosition): string => bytes.toString('utf8', name, start - 1);

function valueLength(bytes: Buffer, type: number, start: number): number {
  const fixed = FIXED[type];
  if (fixed !== undefined) return fixed;
  if (type === 3 || type === 4 || type === 15) return bytes.readInt32LE(start);
  if (type === 2 || type === 13 || type === 14) return 4 + bytes.readInt32LE(start);
  if (type === 5) return 5 + bytes.readInt32LE(start);
  if (type === 12) return 4 + bytes.readInt32LE(start) + 12;
  if (type === 11) return bytes.indexOf(0, bytes.indexOf(0, start) + 1) + 1 - start;
  throw new RangeError(`The BSON type ${type} is unknown`);
}

/** Whether two fields with different bytes count as equal. */
export type FieldEqualityCheck = (one: Buffer, a: ValueOffsets, other: Buffer, b: ValueOffsets) => boolean;

/** Progress of a comparison. */
interface Comparison {
  readonly names: string[];
  at: number;
  /** The offset in the other document. */
  next: number;
  /** The remaining fields of the other document, by name; null while both have the same names in order. */
  rest: Map<string, JsonPosition> | null;
}

/**
 * The names of the top-level fields that differ between two documents. It can yield
 * (lib/concurrency/cooperative-yield.ts).
 * @param same compares fields whose type or bytes differ; by default they count as different
 */
export function changedFieldNames(one: Buffer, other: Buffer, same: FieldEqualityCheck = () => false): string[] {
  const done = resumableProgress(one, other, (): Comparison => ({ names: [], at: 4, next: 4, rest: null }));
  const [end, otherEnd] = [lastByte(one), lastByte(other)];
  const differ = (a: JsonPosition, b: JsonPosition) => !sameBytes(one, a, other, b) && !same(one, a, other, b);
  while (done.rest === null && done.at < end && done.next < otherEnd) {
    const [a, b] = [positionOf(one, done.at, end), positionOf(other, done.next, otherEnd)];
    if (!equal(one, a.name, a.start, other, b.name, b.start)) break;
    if (differ(a, b)) done.names.push(nameAt(one, a));
    [done.at, done.next] = [a.end, b.end];
    countStepAndYield();
  }
  done.rest ??= new Map();
  while (done.next < otherEnd) {
    const b = positionOf(other, done.next, otherEnd);
    done.rest.set(nameAt(other, b), b);
    done.next = b.end;
    countStepAndYield();
  }
  while (done.at < end) {
    const a = positionOf(one, done.at, end);
    const name = nameAt(one, a);
    const b = done.rest.get(name);
    done.rest.delete(name);
    if (b === undefined || differ(a, b)) done.names.push(name);
    done.at = a.end;
    countStepAndYield();
  }
  return [...done.names, ...done.rest.keys()];
}

/**
 * Whether two documents have the same fields with the same bytes in the same order, apart from the ignored top-level
 * fields.
 */
export function haveSameFields(one: Buffer, other: Buffer, ignored: ReadonlySet<string>): boolean {
  const [fields, others] = [fieldsBesides(one, ignored), fieldsBesides(other, ignored)];
  for (const a of fields) {
    const { value: b } = others.next();
    if (b === undefined || a.name !== b.name || !sameBytes(one, a, other, b)) return false;
  }
  return others.next().done === true;
}

function* fieldsBesides(bytes: Buffer, ignored: ReadonlySet<string>): Generator<RawField, undefined> {
  for (const field of rawFields(bytes)) if (!ignored.has(field.name)) yield field;
}

function sameBytes(one: Buffer, a: ValueOffsets, other: Buffer, b: ValueOffsets): boolean {
  return a.type === b.type && equal(one, a.start, a.end, other, b.start, b.end);
}

/** Up to this size, a loop here is faster than a call into the runtime. */
const FEW = 24;

function equal(one: Buffer, start: number, end: number, other: Buffer, from: number, to: number): boolean {
  if (end - start !== to - from) return false;
  if (end - start > FEW) return one.compare(other, from, to, start, end) === 0;
  for (let i = start, j = from; i < end; i++, j++) if (one[i] !== other[j]) return false;
  return true;
}

/** Other programs may have stored invalid UTF-8; one such string must not make the whole document unreadable. */
const LENIENT = { validation: { utf8: false } } as const;

/**
 * Decodes documents that the server or Millrace itself wrote, names included, to ordinary JavaScript values. Not for
 * documents of users: the driver converts some of them to its own objects (stored-document.ts reads those).
 */
export function decodeSystemBson(bytes: Uint8Array): Record<string, unknown> {
  return BSON.deserialize(bytes, LENIENT);
}

/** The same for the top level only: embedded documents and documents in arrays stay bytes, so these may be of users. */
export function decodeShallow(bytes: Uint8Array): Record<string, unknown> {
  return BSON.deserialize(bytes, { ...LENIENT, raw: true });
}

/** A value that must be a timestamp of the server. Throws TypeError for another one. */
export function requireTimestamp(value: unknown): Timestamp {
  if (value instanceof BSON.Timestamp) return value;
  throw new TypeError('A cluster time is missing');
}

/** The cluster time before every event. */
export const ZERO_TIMESTAMP: Timestamp = new BSON.Timestamp(0n);

/** The bytes of a binary field, however it was decoded; null if absent. */
export function binaryToBuffer(value: unknown): Buffer | null {
  if (Buffer.isBuffer(value)) return value;
  if (value instanceof Uint8Array) return Buffer.from(value.buffer, value.byteOffset, value.byteLength);
  if (value instanceof BSON.Binary) return binaryToBuffer(value.value());
  return null;
}

/** The same bytes, with the methods of a Buffer. */
export function asBuffer(raw: Uint8Array): Buffer {
  return Buffer.isBuffer(raw) ? raw : Buffer.from(raw.buffer, raw.byteOffset, raw.byteLength);
}
