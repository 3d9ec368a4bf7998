/**
 * Test e-mails for administrators, which report in words why sending failed. They bypass the queue, because the
 * administrator waits for them.
 */
import type { User } from '../auth/identity/user.ts';
import { MillraceError } from '../lib/errors.ts';
import type { RenderedEmail } from './email-templates.ts';
import { EmailNotSent, type Mailer } from './mailer.ts';

/** Minimum interval between test e-mails to one user, in milliseconds. */
const EMAIL_MS = 10_000;

/** Where e-mails go: to a mail server, to the terminal in development mode, or nowhere. */
export type MailTransportKind = 'smtp' | 'terminal' | 'none';

export interface TestEmailResult {
  /** The e-mail address of the user; null when it has none. */
  readonly to: string | null;
  readonly sent: boolean;
  /** The result, in words. */
  readonly message: string;
}

export interface TestEmailsDeps {
  readonly way: MailTransportKind;
  readonly mail: Mailer;
  readonly oneTimeTokens: { isFirst(what: string, ms: number): Promise<boolean> };
}

export class TestEmailSender {
  readonly #deps: TestEmailsDeps;

  constructor(deps: TestEmailsDeps) {
    this.#deps = deps;
  }

  /** Where e-mails of this instance go. */
  get way(): MailTransportKind {
    return this.#deps.way;
  }

  /**
   * Sends an e-mail to the user's own address, and waits until a server has accepted it.
   * @throws MillraceError `rate-limited` right after another one
   */
  async send({ _id, email }: User, letter: RenderedEmail): Promise<TestEmailResult> {
    const { way, mail, oneTimeTokens } = this.#deps;
    if (email === null) return { to: null, sent: false, message: 'You have no e-mail address' };
    if (way === 'none') return { to: email, sent: false, message: 'No mail server is set: set MILLRACE_SMTP_URL' };
    if (!(await oneTimeTokens.isFirst(`test-letter ${_id}`, EMAIL_MS))) {
      throw new MillraceError('rate-limited', 'A test e-mail was sent a moment ago', {
        headers: { 'retry-after': String(EMAIL_MS / 1_000) },
      });
    }
    try {
      await mail.send({ to: email, ...letter });
    } catch (error) {
      const message = error instanceof EmailNotSent ? error.message : 'The e-mail was not accepted';
      return { to: email, sent: false, message };
    }
    const message =
      way === 'terminal'
        ? 'Printed in the terminal of the server: development mode does not send e-mails'
        : 'The mail server accepted the e-mail. Check your inbox and its spam folder';
    return { to: email, sent: true, message };
  }
}
