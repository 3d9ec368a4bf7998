/**
 * The `fields` of a query on documents: `_meta` is included whole or not at all, because half of it would look like the
 * `_meta` of a document that another program wrote.
 */
import { selectBsonFields } from '../../policies/fields/select-bson-fields.ts';
import { addRequiredFields, type FieldSelection, toFieldTree } from '../../query/evaluate/field-selection.ts';
import type { Expansion } from '../../query/parse/query.ts';

const META = '_meta';

/** The fields with `_meta` as one unit. */
export function withWholeMeta(fields: FieldSelection | null): FieldSelection | null {
  if (fields === null || !fields.paths.some((path) => path.startsWith(`${META}.`))) return fields;
  const others = fields.paths.filter((path) => !path.startsWith(`${META}.`));
  return { ...fields, paths: fields.mode === 'include' ? [...others, META] : others };
}

/** The fields to read so that the ids to expand are among them; the same object when they already are. */
export function selectFieldsForExpand(
  fields: FieldSelection | null,
  expand: readonly Expansion[],
): FieldSelection | null {
  if (fields === null || expand.length === 0) return fields;
  return addRequiredFields(
    fields,
    // Part of an id is useless: the id is read whole.
    expand.map(({ path }) => (path.startsWith('_id.') ? '_id' : path)),
  );
}

/** A stored document with these fields alone. */
export function selectStoredFields(raw: Uint8Array, fields: FieldSelection | null): Uint8Array {
  return fields === null ? raw : selectBsonFields(raw, toFieldTree(fields));
}
