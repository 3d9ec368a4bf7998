/** Mail through a server that speaks SMTP, by nodemailer: the only file that knows it. */
import { createTransport } from 'nodemailer';
import type { Letter, Mail } from './mail.ts';

const TIMEOUT_MS = 10_000;
/** Connections at once, and letters of one connection. */
const CONNECTIONS = 2;

/**
 * @param url `smtp://user:password@host:port` or `smtps://…`
 * @param from the sender's address
 */
export function smtpMail(url: string, from: string): Mail {
  const transport = createTransport(
    {
      url,
      pool: true,
      maxConnections: CONNECTIONS,
      connectionTimeout: TIMEOUT_MS,
      greetingTimeout: TIMEOUT_MS,
      socketTimeout: TIMEOUT_MS,
      disableFileAccess: true,
      disableUrlAccess: true,
    },
    { from },
  );
  return {
    // An object is one address whatever its text holds; a string could be a list of them.
    send: async ({ to, subject, text }: Letter) => {
      await transport.sendMail({ to: { name: '', address: to }, subject, text }).catch((cause: unknown) => {
        throw new Error('A letter was not sent', { cause });
      });
    },
    close: () => transport.close(),
  };
}
