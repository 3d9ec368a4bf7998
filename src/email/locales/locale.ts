/** The texts of every e-mail in one language. Types only. */
import type { EmailKind, SignInMethodChange } from './email-types.ts';

/** A paragraph; `button` is the link, and `code` is the code. Texts may contain variables. */
export type EmailParagraph = string | { readonly button: string } | { readonly code: string };

export interface EmailTexts {
  readonly emails: Readonly<
    Record<EmailKind, { readonly subject: string; readonly lines: readonly [EmailParagraph, ...EmailParagraph[]] }>
  >;
  readonly changes: Readonly<Record<SignInMethodChange, string>>;
}
