/**
 * Which fields of a document are included, or can be set, as a tree that can be combined, narrowed and applied to a
 * document in memory. Both the fields that policies allow and those that `fields` requests are such a tree. Pure.
 */
import { isPosition, stepsOf } from '../paths.ts';
import { type Fields, isFields } from './order.ts';

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

export const ALL: FieldTree = { rest: true, fields: NO_FIELDS };
export const NONE: FieldTree = { rest: false, fields: NO_FIELDS };

/** A level, in its shortest form. */
export function fieldTree(rest: boolean, fields: ReadonlyMap<string, FieldTree>): FieldTree {
  const idle = rest ? ALL : NONE;
  const own = [...fields].filter(([, tree]) => tree !== idle);
  if (own.length === 0) return idle;
  return { rest, fields: new Map(own) };
}

/** The rule for one field of a level. */
export function childOf(tree: FieldTree, name: string): FieldTree {
  return tree.fields.get(name) ?? (tree.rest ? ALL : NONE);
}

/** What is included in at least one of the trees. */
export function union(trees: readonly FieldTree[]): FieldTree {
  const [only] = trees;
  if (trees.length === 1 && only !== undefined) return only;
  return trees.includes(ALL) ? ALL : combined(trees, union, (rests) => rests.includes(true));
}

/** What is included in every one of the trees. */
export function intersection(trees: readonly FieldTree[]): FieldTree {
  const [only] = trees;
  if (trees.length === 1 && only !== undefined) return only;
  return trees.includes(NONE) ? NONE : combined(trees, intersection, (rests) => !rests.includes(false));
}

function combined(
  trees: readonly FieldTree[],
  combine: (trees: readonly FieldTree[]) => FieldTree,
  decide: (rests: readonly boolean[]) => boolean,
): FieldTree {
  const names = new Set(trees.flatMap(({ fields }) => [...fields.keys()]));
  const properties = [...names].map((name) => [name, combine(trees.map((tree) => childOf(tree, name)))] as const);
  return fieldTree(decide(trees.map(({ rest }) => rest)), new Map(properties));
}

export function sameTree(a: FieldTree, b: FieldTree): boolean {
  if (a === b) return true;
  if (a.rest !== b.rest || a.fields.size !== b.fields.size) return false;
  return [...a.fields].every(([name, tree]) => {
    const other = b.fields.get(name);
    return other !== undefined && sameTree(tree, other);
  });
}

/**
 * True if everything at a stored path is included, wherever arrays occur on the way. A step that is a number may be the
 * position of an element or the name of a field: both readings must be included.
 */
export function coversPath(tree: FieldTree, path: string): boolean {
  return coversSteps(tree, stepsOf(path));
}

/** The same for a path as a list of steps, which may contain dots. */
export function coversSteps(tree: FieldTree, steps: readonly string[]): boolean {
  const names = steps.filter((step) => !isPosition(step));
  return whole(at(tree, steps)) && (names.length === steps.length || whole(at(tree, names)));
}

/** True if something at a stored path may be included. */
export function touches(tree: FieldTree, path: string): boolean {
  const steps = stepsOf(path);
  return (
    at(tree, steps) !== NONE ||
    at(
      tree,
      steps.filter((step) => !isPosition(step)),
    ) !== NONE
  );
}

const whole = (tree: FieldTree): boolean => tree === ALL;

function at(tree: FieldTree, steps: readonly string[]): FieldTree {
  return steps.reduce(childOf, tree);
}

/** The document with the fields of the tree, in their order. The same object when that is all of it. */
export function cutTo(document: Fields, tree: FieldTree): Fields {
  return tree === ALL ? document : cutFields(document, tree);
}

function cutFields(node: Fields, tree: FieldTree): Fields {
  const kept: [string, unknown][] = [];
  for (const [name, value] of Object.entries(node)) {
    const rule = childOf(tree, name);
    const shown = rule === ALL ? value : cutValue(value, rule);
    if (shown !== undefined) kept.push([name, shown]);
  }
  return Object.fromEntries(kept);
}

/** The part of a value that is included; undefined when there is none. */
export function cutValue(value: unknown, tree: FieldTree): unknown {
  if (tree === ALL) return value;
  if (tree === NONE) return undefined;
  if (Array.isArray(value)) return value.map((one) => cutValue(one, tree)).filter((one) => one !== undefined);
  if (isFields(value)) return cutFields(value, tree);
  return tree.rest ? value : undefined;
}
