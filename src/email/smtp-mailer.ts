/** Sends e-mails by SMTP: the only file that uses nodemailer. */
import { createTransport } from 'nodemailer';
import { type Email, EmailNotSent, type Mailer } from './mailer.ts';

const TIMEOUT_MS = 10_000;
/** Concurrent connections. */
const CONNECTIONS = 2;

/** By the codes of nodemailer's errors. */
const REASONS: Readonly<Record<string, string>> = {
  EAUTH: 'The mail server rejected the user name or password of MILLRACE_SMTP_URL',
  EDNS: 'The host name of the mail server in MILLRACE_SMTP_URL cannot be resolved',
  ECONNECTION: 'The mail server of MILLRACE_SMTP_URL cannot be reached',
  ESOCKET: 'The mail server of MILLRACE_SMTP_URL cannot be reached, or does not speak TLS as smtps:// expects',
  ETIMEDOUT: 'The mail server of MILLRACE_SMTP_URL did not respond in time',
  ETLS: 'No encrypted connection to the mail server of MILLRACE_SMTP_URL could be established',
  EENVELOPE: 'The mail server rejected the sender (MILLRACE_EMAIL_FROM) or the recipient',
};

/**
 * @param url `smtp://user:password@host:port` or `smtps://…`
 * @param from the sender's e-mail address
 */
export function createSmtpMailer(url: string, from: string): Mailer {
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
    send: async ({ to, subject, text, html }: Email) => {
      const parts = { subject, text, ...(html === undefined ? {} : { html }) };
      // So that no autoresponder replies (RFC 3834 section 5).
      const headers = { 'auto-submitted': 'auto-generated' };
      // An object is always one address; a string could be a list of them.
      const sent = transport.sendMail({ to: { name: '', address: to }, headers, ...parts });
      await sent.catch((cause: unknown) => {
        throw notSent(cause);
      });
    },
    close: () => transport.close(),
  };
}

/** Without the words of the server: they may repeat what was sent. */
function notSent(cause: unknown): EmailNotSent {
  const { code, responseCode } = (cause ?? {}) as { readonly code?: unknown; readonly responseCode?: unknown };
  const reason = REASONS[String(code)] ?? 'The mail server did not accept the e-mail';
  if (typeof responseCode !== 'number') return new EmailNotSent(reason, false, cause);
  // A wrong password is fixed by a restart, which finds the e-mail still queued.
  const isFinal = responseCode >= 500 && code !== 'EAUTH';
  return new EmailNotSent(`${reason} (SMTP ${responseCode})`, isFinal, cause);
}
