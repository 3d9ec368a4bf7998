/**
 * The `fields` of a query on documents: `_meta` is shown whole or not at all, because half of it would look like the
 * `_meta` of a document that others wrote.
 */
import { cutBytes } from '../policies/cut-bytes.ts';
import { ALL, childOf, type FieldTree, fieldTree, NONE } from '../policies/field-tree.ts';
import { type Fields, widened } from '../query/fields.ts';
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
  if (fields === null) return raw;
  const { rest, members } = treeOf(fields);
  return cutBytes(raw, fieldTree(rest, new Map([...members, ['_id', fields.id ? ALL : NONE]])));
}

/** The fields as a tree; the id has a word of its own and is not in it. */
export function treeOf({ mode, paths }: Fields): FieldTree {
  const [idle, named] = mode === 'include' ? [NONE, ALL] : [ALL, NONE];
  const place = (tree: FieldTree, [name = '', ...rest]: readonly string[]): FieldTree => {
    const inner = rest.length === 0 ? named : place(childOf(tree, name), rest);
    return fieldTree(tree.rest, new Map([...tree.members, [name, inner]]));
  };
  return paths.reduce((tree, path) => place(tree, path.split('.')), idle);
}
