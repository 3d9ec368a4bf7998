/**
 * Which members of a document are shown, or may be set, as a tree that can be joined, narrowed and applied to a document
 * in memory. What policies allow and what `fields` ask for are both such a tree. Pure. Not here: how policies write it
 * (policies/fields/field-rules.ts), and how `fields` do (fields.ts).
 */
import { isPosition, stepsOf } from '../paths.ts';
import { isMembers, type Members } from './order.ts';

/**
 * One level of members: those with a rule of their own, and whether all others are included. In an array, a rule
 * applies to the documents in it. Always in its shortest form, so that equal rules are equal trees.
 */
export interface FieldTree {
  /** True if members without a rule of their own, and values without members, are included. */
  readonly rest: boolean;
  readonly members: ReadonlyMap<string, FieldTree>;
}

const NO_MEMBERS: ReadonlyMap<string, FieldTree> = new Map();

export const ALL: FieldTree = { rest: true, members: NO_MEMBERS };
export const NONE: FieldTree = { rest: false, members: NO_MEMBERS };

/** A level, in its shortest form. */
export function fieldTree(rest: boolean, members: ReadonlyMap<string, FieldTree>): FieldTree {
  const idle = rest ? ALL : NONE;
  const own = [...members].filter(([, tree]) => tree !== idle);
  if (own.length === 0) return idle;
  return { rest, members: new Map(own) };
}

/** The rule for one member of a level. */
export function childOf(tree: FieldTree, name: string): FieldTree {
  return tree.members.get(name) ?? (tree.rest ? ALL : NONE);
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
  const names = new Set(trees.flatMap(({ members }) => [...members.keys()]));
  const members = [...names].map((name) => [name, combine(trees.map((tree) => childOf(tree, name)))] as const);
  return fieldTree(decide(trees.map(({ rest }) => rest)), new Map(members));
}

export function sameTree(a: FieldTree, b: FieldTree): boolean {
  if (a === b) return true;
  if (a.rest !== b.rest || a.members.size !== b.members.size) return false;
  return [...a.members].every(([name, tree]) => {
    const other = b.members.get(name);
    return other !== undefined && sameTree(tree, other);
  });
}

/**
 * True if everything at a stored path is included, wherever arrays occur on the way. A step that is a number may be the
 * position of an element or the name of a member: both readings must be included.
 */
export function coversPath(tree: FieldTree, path: string): boolean {
  return coversSteps(tree, stepsOf(path));
}

/** The same for a path as a list of steps, which may hold dots. */
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

/** The document with the members of the tree, in their order. The same object when that is all of it. */
export function cutTo(document: Members, tree: FieldTree): Members {
  return tree === ALL ? document : cutMembers(document, tree);
}

function cutMembers(node: Members, tree: FieldTree): Members {
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
  if (isMembers(value)) return cutMembers(value, tree);
  return tree.rest ? value : undefined;
}
