/** A mail server for tests whose e-mails are parsed as a mail program would. It can reject recipients. */
import PostalMime, { type Email } from 'postal-mime';
import { SMTPServer } from 'smtp-server';
import type { Test } from 'tap';
import { until } from '../until.ts';

export interface TestMailbox {
  readonly url: string;
  /** All accepted e-mails, oldest first. */
  readonly emails: readonly Email[];
  /** Recipients that are rejected, with the code of the reply (RFC 5321 section 4.2). */
  readonly refused: Map<string, number>;
  /** How often a recipient occurred. */
  attempts(to: string): number;
  /** The next e-mail to an address, with this subject, that was not returned yet. */
  next(to: string, subject?: RegExp): Promise<Email>;
}

export async function testMailbox(t: Pick<Test, 'teardown'>): Promise<TestMailbox> {
  const emails: Email[] = [];
  const refused = new Map<string, number>();
  const named: string[] = [];
  const given = new Set<Email>();
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ['AUTH', 'STARTTLS'],
    onRcptTo: ({ address }, _session, done) => {
      named.push(address);
      const code = refused.get(address);
      if (code === undefined) return done();
      done(Object.assign(new Error('no such mailbox: the link is https://leak.example'), { responseCode: code }));
    },
    onData: (stream, _session, done) => {
      const chunks: Buffer[] = [];
      stream.on('data', (chunk: Buffer) => chunks.push(chunk));
      stream.on('end', () => {
        PostalMime.parse(Buffer.concat(chunks)).then((email) => {
          emails.push(email);
          done();
        }, done);
      });
    },
  });
  server.on('error', () => undefined);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', () => resolve()));
  t.teardown(() => new Promise<void>((resolve) => server.close(() => resolve())));
  const address = server.server.address();
  const port = address !== null && typeof address === 'object' ? address.port : 0;
  return {
    url: `smtp://127.0.0.1:${port}`,
    emails,
    refused,
    attempts: (to) => named.filter((one) => one === to).length,
    next: async (to, subject = /./) => {
      const isRequested = (email: Email) => email.to?.[0]?.address === to && subject.test(email.subject ?? '');
      const find = () => emails.find((email) => !given.has(email) && isRequested(email));
      await until(() => find() !== undefined, `an e-mail to ${to}, ${subject}`);
      const message = find();
      if (message === undefined) throw new Error('The e-mail is missing');
      given.add(message);
      return message;
    },
  };
}

/** The link in an e-mail, by its text. */
export function linkIn({ text = '' }: Pick<Email, 'text'>): { readonly page: string; readonly token: string } {
  const [, page = '', token = ''] = /(https?:\/\/\S+)#([\w-]{43})/.exec(text) ?? [];
  return { page, token };
}

/** The code in an e-mail, as written. */
export function codeIn({ text = '' }: Pick<Email, 'text'>): string {
  return /^\d{4} \d{4}$/m.exec(text)?.[0] ?? '';
}
