/**
 * Reads a few members of a stored document and skips the rest: a page's cursor, for one, needs the fields of the sort
 * only. Not here: reading whole documents (stored.ts).
 */
import type { Document } from 'mongodb';
import { documentEnd, isNamed, nameEnd, valueEnd } from './bson-bytes.ts';
import { readStored } from './stored.ts';

/**
 * Reads the top-level members with these names, as `readStored` does.
 * @throws MillraceError `internal` when the bytes are not a BSON document
 */
export function readNamed(raw: Uint8Array, names: readonly Uint8Array[]): Document {
  const end = documentEnd(raw, 0, raw.length);
  const small = Buffer.allocUnsafe(end + 1);
  let size = 4;
  for (let at = 4; at < end; ) {
    const name = nameEnd(raw, at + 1, end);
    const after = valueEnd(raw, raw[at] ?? 0, name + 1, end);
    if (names.some((one) => isNamed(raw, at + 1, name, one))) {
      small.set(raw.subarray(at, after), size);
      size += after - at;
    }
    at = after;
  }
  size = small.writeUInt8(0, size);
  small.writeInt32LE(size, 0);
  return readStored(small.subarray(0, size));
}
