/**
 * The `fields` of a query on documents: `_meta` is shown whole or not at all, because half of it would look like the
 * `_meta` of a document that others wrote.
 */
import { encodeStored, readStored } from '../database/stored.ts';
import { cut, type Fields, widened } from '../query/fields.ts';
import type { Expansion } from '../query/query.ts';

const META = '_meta';

/** The fields with `_meta` as one. */
export function withWholeMeta(fields: Fields | null): Fields | null {
  if (fields === null || !fields.paths.some((path) => path.startsWith(`${META}.`))) return fields;
  const others = fields.paths.filter((path) => !path.startsWith(`${META}.`));
  return { ...fields, paths: fields.mode === 'include' ? [...others, META] : others };
}

/** Whether an answer with these fields shows `_meta`. */
export function showsMeta(fields: Fields | null): boolean {
  if (fields === null) return true;
  return fields.paths.includes(META) === (fields.mode === 'include');
}

/** The fields to read, so that the ids to be expanded are among them: the same ones when they are already. */
export function withIds(fields: Fields | null, expand: readonly Expansion[]): Fields | null {
  if (fields === null || expand.length === 0) return fields;
  return widened(
    fields,
    expand.map(({ path }) => path),
  );
}

/** A stored document with these fields alone. */
export function cutStored(raw: Uint8Array, fields: Fields | null): Uint8Array {
  return fields === null ? raw : encodeStored(cut(readStored(raw), fields));
}
