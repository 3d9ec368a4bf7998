/** Parses a pattern: into the text for the server's engine, without flags and shorthands, and into what it matches. */
import { QUERY_LIMITS } from '../limits.ts';
import { invalidFilter } from '../operators.ts';
import { caseGroup } from './case-folding.ts';
import {
  CHARACTER_CLASS_SHORTHANDS,
  type CodePointRange,
  characterAsPattern,
  complementRanges,
  formatCharacterSet,
  withBothCases,
} from './code-point-sets.ts';
import {
  ASSERT_END,
  ASSERT_NOT_WORD_EDGE,
  ASSERT_START,
  ASSERT_WORD_EDGE,
  type PatternNode,
} from './pattern-program.ts';

const FLAGS = /^\(\?([is]{1,2})\)/;
const QUANTIFIER = /[*+?]|\{(\d{1,4})(?:(,)(\d{1,4})?)?\}/y;
const HEX = /x(?:([0-9A-Fa-f]{2})|\{([0-9A-Fa-f]{1,6})\})/y;
const CONTROLS: Readonly<Record<string, number>> = { t: 9, n: 10, v: 11, f: 12, r: 13 };
const ASSERTIONS: Readonly<Record<string, number>> = {
  b: ASSERT_WORD_EDGE,
  B: ASSERT_NOT_WORD_EDGE,
  A: ASSERT_START,
  z: ASSERT_END,
};

/** A part of a pattern. */
export interface PatternPart {
  /** As written for the server's engine. */
  readonly text: string;
  /** Maximum number of single characters it may match: its cost. */
  readonly weight: number;
  readonly node: PatternNode;
}

/**
 * Parses a whole pattern.
 * @throws MillraceError `invalid-filter`
 */
export function readPattern(pattern: string): PatternPart {
  if (pattern.length > QUERY_LIMITS.patternLength) {
    throw invalidFilter(`A pattern has at most ${QUERY_LIMITS.patternLength} characters`);
  }
  if (!pattern.isWellFormed()) throw patternNotAllowed('it contains half of a surrogate pair');
  const flags = FLAGS.exec(pattern)?.[1] ?? '';
  const start = flags === '' ? 0 : flags.length + 3;
  return new PatternReader(pattern, start, flags.includes('i'), flags.includes('s')).readAll();
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

  readAll(): PatternPart {
    const all = this.#readAlternatives();
    if (this.#at < this.#pattern.length) throw patternNotAllowed('a closing parenthesis has no opening one');
    if (all.weight > QUERY_LIMITS.patternRepeats) throw patternNotAllowed('it has too many repetitions');
    return all;
  }

  #readAlternatives(): PatternPart {
    const parts = [this.#readSequence()];
    while (this.#take('|')) parts.push(this.#readSequence());
    return {
      text: parts.map((part) => part.text).join('|'),
      weight: sum(parts),
      node: together('alternatives', parts),
    };
  }

  #readSequence(): PatternPart {
    const parts: PatternPart[] = [];
    while (this.#at < this.#pattern.length && !'|)'.includes(this.#peek())) parts.push(this.#readRepeated());
    return { text: parts.map((part) => part.text).join(''), weight: sum(parts), node: together('sequence', parts) };
  }

  #readRepeated(): PatternPart {
    const character = this.#next();
    if (character === '^') return assertion('^', ASSERT_START);
    if (character === '$') return assertion('\\z', ASSERT_END);
    const assertions = character === '\\' ? ASSERTIONS[this.#peek()] : undefined;
    if (assertions !== undefined) return assertion(`\\${this.#next()}`, assertions);
    const atom = this.#readAtom(character);
    QUANTIFIER.lastIndex = this.#at;
    const quantifier = QUANTIFIER.exec(this.#pattern);
    if (quantifier === null) return atom;
    this.#at += quantifier[0].length;
    this.#take('?'); // Which match is found first makes no difference to whether there is one.
    const [text, first, comma, last] = quantifier;
    if (last !== undefined && Number(last) < Number(first)) throw patternNotAllowed(`${text} counts from high to low`);
    const times = Math.max(1, Number(last ?? first ?? 1)) + (comma !== undefined && last === undefined ? 1 : 0);
    const from = first === undefined ? Number(text === '+') : Number(first);
    const to =
      text === '?'
        ? 1
        : first === undefined
          ? null
          : comma === undefined
            ? from
            : last === undefined
              ? null
              : Number(last);
    return {
      text: atom.text + text,
      weight: Math.max(1, atom.weight) * times,
      node: { kind: 'repeat', part: atom.node, from, to },
    };
  }

  #readAtom(character: string): PatternPart {
    switch (character) {
      case '(':
        return this.#readGroup();
      case '[':
        return this.#readClass();
      case '.':
        return { text: this.#dotAll ? '(?s:.)' : '[^\\n]', weight: 1, node: setOf(this.#dotAll ? ANY : NOT_NEWLINE) };
      case '*':
      case '+':
      case '?':
      case '{':
        throw patternNotAllowed(`'${character}' has nothing to repeat; a literal one is written \\${character}`);
      case '\\': {
        const ranges = this.#readEscape();
        const [code, last] = ranges[0] ?? [0, 0];
        if (ranges.length > 1 || code !== last)
          return { text: formatCharacterSet(ranges), weight: 1, node: setOf(ranges) };
        return this.#character(String.fromCodePoint(code));
      }
      default:
        return this.#character(character);
    }
  }

  #character(character: string): PatternPart {
    const code = character.codePointAt(0) ?? 0;
    const codes = this.#fold ? caseGroup(code) : [code];
    const node = setOf(codes.map((one) => [one, one]));
    return { text: characterAsPattern(character, this.#fold), weight: 1, node };
  }

  #readGroup(): PatternPart {
    if (this.#take('?') && !this.#take(':'))
      throw patternNotAllowed("a group is '(' or '(?:'; flags, (?i) and (?s), come first");
    const inner = this.#readAlternatives();
    if (!this.#take(')')) throw patternNotAllowed('a parenthesis is not closed');
    return { ...inner, text: `(?:${inner.text})` };
  }

  #readClass(): PatternPart {
    const negated = this.#take('^');
    const ranges: CodePointRange[] = [];
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
    if (ranges.length === 0) throw patternNotAllowed("a class is empty; a literal ']' is written \\]");
    const set = this.#fold ? withBothCases(ranges) : ranges;
    return { text: formatCharacterSet(set, negated), weight: 1, node: setOf(negated ? complementRanges(set) : set) };
  }

  #readClassItem(): readonly CodePointRange[] {
    const character = this.#next();
    if (character === '') throw patternNotAllowed('a class is not closed');
    if (character === '[') throw patternNotAllowed("'[' in a class is written \\[; named classes are not supported");
    if (character === '\\') return this.#readEscape();
    const code = character.codePointAt(0) ?? 0;
    return [[code, code]];
  }

  /** What an escape matches: one character, or the set of a shorthand. */
  #readEscape(): readonly CodePointRange[] {
    HEX.lastIndex = this.#at;
    const hex = HEX.exec(this.#pattern);
    if (hex !== null) {
      this.#at += hex[0].length;
      return single(Number.parseInt(hex[1] ?? hex[2] ?? '', 16));
    }
    const character = this.#next();
    const shorthand = CHARACTER_CLASS_SHORTHANDS[character.toLowerCase()];
    if (shorthand !== undefined) return character === character.toLowerCase() ? shorthand : complementRanges(shorthand);
    const control = CONTROLS[character];
    if (control !== undefined) return single(control);
    if (/^[!-/:-@[-`{-~]$/.test(character)) return single(character.charCodeAt(0));
    throw patternNotAllowed(`'\\${character}' is not supported`);
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

const ANY: readonly CodePointRange[] = complementRanges([]);
const NOT_NEWLINE: readonly CodePointRange[] = complementRanges([[0x0a, 0x0a]]);

const setOf = (ranges: readonly CodePointRange[]): PatternNode => ({ kind: 'set', ranges });

const assertion = (text: string, assertions: number): PatternPart => ({
  text,
  weight: 0,
  node: { kind: 'place', assertions },
});

function together(kind: 'sequence' | 'alternatives', parts: readonly PatternPart[]): PatternNode {
  return { kind, parts: parts.map(({ node }) => node) };
}

const sum = (parts: readonly PatternPart[]): number => parts.reduce((total, part) => total + part.weight, 0);

function single(code: number): readonly CodePointRange[] {
  if (code > 0x10ffff || (code >= 0xd800 && code < 0xe000))
    throw patternNotAllowed('it refers to a character that does not exist');
  return [[code, code]];
}

function rangeOf(from: readonly CodePointRange[], to: readonly CodePointRange[]): CodePointRange {
  const first = from[0]?.[0] ?? 0;
  const last = to[0]?.[1] ?? 0;
  const isOne = (ranges: readonly CodePointRange[]): boolean =>
    ranges.length === 1 && ranges[0]?.[0] === ranges[0]?.[1];
  if (!isOne(from) || !isOne(to)) throw patternNotAllowed('a shorthand cannot be the end of a range');
  if (last < first) throw patternNotAllowed('a range in a class runs backwards');
  return [first, last];
}

/** The error for a pattern that is not allowed. */
export function patternNotAllowed(reason: string): Error {
  return invalidFilter(`The pattern is not allowed: ${reason}`);
}
