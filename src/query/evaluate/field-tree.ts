/**
 * Which fields of a document are included, or can be set, as a tree that can be combined, narrowed and applied to a
 * document in memory. Both the fields that policies allow and those that `fields` requests are such a tree. Pure.
 */
import { isArrayPosition, splitPath } from '../field-paths.ts';
import { type EmbeddedDocument, isEmbeddedDocument } from './bson-order.ts';

/**
 * One level of fields: those with a rule of their own, and whether all others are included. In an array, a rule applies
 * to the documents in it. Always in its shortest form, so that equal rules are equal trees.
 */
export interface FieldTree {
  /** True if fields without a rule of their own, and values without fields, are included. */
  readonly rest: boolean;
  readonly fields: ReadonlyMap<string, FieldTree>;
}

const NO_FIELDS: ReadonlyMap<string, FieldTree> = new Map();

export const FULL_FIELD_TREE: FieldTree = { rest: true, fields: NO_FIELDS };
export const EMPTY_FIELD_TREE: FieldTree = { rest: false, fields: NO_FIELDS };

/** A level, in its shortest form. */
export function createFieldTree(rest: boolean, fields: ReadonlyMap<string, FieldTree>): FieldTree {
  const idle = rest ? FULL_FIELD_TREE : EMPTY_FIELD_TREE;
  const own = [...fields].filter(([, tree]) => tree !== idle);
  if (own.length === 0) return idle;
  return { rest, fields: new Map(own) };
}

/** The rule for one field of a level. */
export function childFieldTree(tree: FieldTree, name: string): FieldTree {
  return tree.fields.get(name) ?? (tree.rest ? FULL_FIELD_TREE : EMPTY_FIELD_TREE);
}

/** What is included in at least one of the trees. */
export function unionFieldTrees(trees: readonly FieldTree[]): FieldTree {
  const [only] = trees;
  if (trees.length === 1 && only !== undefined) return only;
  return trees.includes(FULL_FIELD_TREE)
    ? FULL_FIELD_TREE
    : combined(trees, unionFieldTrees, (rests) => rests.includes(true));
}

/** What is included in every one of the trees. */
export function intersectFieldTrees(trees: readonly FieldTree[]): FieldTree {
  const [only] = trees;
  if (trees.length === 1 && only !== undefined) return only;
  return trees.includes(EMPTY_FIELD_TREE)
    ? EMPTY_FIELD_TREE
    : combined(trees, intersectFieldTrees, (rests) => !rests.includes(false));
}

function combined(
  trees: readonly FieldTree[],
  combine: (trees: readonly FieldTree[]) => FieldTree,
  decide: (rests: readonly boolean[]) => boolean,
): FieldTree {
  const names = new Set(trees.flatMap(({ fields }) => [...fields.keys()]));
  const properties = [...names].map(
    (name) => [name, combine(trees.map((tree) => childFieldTree(tree, name)))] as const,
  );
  return createFieldTree(decide(trees.map(({ rest }) => rest)), new Map(properties));
}

export function sameFieldTree(a: FieldTree, b: FieldTree): boolean {
  if (a === b) return true;
  if (a.rest !== b.rest || a.fields.size !== b.fields.size) return false;
  return [...a.fields].every(([name, tree]) => {
    const other = b.fields.get(name);
    return other !== undefined && sameFieldTree(tree, other);
  });
}

/**
 * True if everything at a stored path is included, wherever arrays occur on the way. A step that is a number may be the
 * position of an element or the name of a field: both readings must be included.
 */
export function fieldTreeIncludesPath(tree: FieldTree, path: string): boolean {
  return treeCoversSteps(tree, splitPath(path));
}

/** The same for a path as a list of steps, which may contain dots. */
export function treeCoversSteps(tree: FieldTree, steps: readonly string[]): boolean {
  const names = steps.filter((step) => !isArrayPosition(step));
  return whole(at(tree, steps)) && (names.length === steps.length || whole(at(tree, names)));
}

/** True if something at a stored path may be included. */
export function mayIncludePath(tree: FieldTree, path: string): boolean {
  const steps = splitPath(path);
  return (
    at(tree, steps) !== EMPTY_FIELD_TREE ||
    at(
      tree,
      steps.filter((step) => !isArrayPosition(step)),
    ) !== EMPTY_FIELD_TREE
  );
}

const whole = (tree: FieldTree): boolean => tree === FULL_FIELD_TREE;

function at(tree: FieldTree, steps: readonly string[]): FieldTree {
  return steps.reduce(childFieldTree, tree);
}

/** The document with the fields of the tree, in their order. The same object when that is all of it. */
export function selectFields(document: EmbeddedDocument, tree: FieldTree): EmbeddedDocument {
  return tree === FULL_FIELD_TREE ? document : cutFields(document, tree);
}

function cutFields(node: EmbeddedDocument, tree: FieldTree): EmbeddedDocument {
  const kept: [string, unknown][] = [];
  for (const [name, value] of Object.entries(node)) {
    const rule = childFieldTree(tree, name);
    const shown = rule === FULL_FIELD_TREE ? value : keepSelectedFields(value, rule);
    if (shown !== undefined) kept.push([name, shown]);
  }
  return Object.fromEntries(kept);
}

/** The part of a value that is included; undefined when there is none. */
export function keepSelectedFields(value: unknown, tree: FieldTree): unknown {
  if (tree === FULL_FIELD_TREE) return value;
  if (tree === EMPTY_FIELD_TREE) return undefined;
  if (Array.isArray(value)) return value.map((one) => keepSelectedFields(one, tree)).filter((one) => one !== undefined);
  if (isEmbeddedDocument(value)) return cutFields(value, tree);
  return tree.rest ? value : undefined;
}
