/** A mail server for tests whose letters are parsed as a mail program would. It can refuse recipients. Not here: raw conversations (smtp.ts). */
import PostalMime, { type Email } from 'postal-mime';
import { SMTPServer } from 'smtp-server';
import type { Test } from 'tap';
import { until } from '../until.ts';

export interface TestMailbox {
  readonly url: string;
  /** All letters that were taken, oldest first. */
  readonly letters: readonly Email[];
  /** Recipients that are refused, with the code of the answer (RFC 5321 section 4.2). */
  readonly refused: Map<string, number>;
  /** How often a recipient was named. */
  tries(to: string): number;
  /** The next letter to an address, with such a subject, that was not given out yet. */
  next(to: string, subject?: RegExp): Promise<Email>;
}

export async function testMailbox(t: Pick<Test, 'teardown'>): Promise<TestMailbox> {
  const letters: Email[] = [];
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
        PostalMime.parse(Buffer.concat(chunks)).then((letter) => {
          letters.push(letter);
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
    letters,
    refused,
    tries: (to) => named.filter((one) => one === to).length,
    next: async (to, subject = /./) => {
      const isWanted = (letter: Email) => letter.to?.[0]?.address === to && subject.test(letter.subject ?? '');
      const find = () => letters.find((letter) => !given.has(letter) && isWanted(letter));
      await until(() => find() !== undefined, `a letter to ${to}, ${subject}`);
      const letter = find();
      if (letter === undefined) throw new Error('The letter is gone');
      given.add(letter);
      return letter;
    },
  };
}

/** The link of a letter, by its text. */
export function linkIn({ text = '' }: Pick<Email, 'text'>): { readonly page: string; readonly token: string } {
  const [, page = '', token = ''] = /(https?:\/\/\S+)#([\w-]{43})/.exec(text) ?? [];
  return { page, token };
}

/** The code of a letter, as it stands there. */
export function codeIn({ text = '' }: Pick<Email, 'text'>): string {
  return /^\d{4} \d{4}$/m.exec(text)?.[0] ?? '';
}
