/**
 * Dotted paths as MongoDB's update operators follow them: through embedded documents by name and through arrays by
 * position. Missing documents on the way are created. Pure. Names with a dot, a leading `$` or no characters are
 * written as in queries, `dependencies['socket.io']`.
 */
import { isPlainObject, setField } from '../../lib/plain-object.ts';
import { compareText } from '../../query/evaluate/bson-order.ts';
import { parseDocumentPath, splitPath } from '../../query/field-paths.ts';
import { checkChangedPath, checkDocumentDepth, checkNestingAndPrototype, invalidPatch } from './patch-limits.ts';
import type { WorkingCopy } from './working-copy.ts';

/** Maximum nulls that fill an array up to a position after its end. */
const MAX_PADDING = 10_000;

export type PathSteps = readonly string[];

/** The change of the value at a path; `undefined` is a missing value. */
export interface PathChange {
  /** Whether a missing path is created; otherwise nothing happens. */
  readonly creates: boolean;
  /** True if a path through a scalar is skipped instead of rejected. */
  readonly lenient?: boolean;
  /** The new value, or {@link REMOVED_VALUE}. */
  readonly apply: (old: unknown, now: Date, draft: WorkingCopy) => unknown;
}

/** A change at a point in time. */
export type PathChangeAtTime = Omit<PathChange, 'apply'> & { readonly apply: (old: unknown) => unknown };

export const REMOVED_VALUE = Symbol('removed');

/** @throws MillraceError `invalid-patch`, `unsupported-field-name` */
export function parsePathSteps(path: string): PathSteps {
  if (path.includes("['")) {
    const named = splitPath(parseDocumentPath(path, 'invalid-patch'));
    checkChangedPath(named);
    return named;
  }
  const steps = path.split('.');
  checkChangedPath(steps);
  for (const step of steps) {
    if (step === '') throw invalidPatch(`'${path}' has an empty name in it`, "Such a field is written as a['']");
    if (step.startsWith('$')) throw invalidPatch(`'${path}' contains '${step}', which is written as ['${step}']`);
  }
  return steps;
}

/** By name, positions by number: the order in which MongoDB applies the paths of one update, and so adds fields. */
export function comparePathSteps(a: PathSteps, b: PathSteps): number {
  const length = Math.min(a.length, b.length);
  for (let i = 0; i < length; i++) {
    const x = a[i] ?? '';
    const y = b[i] ?? '';
    const order = isPosition(x) && isPosition(y) ? Number(x) - Number(y) : compareText(x, y);
    if (order !== 0) return order;
  }
  return a.length - b.length;
}

/**
 * The document with the value at a path changed; everything else stays as it was.
 * @throws MillraceError `invalid-patch` when a path leads through a scalar, `json-too-deep`
 */
export function changeAtPath(
  document: unknown,
  steps: PathSteps,
  change: PathChangeAtTime,
  draft: WorkingCopy,
): unknown {
  if (change.creates) checkDocumentDepth(steps.length);
  return walk(document, steps, 0, change, draft);
}

function walk(node: unknown, steps: PathSteps, depth: number, change: PathChangeAtTime, draft: WorkingCopy): unknown {
  if (node === undefined && !change.creates) return REMOVED_VALUE;
  if (depth === steps.length) {
    const value = change.apply(node);
    if (value !== REMOVED_VALUE && value !== node) checkNestingAndPrototype(steps, value, draft.measure(value).depth);
    return value;
  }
  if (node === undefined) return walk(Object.create(null), steps, depth, change, draft);
  const step = steps[depth] ?? '';
  if (Array.isArray(node) && isPosition(step)) return walkArray(node, steps, depth, change, draft);
  if (!isPlainObject(node)) {
    if (change.lenient === true) return node;
    throw invalidPatch(`'${steps.slice(0, depth + 1).join('.')}' cannot be set: the value above it is not an object`);
  }
  draft.spendWork(1);
  const old = Object.hasOwn(node, step) ? node[step] : undefined;
  const value = walk(old, steps, depth + 1, change, draft);
  // This also applies when the value was changed in place: then this node is owned already. No path of one update is
  // part of another, so the node's size is not needed again.
  if (value === old || (value === REMOVED_VALUE && old === undefined)) return node;
  const changed = draft.toMutable(node);
  if (value === REMOVED_VALUE) delete changed[step];
  else setField(changed, step, value);
  return changed;
}

function walkArray(
  node: unknown[],
  steps: PathSteps,
  depth: number,
  change: PathChangeAtTime,
  draft: WorkingCopy,
): unknown {
  const index = Number(steps[depth]);
  const padding = index - node.length;
  if (padding >= 0 && !change.creates) return node;
  if (padding > MAX_PADDING) throw invalidPatch(`'${steps.join('.')}' is too far beyond the end of the array`);
  draft.spendWork(1);
  const old: unknown = node[index];
  const value = walk(old, steps, depth + 1, change, draft);
  if (value === old && padding < 0) return node;
  draft.spendWork(Math.max(0, padding));
  const changed = draft.toMutable(node);
  while (changed.length < index) changed.push(null);
  changed[index] = value === REMOVED_VALUE ? null : value;
  return changed;
}

function isPosition(step: string): boolean {
  return /^(?:0|[1-9]\d{0,8})$/.test(step);
}
