/**
 * A pattern as the steps of an automaton (Thompson's construction), in numbers, and the characters it distinguishes.
 */
import { CharacterEquivalenceClasses } from './character-equivalence-classes.ts';
import type { CodePointRange } from './code-point-sets.ts';

/** What a part of a pattern matches. */
export type PatternNode =
  /** One character of a set. */
  | { readonly kind: 'set'; readonly ranges: readonly CodePointRange[] }
  /** No character, at an assertion of this kind: flags of {@link ASSERT_START} and similar, which must all hold. */
  | { readonly kind: 'place'; readonly assertions: number }
  | { readonly kind: 'sequence' | 'alternatives'; readonly parts: readonly PatternNode[] }
  /** @property to null without an upper bound */
  | { readonly kind: 'repeat'; readonly part: PatternNode; readonly from: number; readonly to: number | null };

export const ASSERT_START = 1;
export const ASSERT_END = 2;
/** Between a letter, digit or underscore of ASCII and something else. */
export const ASSERT_WORD_EDGE = 4;
export const ASSERT_NOT_WORD_EDGE = 8;

/** Kinds of steps. */
const MATCH = 0;
export const SET_STEP = 1;
export const ASSERTION_STEP = 2;
export const SPLIT_STEP = 3;

export class PatternProgram {
  /** For each step: its kind, its set or its assertions, and the steps after it. The first one is the match. */
  readonly kinds: number[] = [MATCH];
  readonly details: number[] = [0];
  readonly nexts: number[] = [0];
  readonly others: number[] = [0];
  /** The first step of the pattern. */
  readonly first: number;
  readonly classes: CharacterEquivalenceClasses;
  /** For each set and class 1 if the class is in the set. */
  readonly sets: readonly Uint8Array[];
  readonly #most: number;
  readonly #ranges: (readonly CodePointRange[])[] = [];
  readonly #numbers = new Map<PatternNode, number>();

  /**
   * @param most maximum number of steps
   * @throws RangeError when it would have more
   */
  constructor(pattern: PatternNode, most: number) {
    this.#most = most;
    this.first = this.#build(pattern, 0);
    this.classes = new CharacterEquivalenceClasses(this.#ranges);
    this.sets = this.#ranges.map((one) => this.classes.fields(one));
  }

  get size(): number {
    return this.kinds.length;
  }

  /** The first step of a part that is followed by the step `next`. */
  #build(node: PatternNode, next: number): number {
    switch (node.kind) {
      case 'set':
        return this.#add(SET_STEP, this.#setOf(node), next, 0);
      case 'place':
        return this.#add(ASSERTION_STEP, node.assertions, next, 0);
      case 'sequence':
        return node.parts.reduceRight((after, part) => this.#build(part, after), next);
      case 'alternatives':
        return node.parts
          .map((part) => this.#build(part, next))
          .reduceRight((other, one) => this.#add(SPLIT_STEP, 0, one, other));
      case 'repeat':
        return this.#repeat(node, next);
      default:
        return node satisfies never;
    }
  }

  #repeat({ part, from, to }: Extract<PatternNode, { kind: 'repeat' }>, next: number): number {
    let after = next;
    if (to === null) {
      after = this.#add(SPLIT_STEP, 0, next, next);
      this.others[after] = this.#build(part, after);
    }
    for (let n = from; n < (to ?? from); n++) after = this.#add(SPLIT_STEP, 0, next, this.#build(part, after));
    for (let n = 0; n < from; n++) after = this.#build(part, after);
    return after;
  }

  /** The number of a set: a repeated part uses one set. */
  #setOf(node: Extract<PatternNode, { kind: 'set' }>): number {
    const number = this.#numbers.get(node) ?? this.#ranges.push(node.ranges) - 1;
    this.#numbers.set(node, number);
    return number;
  }

  #add(kind: number, detail: number, next: number, other: number): number {
    if (this.kinds.length >= this.#most) throw new RangeError('The pattern has too many steps');
    this.kinds.push(kind);
    this.details.push(detail);
    this.nexts.push(next);
    this.others.push(other);
    return this.kinds.length - 1;
  }

  /** Whether every path from the first step leads through the start of the text. */
  isAnchored(): boolean {
    const seen = new Set<number>();
    const open = [this.first];
    for (let at = open.pop(); at !== undefined; at = open.pop()) {
      if (seen.has(at)) continue;
      seen.add(at);
      const kind = this.kinds[at];
      if (kind === SET_STEP || kind === MATCH) return false;
      if (kind === SPLIT_STEP) open.push(this.others[at] ?? 0);
      if (kind === SPLIT_STEP || ((this.details[at] ?? 0) & ASSERT_START) === 0) open.push(this.nexts[at] ?? 0);
    }
    return true;
  }
}
