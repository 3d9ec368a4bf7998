/**
 * The working state of a patch on one document: the nodes it has copied, which belong to it alone and may be changed in
 * place, and how much work it may still do. A node is copied once per patch, however many of its members change,
 * because copying a wide node takes longer than everything else. Nothing needs to be undone when a patch fails: its
 * copies are thrown away.
 */
import { MillraceError } from '../../kernel/errors.ts';
import { isPlain } from '../../kernel/objects.ts';
import { TypeKeeper } from '../change/kept-types.ts';
import { invalidPatch } from './patch-bounds.ts';

/** How much a patch may add to a document by copying, in bytes (about): no document is larger than this. */
const MAX_GROWTH = 16 * 1024 * 1024;
/** How much a patch may look at and copy in memory, in bytes (about). */
const MAX_WORK = 64 * 1024 * 1024;
/** Bytes that a value counts, besides its text. */
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
  /** Keeps the stored types of values that a patch writes to their old place unchanged. */
  readonly keeper = new TypeKeeper();
  /**
   * Nodes that this draft may change in place: each stands in one place only, in another node of this set or at the
   * top.
   */
  readonly #owned = new Set<unknown>();
  /** Sizes of nodes that have not changed since they were measured. */
  readonly #measures = new Map<unknown, Measure>();
  #growth = MAX_GROWTH;
  #work = MAX_WORK;

  /** What has been worked so far, in bytes (about). */
  get worked(): number {
    return MAX_WORK - this.#work;
  }

  /**
   * The node, or a copy of it, that may be changed now. Its parents up to the top must be owned as well, and must hold
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

  /** Call this before a value is put into a second place: a change in one of the two places then makes a copy again. */
  share(value: unknown): void {
    // Everything inside an unowned node is unowned, so the walk can stop here. Each owned node walked through has cost
    // a copy before, so the walk is not longer than the copying was.
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

  /** Counts tests that may each look at a whole value. */
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

  /**
   * Without a prototype, so that every name is an ordinary member. By a loop, which takes half the time of
   * Object.assign.
   */
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
