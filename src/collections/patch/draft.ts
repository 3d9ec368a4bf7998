/**
 * A patch at work on one document: the nodes it has copied, which it alone holds and may change in place, and how much it
 * may still use up. A node is copied once in a patch, however many of its members change: copying a wide one takes
 * longer than everything else. Nothing is undone when a patch fails, because its copies go with it.
 */

import { MillraceError } from '../../kernel/errors.ts';
import { isPlain } from '../../kernel/objects.ts';
import { TypeKeeper } from '../change/kept-types.ts';
import { invalidPatch } from './patch-bounds.ts';

/** How much a patch may add to a document by copying, in bytes (about): no document is larger than this. */
const MAX_GROWTH = 16 * 1024 * 1024;
/** How much a patch may look at and copy in memory, in bytes (about). */
const MAX_WORK = 64 * 1024 * 1024;
/** Bytes that a value counts beside its text. */
const CELL = 8;

export type DraftMembers = Record<string, unknown>;
export type Node = unknown[] | DraftMembers;

export interface Measure {
  /** Levels of nesting: 0 for a scalar. */
  readonly depth: number;
  /** Values in it, itself among them. */
  readonly cells: number;
  /** Size in bytes, about. */
  readonly bytes: number;
}

export class PatchDraft {
  /** Keeps the types of what is put where it was. */
  readonly keeper = new TypeKeeper();
  /** Nodes that stand in one place only, in a node of this set or at the top. */
  readonly #owned = new Set<unknown>();
  /** Of nodes that nobody has changed since. */
  readonly #measures = new Map<unknown, Measure>();
  #growth = MAX_GROWTH;
  #work = MAX_WORK;

  /** What has been worked so far, in bytes (about). */
  get worked(): number {
    return MAX_WORK - this.#work;
  }

  /**
   * The node, or a copy of it, that may be changed now. What it stands in must be owned as well, up to the top, and hold
   * the copy from now on. A size that was measured before is forgotten.
   */
  own<T extends Node>(node: T): T;
  own(node: Node): Node {
    this.work(1);
    this.#measures.delete(node);
    if (this.#owned.has(node)) return node;
    const copy = Array.isArray(node) ? this.#copyArray(node) : this.#copyMembers(node);
    this.#owned.add(copy);
    return copy;
  }

  /** Says that a value is about to stand in a second place, so that a change in one of them needs a copy again. */
  share(value: unknown): void {
    // What is inside an unowned node is unowned; and what was walked through here has cost a copy before.
    if (!this.#owned.delete(value)) return;
    for (const item of innerOf(value) ?? []) this.share(item);
  }

  /** Counts the bytes that a copy adds. */
  grow(bytes: number): void {
    this.#growth -= bytes;
    if (this.#growth < 0) throw new MillraceError('document-too-large', 'The patch makes the document too large');
  }

  /** Counts cells that are visited or moved. */
  work(cells: number): void {
    this.#work -= cells * CELL;
    if (this.#work < 0) throw invalidPatch('The patch is too large to apply', 'Send it in several requests');
  }

  /** Counts questions that each may look at a whole value. */
  ask(questions: number, value: unknown): void {
    this.work((questions * this.measure(value).bytes) / CELL);
  }

  /** The depth and size of a value; measuring counts as work, but only once for what stays as it is. */
  measure(value: unknown): Measure {
    this.work(1);
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
    this.work(array.length);
    return array.slice();
  }

  /** Without a prototype, so that every name is an ordinary member; by hand, which takes half of Object.assign's time. */
  #copyMembers(members: DraftMembers): DraftMembers {
    const names = Object.keys(members);
    this.work(2 * names.length);
    const copy: DraftMembers = Object.create(null);
    for (const name of names) copy[name] = members[name];
    return copy;
  }
}

function innerOf(value: unknown): readonly unknown[] | null {
  if (Array.isArray(value)) return value;
  return isPlain(value) ? Object.values(value) : null;
}
