/**
 * Cuts a stored document to the fields of a tree, as bytes. The rest is byte for byte as stored, even where the driver
 * could not write it again.
 */
import { ARRAY, DOCUMENT, documentEnd, fieldNameEnd, valueEnd } from '../../database/bson/bson-bytes.ts';
import {
  ALL_FIELDS,
  type IncludedFields,
  includedFieldsBelow,
  isPartlyIncluded,
  prepareIncludedFields,
} from '../../database/bson/included-fields.ts';
import type { FieldTree } from '../../query/evaluate/field-tree.ts';

/**
 * The document with the fields of the tree, in their order; the same bytes when that is all of it.
 * @throws MillraceError `internal` when the bytes are not a BSON document
 */
export function selectBsonFields(raw: Buffer, tree: FieldTree): Buffer;
export function selectBsonFields(raw: Uint8Array, tree: FieldTree): Uint8Array;
export function selectBsonFields(raw: Uint8Array, tree: FieldTree): Uint8Array {
  const fields = prepareIncludedFields(tree);
  if (fields === ALL_FIELDS) return raw;
  const src = Buffer.from(raw.buffer, raw.byteOffset, raw.byteLength);
  const out = Buffer.allocUnsafe(src.length);
  return out.subarray(0, write({ src, out }, { start: 0, limit: src.length, fields, inArray: false }, 0));
}

interface Level {
  readonly start: number;
  /** The first byte after this level. */
  readonly limit: number;
  readonly fields: IncludedFields;
  /** True inside an array: the rules apply to the documents in it. */
  readonly inArray: boolean;
}

/** Writes one document or array, and returns the position after it. */
function write(bytes: { readonly src: Buffer; readonly out: Buffer }, level: Level, to: number): number {
  const { src, out } = bytes;
  const { fields, inArray } = level;
  const end = documentEnd(src, level.start, level.limit);
  let at = to + 4;
  // Included fields that follow each other are copied together: the run begins here.
  let run = level.start + 4;
  for (let from = run; from < end; ) {
    const type = src[from] ?? 0;
    const name = fieldNameEnd(src, from + 1, end);
    const after = valueEnd(src, type, name + 1, end);
    const own = inArray ? fields : includedFieldsBelow(fields, src, from + 1, name);
    const isNested = (type === DOCUMENT || type === ARRAY) && isPartlyIncluded(own);
    if (isNested) {
      at += src.copy(out, at, run, name + 1);
      at = write(bytes, { start: name + 1, limit: end, fields: own, inArray: type === ARRAY }, at);
      run = after;
    } else if (!own.rest) {
      at += src.copy(out, at, run, from);
      run = after;
    }
    from = after;
  }
  at += src.copy(out, at, run, end);
  out[at] = 0;
  out.writeInt32LE(at + 1 - to, to);
  return at + 1;
}
