/**
 * What a decoded value takes in memory when it is kept for itself, after the document that it came from has gone. Pure,
 * but for this: bytes that were a view into a larger buffer become bytes of their own, so that they keep nothing else alive.
 */
import { BSON } from 'mongodb';

/** A number, a date, an id or another small object, with its place in a list. */
const SMALL = 48;

/** Bytes that a value takes, nearly and rather too many: texts count as UTF-16. */
export function heldBytes(value: unknown): number {
  if (typeof value === 'string') return SMALL + 2 * value.length;
  if (typeof value !== 'object' || value === null) return SMALL;
  if (value instanceof Uint8Array) return SMALL + value.length;
  if (value instanceof BSON.Binary && value.buffer.buffer.byteLength > value.buffer.length) {
    value.buffer = Uint8Array.from(value.buffer);
  }
  let sum = SMALL;
  if (value instanceof Map) for (const [name, member] of value) sum += heldBytes(name) + heldBytes(member);
  else for (const [name, member] of Object.entries(value)) sum += 2 * name.length + heldBytes(member);
  return sum;
}
