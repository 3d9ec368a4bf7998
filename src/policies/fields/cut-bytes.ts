/**
 * A stored document cut to what is in a tree of members, as bytes: what remains is the very bytes that are stored, also
 * where the driver could not write them again. Not here: cutting a document in hand (field-tree.ts).
 */
import { ARRAY, DOCUMENT, documentEnd, nameEnd, valueEnd } from '../../database/bson/bson-bytes.ts';
import { ALL, childOf, type FieldTree, NONE } from './field-tree.ts';

/**
 * The document with what is in; members keep their order. The same bytes when all of it is.
 * @throws MillraceError `internal` when the bytes are no BSON document
 */
export function cutBytes(raw: Buffer, tree: FieldTree): Buffer;
export function cutBytes(raw: Uint8Array, tree: FieldTree): Uint8Array;
export function cutBytes(raw: Uint8Array, tree: FieldTree): Uint8Array {
  if (tree === ALL) return raw;
  const src = Buffer.from(raw.buffer, raw.byteOffset, raw.byteLength);
  const out = Buffer.allocUnsafe(src.length);
  return out.subarray(0, write({ src, out }, { start: 0, limit: src.length, tree, inArray: false }, 0));
}

interface Level {
  readonly start: number;
  /** First byte that is not its own any more. */
  readonly limit: number;
  readonly tree: FieldTree;
  /** Arrays are looked through: the tree is about the documents in them. */
  readonly inArray: boolean;
}

/** Writes one document or array, and returns the place behind it. */
function write(bytes: { readonly src: Buffer; readonly out: Buffer }, level: Level, to: number): number {
  const { src, out } = bytes;
  const { tree, inArray } = level;
  const end = documentEnd(src, level.start, level.limit);
  let at = to + 4;
  for (let from = level.start + 4; from < end; ) {
    const type = src[from] ?? 0;
    const name = nameEnd(src, from + 1, end);
    const after = valueEnd(src, type, name + 1, end);
    const own = inArray ? tree : childOf(tree, src.toString('utf8', from + 1, name));
    const nested = (type === DOCUMENT || type === ARRAY) && own !== ALL && own !== NONE;
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
