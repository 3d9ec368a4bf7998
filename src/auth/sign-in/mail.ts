/**
 * The interface to mail. Implementations: smtp-mail.ts, and log-mail.ts for development; both pass test/suites/mail.ts.
 */

export interface Letter {
  readonly to: string;
  readonly subject: string;
  /** Plain text. */
  readonly text: string;
}

export interface Mail {
  /** Resolves when the letter has been accepted for delivery; rejects when not. */
  send(letter: Letter): Promise<void>;
  close(): void;
}
