/**
 * How much memory a decoded value uses after its document is released. Side effect: bytes that are a view into a larger
 * buffer are copied, so that they do not keep that buffer in memory.
 */
import { BSON } from 'mongodb';

/** Bytes for a number, a date, an id or another small object, with its slot in a list. */
const SMALL = 48;

/** The approximate number of bytes of a value, rather too high than too low: strings count as UTF-16. */
export function retainedSize(value: unknown): number {
  if (typeof value === 'string') return SMALL + 2 * value.length;
  if (typeof value !== 'object' || value === null) return SMALL;
  if (value instanceof Uint8Array) return SMALL + value.length;
  if (value instanceof BSON.Binary && value.buffer.buffer.byteLength > value.buffer.length) {
    value.buffer = Uint8Array.from(value.buffer);
  }
  let sum = SMALL;
  if (value instanceof Map) for (const [name, field] of value) sum += retainedSize(name) + retainedSize(field);
  else for (const [name, field] of Object.entries(value)) sum += 2 * name.length + retainedSize(field);
  return sum;
}
