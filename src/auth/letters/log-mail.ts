/** Mail that is printed instead of sent: in development the terminal is the mailbox. Never in production. */
import type { Letter, Mail } from './mail.ts';

/** @param print writes one message for the person at the terminal */
export function logMail(print: (message: string) => void): Mail {
  return {
    send: async ({ to, subject, text }: Letter) => print(`Mail to ${line(to)}: ${line(subject)}\n${text}`),
    close: () => {},
  };
}

/** As a header would hold it. */
function line(value: string): string {
  return value.replace(/[\r\n]+/g, ' ');
}
