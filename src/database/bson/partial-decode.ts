/**
 * Reads or removes fields of a stored document by name and skips the rest, for example for a page's cursor, which needs
 * the sort fields only. stored-document.ts reads whole documents.
 */
import type { Document } from 'mongodb';
import { documentEnd, fieldNameEnd, hasFieldName, valueEnd } from './bson-bytes.ts';
import { decodeDocument } from './stored-document.ts';

/**
 * Reads the top-level fields with these names, as `decodeDocument` does.
 * @throws MillraceError `internal` if the bytes are not a BSON document
 */
export function decodeNamedFields(raw: Uint8Array, names: readonly Uint8Array[]): Document {
  const end = documentEnd(raw, 0, raw.length);
  const small = Buffer.allocUnsafe(end + 1);
  let size = 4;
  for (let at = 4; at < end; ) {
    const name = fieldNameEnd(raw, at + 1, end);
    const after = valueEnd(raw, raw[at] ?? 0, name + 1, end);
    if (names.some((one) => hasFieldName(raw, at + 1, name, one))) {
      small.set(raw.subarray(at, after), size);
      size += after - at;
    }
    at = after;
  }
  size = small.writeUInt8(0, size);
  small.writeInt32LE(size, 0);
  return decodeDocument(small.subarray(0, size));
}

/**
 * The document without the top-level fields with these names, as bytes; the same bytes if it has none of them.
 * @throws MillraceError `internal` if the bytes are not a BSON document
 */
export function removeNamedFields(raw: Buffer, names: ReadonlySet<string>): Buffer {
  const end = documentEnd(raw, 0, raw.length);
  const parts: Buffer[] = [];
  let [from, size] = [4, 0];
  for (let at = 4; at < end; ) {
    const name = fieldNameEnd(raw, at + 1, end);
    const after = valueEnd(raw, raw[at] ?? 0, name + 1, end);
    if (names.has(raw.toString('utf8', at + 1, name))) {
      parts.push(raw.subarray(from, at));
      size += after - at;
      from = after;
    }
    at = after;
  }
  if (size === 0) return raw;
  const head = Buffer.alloc(4);
  head.writeInt32LE(raw.length - size);
  return Buffer.concat([head, ...parts, raw.subarray(from)]);
}
