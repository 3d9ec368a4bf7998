/**
 * Patterns of the `regex` operator: the part of RE2's syntax that MongoDB's engine and RE2 read alike, checked and
 * rewritten without flags and shorthands. There are no back-references, no look-around and no Unicode classes: the
 * first two cannot run in linear time, the last depend on each engine's Unicode version.
 */
import { RE2JS } from 're2js';
import { LIMITS } from '../limits.ts';
import { invalidFilter } from '../operators.ts';
import { complement, type Range, SHORTHANDS, withBothCases, writeCharacter, writeSet } from './code-points.ts';

const FLAGS = /^\(\?([is]{1,2})\)/;
const QUANTIFIER = /[*+?]|\{(\d{1,4})(?:(,)(\d{1,4})?)?\}/y;
const HEX = /x(?:([0-9A-Fa-f]{2})|\{([0-9A-Fa-f]{1,6})\})/y;
const CONTROLS: Readonly<Record<string, number>> = { t: 9, n: 10, v: 11, f: 12, r: 13 };

/** A rewritten part, and how many single characters it may stand for at most: its cost. */
interface Part {
  readonly text: string;
  readonly weight: number;
}

/** The patterns of one filter while it is read: each is checked, and so is their total weight. */
export class Patterns {
  #repeats = 0;

  /**
   * Returns the pattern if both engines read it alike.
   * @throws MillraceError `invalid-filter`
   */
  check(pattern: string): string {
    const rewritten = rewrite(pattern);
    this.#repeats += rewritten.weight;
    if (this.#repeats > LIMITS.filterRepeats) {
      throw invalidFilter(
        'The patterns of the filter are too complex together',
        'Use fewer or simpler patterns, or plain texts',
      );
    }
    compile(rewritten.text);
    return pattern;
  }
}

/**
 * A linear-time matcher for the pattern.
 * @throws MillraceError `invalid-filter`
 */
export function compilePattern(pattern: string): RE2JS {
  return compile(rewritePattern(pattern));
}

function compile(rewritten: string): RE2JS {
  try {
    return RE2JS.compile(rewritten);
  } catch (cause) {
    throw refused('it is not valid RE2', cause);
  }
}

/**
 * The pattern as the server's engine and RE2 read it alike: `$` is the very end of the text, `\s` and its kin are
 * spelled out, and so is letter case under `(?i)`.
 * @throws MillraceError `invalid-filter`
 */
export function rewritePattern(pattern: string): string {
  return rewrite(pattern).text;
}

/**
 * How many single characters a pattern may stand for at most, repetitions spelled out.
 * @throws MillraceError `invalid-filter`
 */
export function patternWeight(pattern: string): number {
  return rewrite(pattern).weight;
}

function rewrite(pattern: string): Part {
  if (pattern.length > LIMITS.patternLength) {
    throw invalidFilter(`A pattern has at most ${LIMITS.patternLength} characters`);
  }
  if (!pattern.isWellFormed()) throw refused('it contains half of a surrogate pair');
  const flags = FLAGS.exec(pattern)?.[1] ?? '';
  const reader = new PatternReader(
    pattern,
    flags === '' ? 0 : flags.length + 3,
    flags.includes('i'),
    flags.includes('s'),
  );
  return reader.readAll();
}

class PatternReader {
  readonly #pattern: string;
  readonly #fold: boolean;
  readonly #dotAll: boolean;
  #at: number;

  constructor(pattern: string, start: number, fold: boolean, dotAll: boolean) {
    this.#pattern = pattern;
    this.#at = start;
    this.#fold = fold;
    this.#dotAll = dotAll;
  }

  readAll(): Part {
    const all = this.#readAlternatives();
    if (this.#at < this.#pattern.length) throw refused('a parenthesis closes that was not opened');
    if (all.weight > LIMITS.patternRepeats) throw refused('it has too many repetitions');
    return all;
  }

  #readAlternatives(): Part {
    const parts = [this.#readSequence()];
    while (this.#take('|')) parts.push(this.#readSequence());
    return { text: parts.map((part) => part.text).join('|'), weight: sum(parts) };
  }

  #readSequence(): Part {
    const parts: Part[] = [];
    while (this.#at < this.#pattern.length && !'|)'.includes(this.#peek())) parts.push(this.#readRepeated());
    return { text: parts.map((part) => part.text).join(''), weight: sum(parts) };
  }

  #readRepeated(): Part {
    const character = this.#next();
    if (character === '^') return { text: '^', weight: 0 };
    if (character === '$') return { text: '\\z', weight: 0 };
    if (character === '\\' && 'bBAz'.includes(this.#peek())) return { text: `\\${this.#next()}`, weight: 0 };
    const atom = this.#readAtom(character);
    QUANTIFIER.lastIndex = this.#at;
    const quantifier = QUANTIFIER.exec(this.#pattern);
    if (quantifier === null) return { text: atom.text, weight: atom.weight };
    this.#at += quantifier[0].length;
    this.#take('?'); // Which match is found first makes no difference to whether there is one.
    const [text, from, comma, to] = quantifier;
    if (to !== undefined && Number(to) < Number(from)) throw refused(`${text} counts from high to low`);
    const times = Math.max(1, Number(to ?? from ?? 1)) + (comma !== undefined && to === undefined ? 1 : 0);
    return { text: atom.text + text, weight: Math.max(1, atom.weight) * times };
  }

  #readAtom(character: string): Part {
    switch (character) {
      case '(':
        return this.#readGroup();
      case '[':
        return { text: this.#readClass(), weight: 1 };
      case '.':
        return { text: this.#dotAll ? '(?s:.)' : '[^\\n]', weight: 1 };
      case '*':
      case '+':
      case '?':
      case '{':
        throw refused(
          `'${character}' stands where there is nothing to repeat; a literal one is written \\${character}`,
        );
      case '\\': {
        const ranges = this.#readEscape();
        const [code, last] = ranges[0] ?? [0, 0];
        if (ranges.length > 1 || code !== last) return { text: writeSet(ranges), weight: 1 };
        return { text: writeCharacter(String.fromCodePoint(code), this.#fold), weight: 1 };
      }
      default:
        return { text: writeCharacter(character, this.#fold), weight: 1 };
    }
  }

  #readGroup(): Part {
    if (this.#take('?') && !this.#take(':')) throw refused("a group is '(' or '(?:'; flags, (?i) and (?s), come first");
    const inner = this.#readAlternatives();
    if (!this.#take(')')) throw refused('a parenthesis does not close');
    return { text: `(?:${inner.text})`, weight: inner.weight };
  }

  #readClass(): string {
    const negated = this.#take('^');
    const ranges: Range[] = [];
    while (!this.#take(']')) {
      const from = this.#readClassItem();
      const ranged = this.#peek() === '-' && this.#pattern[this.#at + 1] !== ']';
      if (!ranged) {
        ranges.push(...from);
        continue;
      }
      this.#at += 1;
      ranges.push(rangeOf(from, this.#readClassItem()));
    }
    if (ranges.length === 0) throw refused("a class is empty; a literal ']' is written \\]");
    return writeSet(this.#fold ? withBothCases(ranges) : ranges, negated);
  }

  #readClassItem(): readonly Range[] {
    const character = this.#next();
    if (character === '') throw refused('a class does not close');
    if (character === '[') throw refused("'[' in a class is written \\[; named classes are not known");
    if (character === '\\') return this.#readEscape();
    const code = character.codePointAt(0) ?? 0;
    return [[code, code]];
  }

  /** What an escape stands for: one character, or the set of a shorthand. */
  #readEscape(): readonly Range[] {
    HEX.lastIndex = this.#at;
    const hex = HEX.exec(this.#pattern);
    if (hex !== null) {
      this.#at += hex[0].length;
      return single(Number.parseInt(hex[1] ?? hex[2] ?? '', 16));
    }
    const character = this.#next();
    const shorthand = SHORTHANDS[character.toLowerCase()];
    if (shorthand !== undefined) return character === character.toLowerCase() ? shorthand : complement(shorthand);
    const control = CONTROLS[character];
    if (control !== undefined) return single(control);
    if (/^[!-/:-@[-`{-~]$/.test(character)) return single(character.charCodeAt(0));
    throw refused(`'\\${character}' is not known`);
  }

  #peek(): string {
    return this.#pattern[this.#at] ?? '';
  }

  /** The next whole character, or '' at the end. */
  #next(): string {
    const code = this.#pattern.codePointAt(this.#at);
    if (code === undefined) return '';
    const character = String.fromCodePoint(code);
    this.#at += character.length;
    return character;
  }

  #take(character: string): boolean {
    if (this.#peek() !== character) return false;
    this.#at += 1;
    return true;
  }
}

const sum = (parts: readonly Part[]): number => parts.reduce((total, part) => total + part.weight, 0);

function single(code: number): readonly Range[] {
  if (code > 0x10ffff || (code >= 0xd800 && code < 0xe000)) throw refused('it names a character that does not exist');
  return [[code, code]];
}

function rangeOf(from: readonly Range[], to: readonly Range[]): Range {
  const first = from[0]?.[0] ?? 0;
  const last = to[0]?.[1] ?? 0;
  const isOne = (ranges: readonly Range[]): boolean => ranges.length === 1 && ranges[0]?.[0] === ranges[0]?.[1];
  if (!isOne(from) || !isOne(to)) throw refused('a shorthand cannot be the end of a range');
  if (last < first) throw refused('a range in a class runs backwards');
  return [first, last];
}

function refused(reason: string, cause?: unknown): Error {
  const error = invalidFilter(`The pattern is not allowed: ${reason}`);
  if (cause !== undefined) error.cause = cause;
  return error;
}
