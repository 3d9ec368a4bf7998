/**
 * The working state of a patch on one document: the copied nodes, which may be changed in place, and the remaining
 * budget of work. A node is copied once per patch, however many of its fields change, because copying a wide node takes
 * longer than everything else. A failed patch needs no rollback: its copies are discarded.
 */
import { MillraceError } from '../../lib/errors.ts';
import { isPlainObject } from '../../lib/plain-object.ts';
import { BsonTypePreserver } from '../write/bson-type-preservation.ts';
import { invalidPatch } from './patch-limits.ts';

/** Bytes (about) that a patch may add to a document by copying: no document is larger than this. */
const MAX_GROWTH = 16 * 1024 * 1024;
/** Bytes (about) that a patch may read and copy in memory. */
const MAX_WORK = 64 * 1024 * 1024;
/** Bytes counted for a value besides its text. */
const CELL = 8;

export type DraftObject = Record<string, unknown>;
export type DraftNode = unknown[] | DraftObject;

export interface ValueSize {
  /** Levels of nesting: 0 for a scalar. */
  readonly depth: number;
  /** Number of values in it, including itself. */
  readonly cells: number;
  /** Approximate size in bytes. */
  readonly bytes: number;
}

export class WorkingCopy {
  /** Keeps the stored types of values that a patch writes to their old path unchanged. */
  readonly keeper = new BsonTypePreserver();
  /**
   * Nodes that this working copy may change in place: each has exactly one parent, another node of this set or the
   * root.
   */
  readonly #owned = new Set<unknown>();
  /** Sizes of nodes that have not changed since they were measured. */
  readonly #measures = new Map<unknown, ValueSize>();
  #growth = MAX_GROWTH;
  #spendWork = MAX_WORK;

  /** Bytes (about) of work done so far. */
  get spentWork(): number {
    return MAX_WORK - this.#spendWork;
  }

  /**
   * The node, or a copy of it, that may now be changed. Its parents up to the root must be owned as well, and must
   * contain the copy from now on. A size that was measured before is discarded.
   */
  toMutable<T extends DraftNode>(node: T): T;
  toMutable(node: DraftNode): DraftNode {
    this.spendWork(1);
    this.#measures.delete(node);
    if (this.#owned.has(node)) return node;
    const copy = Array.isArray(node) ? this.#copyArray(node) : this.#copyFields(node);
    this.#owned.add(copy);
    return copy;
  }

  /** Must be called before a value is put into a second position: a change in one of the two then copies again. */
  share(value: unknown): void {
    // Everything inside an unowned node is unowned, so the walk can stop here. Each owned node that it visits was
    // copied before, so the walk is not longer than the copying was.
    if (!this.#owned.delete(value)) return;
    for (const item of innerOf(value) ?? []) this.share(item);
  }

  /** Counts the bytes that a copy adds. */
  grow(bytes: number): void {
    this.#growth -= bytes;
    if (this.#growth < 0) throw new MillraceError('document-too-large', 'The patch makes the document too large');
  }

  /** Counts visited or moved cells. */
  spendWork(cells: number): void {
    this.#spendWork -= cells * CELL;
    if (this.#spendWork < 0) throw invalidPatch('The patch is too large to apply', 'Send it in several requests');
  }

  /** Counts tests that may each scan a whole value. */
  request(queries: number, value: unknown): void {
    this.spendWork((queries * this.measure(value).bytes) / CELL);
  }

  /** The depth and size of a value; measuring counts as work, but only once for unchanged values. */
  measure(value: unknown): ValueSize {
    this.spendWork(1);
    if (typeof value === 'string') return { depth: 0, cells: 1, bytes: CELL + value.length };
    const known = this.#measures.get(value);
    if (known !== undefined) return known;
    const inner = innerOf(value);
    if (inner === null) return { depth: 0, cells: 1, bytes: 2 * CELL };
    let depth = 0;
    let cells = 1;
    let bytes = CELL;
    for (const item of inner) {
      const measured = this.measure(item);
      depth = Math.max(depth, measured.depth);
      cells += measured.cells;
      bytes += measured.bytes;
    }
    const measure = { depth: depth + 1, cells, bytes };
    this.#measures.set(value, measure);
    return measure;
  }

  #copyArray(array: readonly unknown[]): unknown[] {
    this.spendWork(array.length);
    return array.slice();
  }

  /** Without a prototype, so that every name is an ordinary field. A loop takes half the time of Object.assign. */
  #copyFields(fields: DraftObject): DraftObject {
    const names = Object.keys(fields);
    this.spendWork(2 * names.length);
    const copy: DraftObject = Object.create(null);
    for (const name of names) copy[name] = fields[name];
    return copy;
  }
}

function innerOf(value: unknown): readonly unknown[] | null {
  if (Array.isArray(value)) return value;
  return isPlainObject(value) ? Object.values(value) : null;
}
