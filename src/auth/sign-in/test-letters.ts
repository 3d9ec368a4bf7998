/**
 * A letter that shows an owner that mail works, and in words why not. Not here: HTTP (admin/installation), and how letters
 * are sent (mail.ts).
 */
import { MillraceError } from '../../kernel/errors.ts';
import type { User } from '../identity/user.ts';
import { testLetter } from './letters.ts';
import type { Mail } from './mail.ts';
import type { SingleUse } from './single-use.ts';

/** One letter to one account within this time, in milliseconds. */
const LETTER_MS = 10_000;

/** What takes letters: a mail server, the terminal in development mode, or nothing. */
export type MailWay = 'smtp' | 'terminal' | 'none';

export interface LetterVerdict {
  /** The address of the account; null when it has none. */
  readonly to: string | null;
  readonly sent: boolean;
  /** What was found, in words. */
  readonly verdict: string;
}

/** By the codes of nodemailer's errors. */
const REASONS: Readonly<Record<string, string>> = {
  EAUTH: 'The mail server refused the user name or the password of MILLRACE_SMTP_URL',
  EDNS: 'The name of the mail server in MILLRACE_SMTP_URL is not known',
  ECONNECTION: 'The mail server of MILLRACE_SMTP_URL cannot be reached',
  ESOCKET: 'The mail server of MILLRACE_SMTP_URL cannot be reached, or does not speak TLS as smtps:// expects',
  ETIMEDOUT: 'The mail server of MILLRACE_SMTP_URL did not answer in time',
  ETLS: 'No encrypted connection to the mail server of MILLRACE_SMTP_URL could be made',
  EENVELOPE: 'The mail server refused the sender (MILLRACE_MAIL_FROM) or the recipient',
};

export interface TestLettersParts {
  readonly way: MailWay;
  readonly mail: Mail;
  readonly singleUse: Pick<SingleUse, 'isFirst'>;
  /** Where people reach this server. */
  readonly base: string;
}

export class TestLetters {
  readonly #parts: TestLettersParts;

  constructor(parts: TestLettersParts) {
    this.#parts = parts;
  }

  /** What takes letters here. */
  get way(): MailWay {
    return this.#parts.way;
  }

  /**
   * Sends a letter to the account's own address, and waits until a server has taken it.
   * @throws MillraceError `rate-limited` right after another one
   */
  async send({ _id, email }: User): Promise<LetterVerdict> {
    const { way, mail, singleUse, base } = this.#parts;
    if (email === null) return { to: null, sent: false, verdict: 'Your account has no e-mail address' };
    if (way === 'none') return { to: email, sent: false, verdict: 'There is no mail server: set MILLRACE_SMTP_URL' };
    if (!(await singleUse.isFirst(`test-letter ${_id}`, LETTER_MS))) {
      throw new MillraceError('rate-limited', 'A test letter was sent a moment ago', {
        headers: { 'retry-after': String(LETTER_MS / 1_000) },
      });
    }
    try {
      await mail.send(testLetter(email, base));
    } catch (error) {
      return { to: email, sent: false, verdict: reasonOf(error) };
    }
    const verdict =
      way === 'terminal'
        ? 'Printed at the terminal of the server: in development mode no letter is sent'
        : 'The mail server has taken the letter. Look into your mailbox, and into its spam folder';
    return { to: email, sent: true, verdict };
  }
}

/** Without the words of the server: they may repeat what was sent. */
function reasonOf(error: unknown): string {
  const cause = error instanceof Error ? error.cause : undefined;
  const { code, responseCode } = (cause ?? {}) as { readonly code?: unknown; readonly responseCode?: unknown };
  const reason = REASONS[String(code)] ?? 'The mail server did not take the letter';
  return typeof responseCode === 'number' ? `${reason} (SMTP ${responseCode})` : reason;
}
