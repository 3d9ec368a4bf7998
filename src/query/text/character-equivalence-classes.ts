/**
 * Code points divided into classes that no set of a pattern distinguishes, so that an automaton needs one transition
 * for each class instead of one for each of 1.1 million characters. Letters, digits and underscores of ASCII are in
 * other classes than the rest: word boundaries are between them.
 */
import { CHARACTER_CLASS_SHORTHANDS, type CodePointRange } from './code-point-sets.ts';

export class CharacterEquivalenceClasses {
  /** Where each class but the first one begins, ascending. */
  readonly #bounds: Uint32Array;
  readonly #ascii: Uint16Array;
  readonly #words: Uint8Array;

  constructor(sets: readonly (readonly CodePointRange[])[]) {
    const words = CHARACTER_CLASS_SHORTHANDS['w'] ?? [];
    const bounds = new Set([...sets, words].flatMap((ranges) => ranges.flatMap(([from, to]) => [from, to + 1])));
    bounds.delete(0);
    this.#bounds = Uint32Array.from(bounds).sort();
    this.#ascii = Uint16Array.from({ length: 128 }, (_, code) => this.#searched(code));
    this.#words = this.fields(words);
  }

  /** The number of the end of a text: that of no class. */
  get end(): number {
    return this.#bounds.length + 1;
  }

  /** The class of a code point. */
  of(code: number): number {
    return this.#ascii[code] ?? this.#searched(code);
  }

  /** For each class 1 if it is in a set that was given to the constructor. */
  fields(ranges: readonly CodePointRange[]): Uint8Array {
    const fields = new Uint8Array(this.end);
    for (const [from, to] of ranges) fields.fill(1, this.of(from), this.of(to) + 1);
    return fields;
  }

  readonly isWord = (found: number): boolean => this.#words[found] === 1;

  #searched(code: number): number {
    let low = 0;
    let high = this.#bounds.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.#bounds[middle] ?? 0) <= code) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
