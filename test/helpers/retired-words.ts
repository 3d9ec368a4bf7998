/** Words of this project that a standard term of the field has replaced. */

/**
 * - `names`: file names, identifiers, and names in quotes or code (error codes, settings, routes, commands, labels).
 * - `prose`: these, and also running text: docs, comments, messages, test titles.
 */
export type Scope = 'names' | 'prose';

export interface RetiredWord {
  /** In lower case with blanks: `held bytes` matches `heldBytes`, `HELD_BYTES`, `held-bytes` and "held bytes". */
  readonly word: string;
  readonly use: string;
  readonly scope: Scope;
  /** Files in which the word may still stand, such as names of third parties. */
  readonly allowed?: RegExp;
}

export const RETIRED_WORDS: readonly RetiredWord[] = [];
