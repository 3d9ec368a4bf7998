/** Mail through a server that speaks SMTP, by nodemailer: the only file that knows it. */
import { createTransport } from 'nodemailer';
import { type Letter, LetterNotSent, type Mail } from './mail.ts';

const TIMEOUT_MS = 10_000;
/** Connections at once. */
const CONNECTIONS = 2;

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
    send: async ({ to, subject, text, html }: Letter) => {
      const parts = { subject, text, ...(html === undefined ? {} : { html }) };
      // So that no answering machine answers (RFC 3834 section 5).
      const headers = { 'auto-submitted': 'auto-generated' };
      // An object is one address whatever its text holds; a string could be a list of them.
      const sent = transport.sendMail({ to: { name: '', address: to }, headers, ...parts });
      await sent.catch((cause: unknown) => {
        throw notSent(cause);
      });
    },
    close: () => transport.close(),
  };
}

/** Without the words of the server: they may repeat what was sent. */
function notSent(cause: unknown): LetterNotSent {
  const { code, responseCode } = (cause ?? {}) as { readonly code?: unknown; readonly responseCode?: unknown };
  const reason = REASONS[String(code)] ?? 'The mail server did not take the letter';
  if (typeof responseCode !== 'number') return new LetterNotSent(reason, false, cause);
  // A wrong password is mended by a restart, which finds the letter still waiting.
  const isFinal = responseCode >= 500 && code !== 'EAUTH';
  return new LetterNotSent(`${reason} (SMTP ${responseCode})`, isFinal, cause);
}
