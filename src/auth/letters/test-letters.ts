/**
 * Letters that show an owner that mail works, or what a letter looks like; and in words why one was not taken. They do not
 * wait in the queue, because the owner waits for them. Not here: HTTP (admin/installation, admin/letters).
 */
import { MillraceError } from '../../kernel/errors.ts';
import type { User } from '../identity/user.ts';
import type { FilledLetter } from './letter-templates.ts';
import { LetterNotSent, type Mail } from './mail.ts';

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

export interface TestLettersParts {
  readonly way: MailWay;
  readonly mail: Mail;
  readonly singleUse: { isFirst(what: string, ms: number): Promise<boolean> };
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
  async send({ _id, email }: User, letter: FilledLetter): Promise<LetterVerdict> {
    const { way, mail, singleUse } = this.#parts;
    if (email === null) return { to: null, sent: false, verdict: 'Your account has no e-mail address' };
    if (way === 'none') return { to: email, sent: false, verdict: 'There is no mail server: set MILLRACE_SMTP_URL' };
    if (!(await singleUse.isFirst(`test-letter ${_id}`, LETTER_MS))) {
      throw new MillraceError('rate-limited', 'A test letter was sent a moment ago', {
        headers: { 'retry-after': String(LETTER_MS / 1_000) },
      });
    }
    try {
      await mail.send({ to: email, ...letter });
    } catch (error) {
      const verdict = error instanceof LetterNotSent ? error.message : 'The letter was not taken';
      return { to: email, sent: false, verdict };
    }
    const verdict =
      way === 'terminal'
        ? 'Printed at the terminal of the server: in development mode no letter is sent'
        : 'The mail server has taken the letter. Look into your mailbox, and into its spam folder';
    return { to: email, sent: true, verdict };
  }
}
