/**
 * Patterns of the `regex` operator: the part of RE2's syntax that MongoDB's engine and ours read identically. There are
 * no back-references, no look-around and no Unicode classes: the first two cannot run in linear time, the last depend
 * on an engine's Unicode version.
 */
import { QUERY_LIMITS } from '../limits.ts';
import { invalidFilter } from '../operators.ts';
import { Automaton } from './automaton.ts';
import { patternNotAllowed, readPattern } from './regex-parser.ts';

/** The patterns of one filter during parsing: each is checked, and so is their total weight. */
export class PatternValidator {
  #repeats = 0;

  /**
   * Returns the pattern if both engines read it identically.
   * @throws MillraceError `invalid-filter`
   */
  check(pattern: string): string {
    this.#repeats += patternWeight(pattern);
    if (this.#repeats > QUERY_LIMITS.filterRepeats) {
      throw invalidFilter(
        'The patterns of the filter are too complex together',
        'Use fewer or simpler patterns, or plain texts',
      );
    }
    compilePattern(pattern);
    return pattern;
  }
}

/**
 * A linear-time matcher for the pattern.
 * @throws MillraceError `invalid-filter`
 */
export function compilePattern(pattern: string): Automaton {
  const { node } = readPattern(pattern);
  try {
    return new Automaton(node, QUERY_LIMITS.patternSteps);
  } catch (error) {
    if (error instanceof RangeError) throw patternNotAllowed('it has too many alternatives and repetitions');
    throw error;
  }
}

/**
 * The pattern as the server's engine reads it like ours: `$` is the very end of the text, `\s` and similar are spelled
 * out, and so is letter case under `(?i)`.
 * @throws MillraceError `invalid-filter`
 */
export function rewritePattern(pattern: string): string {
  return readPattern(pattern).text;
}

/**
 * Maximum number of single characters that a pattern may match, repetitions spelled out.
 * @throws MillraceError `invalid-filter`
 */
export function patternWeight(pattern: string): number {
  return readPattern(pattern).weight;
}
