/** Prints e-mails instead of sending them: in development the terminal is the mailbox. Never in production. */
import type { Email, Mailer } from './mailer.ts';

/** @param print writes one message for the person at the terminal */
export function createConsoleMailer(print: (message: string) => void): Mailer {
  return {
    send: async ({ to, subject, text }: Email) => print(`E-mail to ${line(to)}: ${line(subject)}\n${text}`),
    close: () => {},
  };
}

/** In the form of a header value. */
function line(value: string): string {
  return value.replace(/[\r\n]+/g, ' ');
}
