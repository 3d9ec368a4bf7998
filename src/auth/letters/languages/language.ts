/** What a file of this folder has to say: the words of every letter in one language. Shapes only. */
import type { LetterKind, WayChange } from './letter-kinds.ts';

/** A paragraph; `button` leads to the link, and `code` stands for itself. Words may name variables. */
export type Line = string | { readonly button: string } | { readonly code: string };

export interface Language {
  readonly letters: Readonly<
    Record<LetterKind, { readonly subject: string; readonly lines: readonly [Line, ...Line[]] }>
  >;
  readonly changes: Readonly<Record<WayChange, string>>;
}
