/**
 * Raw BSON: the places of a document's top-level members (bsonspec.org, version 1.1), comparing members by their bytes,
 * and decoding documents that no user wrote. Not here: reading users' documents (stored.ts), and BSON to JSON
 * (json/json.ts).
 */
import { BSON, type Timestamp } from 'mongodb';

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
  let at = 4;
  const end = bytes.readInt32LE(0) - 1;
  if (end + 1 > bytes.length) throw new RangeError('The BSON document is cut off');
  while (at < end) {
    const type = bytes.readUInt8(at);
    const nameEnd = bytes.indexOf(0, at + 1);
    const start = nameEnd + 1;
    const next = start + valueLength(bytes, type, start);
    if (nameEnd < 0 || next > end) throw new RangeError('The BSON document is cut off');
    yield { type, name: bytes.toString('utf8', at + 1, nameEnd), start, end: next };
    at = next;
  }
}

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

/** The names of the top-level members whose type or bytes differ between two documents. */
export function rawDifference(one: Buffer, other: Buffer): string[] {
  const rest = new Map<string, RawMember>();
  for (const member of rawMembers(other)) rest.set(member.name, member);
  const names: string[] = [];
  for (const a of rawMembers(one)) {
    const b = rest.get(a.name);
    rest.delete(a.name);
    if (b === undefined || a.type !== b.type || one.compare(other, b.start, b.end, a.start, a.end) !== 0)
      names.push(a.name);
  }
  names.push(...rest.keys());
  return names;
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

/** The bytes of a binary member, however it was decoded; null when there are none. */
export function binary(value: unknown): Buffer | null {
  if (Buffer.isBuffer(value)) return value;
  if (value instanceof Uint8Array) return Buffer.from(value.buffer, value.byteOffset, value.byteLength);
  if (value instanceof BSON.Binary) return binary(value.value());
  return null;
}
