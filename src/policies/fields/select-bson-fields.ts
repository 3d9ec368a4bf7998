/**
 * Cuts a stored document to the fields of a tree, as bytes. The rest is byte for byte as stored, even where the driver
 * could not write it again.
 */
import { ARRAY, DOCUMENT, documentEnd, fieldNameEnd, valueEnd } from '../../database/bson/bson-bytes.ts';
import { decodeUtf8Text } from '../../database/bson/decode-bson-document.ts';
import { childFieldTree, EMPTY_FIELD_TREE, type FieldTree, FULL_FIELD_TREE } from '../../query/evaluate/field-tree.ts';

/**
 * The document with the fields of the tree, in their order; the same bytes when that is all of it.
 * @throws MillraceError `internal` when the bytes are not a BSON document
 */
export function selectBsonFields(raw: Buffer, tree: FieldTree): Buffer;
export function selectBsonFields(raw: Uint8Array, tree: FieldTree): Uint8Array;
export function selectBsonFields(raw: Uint8Array, tree: FieldTree): Uint8Array {
  if (tree === FULL_FIELD_TREE) return raw;
  const src = Buffer.from(raw.buffer, raw.byteOffset, raw.byteLength);
  const out = Buffer.allocUnsafe(src.length);
  return out.subarray(0, write({ src, out }, { start: 0, limit: src.length, tree, inArray: false }, 0));
}

interface Level {
  readonly start: number;
  /** The first byte after this level. */
  readonly limit: number;
  readonly tree: FieldTree;
  /** True inside an array: the rules of the tree apply to the documents in it. */
  readonly inArray: boolean;
}

/** Writes one document or array, and returns the position after it. */
function write(bytes: { readonly src: Buffer; readonly out: Buffer }, level: Level, to: number): number {
  const { src, out } = bytes;
  const { tree, inArray } = level;
  const end = documentEnd(src, level.start, level.limit);
  let at = to + 4;
  for (let from = level.start + 4; from < end; ) {
    const type = src[from] ?? 0;
    const name = fieldNameEnd(src, from + 1, end);
    const after = valueEnd(src, type, name + 1, end);
    const own = inArray ? tree : childFieldTree(tree, decodeUtf8Text(src, from + 1, name));
    const nested = (type === DOCUMENT || type === ARRAY) && own !== FULL_FIELD_TREE && own !== EMPTY_FIELD_TREE;
    if (nested) {
      at += src.copy(out, at, from, name + 1);
      at = write(bytes, { start: name + 1, limit: end, tree: own, inArray: type === ARRAY }, at);
    } else if (own.rest) {
      at += src.copy(out, at, from, after);
    }
    from = after;
  }
  out[at] = 0;
  out.writeInt32LE(at + 1 - to, to);
  return at + 1;
}
