/** The texts of every e-mail in one language. Types only. */
import type { EmailKind, WayChange } from './email-types.ts';

/** A paragraph; `button` is the link, and `code` is the code. Texts may contain variables. */
export type Line = string | { readonly button: string } | { readonly code: string };

export interface Language {
  readonly emails: Readonly<
    Record<EmailKind, { readonly subject: string; readonly lines: readonly [Line, ...Line[]] }>
  >;
  readonly changes: Readonly<Record<WayChange, string>>;
}
