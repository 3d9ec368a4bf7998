/**
 * The interface to mail. Implementations: smtp-mail.ts, and log-mail.ts for development; both pass test/suites/mail.ts.
 */

export interface Letter {
  readonly to: string;
  readonly subject: string;
  /** Plain text. */
  readonly text: string;
  /** The same as HTML; missing for text alone. */
  readonly html?: string;
}

export interface Mail {
  /**
   * Resolves when the letter has been accepted for delivery.
   * @throws LetterNotSent
   */
  send(letter: Letter): Promise<void>;
  close(): void;
}

/** A letter that was not accepted. Its message is for those who run the server, and repeats nothing of the letter. */
export class LetterNotSent extends Error {
  override readonly name = 'LetterNotSent';
  /** True if it would be refused again: the server said so (RFC 5321 section 4.2.1), or there is none. */
  readonly isFinal: boolean;

  constructor(reason: string, isFinal: boolean, cause?: unknown) {
    super(reason, { cause });
    this.isFinal = isFinal;
  }
}
