/**
 * The `fields` of a query on documents: `_meta` is shown whole or not at all, because half of it would look like the
 * `_meta` of a document that others wrote.
 */
import { cutBytes } from '../../policies/fields/cut-bytes.ts';
import { ALL, type FieldTree, fieldTree, NONE } from '../../policies/fields/field-tree.ts';
import { type Fields, widened } from '../../query/evaluate/fields.ts';
import type { Expansion } from '../../query/parse/query.ts';

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

/** The fields to read so that the ids to expand are among them; the same object when they are already. */
export function withIds(fields: Fields | null, expand: readonly Expansion[]): Fields | null {
  if (fields === null || expand.length === 0) return fields;
  return widened(
    fields,
    // A part of an id is of no use: the id is read whole.
    expand.map(({ path }) => (path.startsWith('_id.') ? '_id' : path)),
  );
}

/** A stored document with these fields alone. */
export function cutStored(raw: Uint8Array, fields: Fields | null): Uint8Array {
  return fields === null ? raw : cutBytes(raw, wholeTreeOf(fields));
}

const wholeTrees = new WeakMap<Fields, FieldTree>();

/** Worked out once for the documents of a list, of which each is cut by itself. */
function wholeTreeOf(fields: Fields): FieldTree {
  const known = wholeTrees.get(fields);
  if (known !== undefined) return known;
  const { rest, members } = treeOf(fields);
  const tree = fieldTree(rest, new Map([...members, ['_id', ALL]]));
  wholeTrees.set(fields, tree);
  return tree;
}

/** The members of one level that the paths name, with what they name below. */
type Names = Map<string, Names>;

/** The fields as a tree; the id is always shown and not in it. */
export function treeOf({ mode, paths }: Fields): FieldTree {
  const top: Names = new Map();
  for (const path of paths) {
    let level = top;
    for (const step of path.split('.')) {
      const next: Names = level.get(step) ?? new Map();
      level.set(step, next);
      level = next;
    }
  }
  const include = mode === 'include';
  const levelOf = (names: Names): FieldTree =>
    fieldTree(!include, new Map([...names].map(([name, inner]) => [name, inner.size > 0 ? levelOf(inner) : named])));
  const named = include ? ALL : NONE;
  return levelOf(top);
}
