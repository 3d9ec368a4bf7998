/**
 * The mailer interface. Implementations: smtp-mailer.ts, and `createConsoleMailer` for development; both pass
 * test/suites/mail.ts.
 */

export interface Email {
  readonly to: string;
  readonly subject: string;
  /** Plain text. */
  readonly text: string;
  /** The same as HTML; missing for plain text. */
  readonly html?: string;
}

export interface Mailer {
  /**
   * Resolves when the letter has been accepted for delivery.
   * @throws EmailNotSent
   */
  send(email: Email): Promise<void>;
  close(): void;
}

/** An e-mail that was not accepted. Its message is for administrators, and repeats nothing of the e-mail. */
export class EmailNotSent extends Error {
  override readonly name = 'EmailNotSent';
  /** True if it would be rejected again: the server said so (RFC 5321 section 4.2.1), or there is none. */
  readonly isFinal: boolean;

  constructor(reason: string, isFinal: boolean, cause?: unknown) {
    super(reason, { cause });
    this.isFinal = isFinal;
  }
}
