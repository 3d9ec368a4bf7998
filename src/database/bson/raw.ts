/**
 * Raw BSON: the places of a document's top-level members (bsonspec.org, version 1.1), comparing members by their bytes,
 * and decoding documents that no user wrote. Not here: reading users' documents (stored.ts), and BSON to JSON
 * (json/json.ts).
 */
import { BSON, type Timestamp } from 'mongodb';
import { progress, step } from '../../kernel/concurrency/pauses.ts';
import type { ValuePlace } from './bson-bytes.ts';

/** A member of a raw document: its type byte, its name, and the place of its value. */
export interface RawMember {
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

/** The members of a raw document in their order. Throws RangeError when the bytes are not a document. */
export function* rawMembers(bytes: Buffer): Generator<RawMember> {
  const end = lastByte(bytes);
  for (let at = 4; at < end; ) {
    const place = placeOf(bytes, at, end);
    yield { type: place.type, name: nameAt(bytes, place), start: place.start, end: place.end };
    at = place.end;
  }
}

/** Where a member is in the bytes. */
interface Place {
  readonly type: number;
  readonly name: number;
  /** The place of its value; the byte before ends its name. */
  readonly start: number;
  readonly end: number;
}

function lastByte(bytes: Buffer): number {
  const end = bytes.readInt32LE(0) - 1;
  if (end + 1 > bytes.length) throw new RangeError('The BSON document is cut off');
  return end;
}

function placeOf(bytes: Buffer, at: number, end: number): Place {
  const type = bytes.readUInt8(at);
  const nameEnd = bytes.indexOf(0, at + 1);
  const start = nameEnd + 1;
  const next = start + valueLength(bytes, type, start);
  if (nameEnd < 0 || next > end) throw new RangeError('The BSON document is cut off');
  return { type, name: at + 1, start, end: next };
}

const nameAt = (bytes: Buffer, { name, start }: Place): string => bytes.toString('utf8', name, start - 1);

function valueLength(bytes: Buffer, type: number, start: number): number {
  const fixed = FIXED[type];
  if (fixed !== undefined) return fixed;
  if (type === 3 || type === 4 || type === 15) return bytes.readInt32LE(start);
  if (type === 2 || type === 13 || type === 14) return 4 + bytes.readInt32LE(start);
  if (type === 5) return 5 + bytes.readInt32LE(start);
  if (type === 12) return 4 + bytes.readInt32LE(start) + 12;
  if (type === 11) return bytes.indexOf(0, bytes.indexOf(0, start) + 1) + 1 - start;
  throw new RangeError(`The BSON type ${type} is not known`);
}

/** Whether two members with different bytes count as the same. */
export type SameMembers = (one: Buffer, a: ValuePlace, other: Buffer, b: ValuePlace) => boolean;

/** How far the comparison of two documents is. */
interface Comparison {
  readonly names: string[];
  at: number;
  /** The place in the other document. */
  next: number;
  /** The members of the other document that are left, by name; null while both have the same names in order. */
  rest: Map<string, Place> | null;
}

/**
 * The names of the top-level members that differ between two documents. It can pause (kernel/concurrency/pauses.ts).
 * @param same looks again at members whose type or bytes differ; they count as different when left out
 */
export function rawDifference(one: Buffer, other: Buffer, same: SameMembers = () => false): string[] {
  const done = progress(one, other, (): Comparison => ({ names: [], at: 4, next: 4, rest: null }));
  const [end, otherEnd] = [lastByte(one), lastByte(other)];
  const differ = (a: Place, b: Place) => !sameBytes(one, a, other, b) && !same(one, a, other, b);
  while (done.rest === null && done.at < end && done.next < otherEnd) {
    const [a, b] = [placeOf(one, done.at, end), placeOf(other, done.next, otherEnd)];
    if (!equal(one, a.name, a.start, other, b.name, b.start)) break;
    if (differ(a, b)) done.names.push(nameAt(one, a));
    [done.at, done.next] = [a.end, b.end];
    step();
  }
  done.rest ??= new Map();
  while (done.next < otherEnd) {
    const b = placeOf(other, done.next, otherEnd);
    done.rest.set(nameAt(other, b), b);
    done.next = b.end;
    step();
  }
  while (done.at < end) {
    const a = placeOf(one, done.at, end);
    const name = nameAt(one, a);
    const b = done.rest.get(name);
    done.rest.delete(name);
    if (b === undefined || differ(a, b)) done.names.push(name);
    done.at = a.end;
    step();
  }
  return [...done.names, ...done.rest.keys()];
}

/**
 * Whether two documents have the same members with the same bytes in the same order, whatever the ignored top-level
 * members are and wherever they stand.
 */
export function sameMembers(one: Buffer, other: Buffer, ignored: ReadonlySet<string>): boolean {
  const [members, others] = [membersBesides(one, ignored), membersBesides(other, ignored)];
  for (const a of members) {
    const { value: b } = others.next();
    if (b === undefined || a.name !== b.name || !sameBytes(one, a, other, b)) return false;
  }
  return others.next().done === true;
}

function* membersBesides(bytes: Buffer, ignored: ReadonlySet<string>): Generator<RawMember, undefined> {
  for (const member of rawMembers(bytes)) if (!ignored.has(member.name)) yield member;
}

function sameBytes(one: Buffer, a: ValuePlace, other: Buffer, b: ValuePlace): boolean {
  return a.type === b.type && equal(one, a.start, a.end, other, b.start, b.end);
}

/** So many bytes are compared quicker here than by a call into the runtime. */
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
 * documents of users: the driver turns some of them into objects of its own (stored.ts reads those).
 */
export function decodeOwn(bytes: Uint8Array): Record<string, unknown> {
  return BSON.deserialize(bytes, LENIENT);
}

/** The same for the top level only: embedded documents and documents in arrays stay bytes, so these may be of users. */
export function decodeShallow(bytes: Uint8Array): Record<string, unknown> {
  return BSON.deserialize(bytes, { ...LENIENT, raw: true });
}

/** A value that must be a timestamp of the server. Throws TypeError when it is not one. */
export function timestamp(value: unknown): Timestamp {
  if (value instanceof BSON.Timestamp) return value;
  throw new TypeError('A cluster time is missing');
}

/** The cluster time of what never happened. */
export const NO_TIME: Timestamp = new BSON.Timestamp(0n);

/** The bytes of a binary member, however it was decoded; null when there are none. */
export function binary(value: unknown): Buffer | null {
  if (Buffer.isBuffer(value)) return value;
  if (value instanceof Uint8Array) return Buffer.from(value.buffer, value.byteOffset, value.byteLength);
  if (value instanceof BSON.Binary) return binary(value.value());
  return null;
}

/** The same bytes, with the methods of a Buffer. */
export function asBuffer(raw: Uint8Array): Buffer {
  return Buffer.isBuffer(raw) ? raw : Buffer.from(raw.buffer, raw.byteOffset, raw.byteLength);
}
