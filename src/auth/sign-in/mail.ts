/**
 * The door to mail: what is asked of whatever sends it. Implementations: smtp-mail.ts, and log-mail.ts for development;
 * test/suites/mail.ts is what they have in common.
 */

export interface Letter {
  readonly to: string;
  readonly subject: string;
  /** Plain text. */
  readonly text: string;
}

export interface Mail {
  /** Resolves when it has been taken over; rejects when not. */
  send(letter: Letter): Promise<void>;
  close(): void;
}
