/**
 * Dotted paths as MongoDB's update operators follow them: through embedded documents by name and through arrays by
 * position. Missing documents on the way are created. Pure. Names with a dot, those that start with `$` and empty ones
 * are written as in queries, `dependencies['socket.io']`.
 */
import { isPlain, setMember } from '../../kernel/objects.ts';
import { compareText } from '../../query/evaluate/order.ts';
import { innerPath, stepsOf } from '../../query/paths.ts';
import type { PatchDraft } from './draft.ts';
import { checkChange, checkChangedPath, checkDepth, invalidPatch } from './patch-bounds.ts';

/** Nulls that fill an array up to a position after its end. */
const MAX_PADDING = 10_000;

export type PathSteps = readonly string[];

/** What becomes of the value at a path; `undefined` is a missing one. */
export interface PathChange {
  /** Whether a missing path comes into being; otherwise nothing happens. */
  readonly creates: boolean;
  /** True if a path through a scalar is skipped instead of refused. */
  readonly lenient?: boolean;
  /** The new value, or {@link REMOVED}. */
  readonly apply: (old: unknown, now: Date, draft: PatchDraft) => unknown;
}

/** A change at a moment. */
export type DatedChange = Omit<PathChange, 'apply'> & { readonly apply: (old: unknown) => unknown };

export const REMOVED = Symbol('removed');

/** @throws MillraceError `invalid-patch`, `unsupported-key` */
export function parseSteps(path: string): PathSteps {
  if (path.includes("['")) {
    const named = stepsOf(innerPath(path, 'invalid-patch'));
    checkChangedPath(named);
    return named;
  }
  const steps = path.split('.');
  checkChangedPath(steps);
  for (const step of steps) {
    if (step === '') throw invalidPatch(`'${path}' has an empty name in it`, "Such a member is named as a['']");
    if (step.startsWith('$')) throw invalidPatch(`'${path}' holds '${step}', which is written as ['${step}']`);
  }
  return steps;
}

/** By name, positions by number: the order in which MongoDB applies the paths of one update, and so adds members. */
export function compareSteps(a: PathSteps, b: PathSteps): number {
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
 * @throws MillraceError `invalid-patch` when a path leads through a scalar, `too-deep`
 */
export function changeAt(document: unknown, steps: PathSteps, change: DatedChange, draft: PatchDraft): unknown {
  if (change.creates) checkDepth(steps.length);
  return walk(document, steps, 0, change, draft);
}

function walk(node: unknown, steps: PathSteps, depth: number, change: DatedChange, draft: PatchDraft): unknown {
  if (node === undefined && !change.creates) return REMOVED;
  if (depth === steps.length) {
    const value = change.apply(node);
    if (value !== REMOVED && value !== node) checkChange(steps, value, draft.measure(value).depth);
    return value;
  }
  if (node === undefined) return walk(Object.create(null), steps, depth, change, draft);
  const step = steps[depth] ?? '';
  if (Array.isArray(node) && isPosition(step)) return walkArray(node, steps, depth, change, draft);
  if (!isPlain(node)) {
    if (change.lenient === true) return node;
    throw invalidPatch(`'${steps.slice(0, depth + 1).join('.')}' cannot be set: the value above it is not an object`);
  }
  draft.work(1);
  const old = Object.hasOwn(node, step) ? node[step] : undefined;
  const value = walk(old, steps, depth + 1, change, draft);
  // This holds also when the value was changed in place: then this node is owned already. No path of one update is a
  // part of another, so the node's size is not asked for again.
  if (value === old || (value === REMOVED && old === undefined)) return node;
  const changed = draft.own(node);
  if (value === REMOVED) delete changed[step];
  else setMember(changed, step, value);
  return changed;
}

function walkArray(node: unknown[], steps: PathSteps, depth: number, change: DatedChange, draft: PatchDraft): unknown {
  const index = Number(steps[depth]);
  const padding = index - node.length;
  if (padding >= 0 && !change.creates) return node;
  if (padding > MAX_PADDING) throw invalidPatch(`'${steps.join('.')}' is too far after the end of the array`);
  draft.work(1);
  const old: unknown = node[index];
  const value = walk(old, steps, depth + 1, change, draft);
  if (value === old && padding < 0) return node;
  draft.work(Math.max(0, padding));
  const changed = draft.own(node);
  while (changed.length < index) changed.push(null);
  changed[index] = value === REMOVED ? null : value;
  return changed;
}

function isPosition(step: string): boolean {
  return /^(?:0|[1-9]\d{0,8})$/.test(step);
}
