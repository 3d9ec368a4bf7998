/** A mail server for tests: accepts every e-mail and keeps the whole conversation. */
import { createServer, type Socket } from 'node:net';
import type { Test } from 'tap';

export interface TestSmtp {
  readonly url: string;
  /** Everything that clients have sent so far. */
  received(): string;
  /** Matches in it, each once: e-mails contain everything twice, as text and as HTML. */
  found(pattern: RegExp): RegExpExecArray[];
}

export async function testSmtp(t: Pick<Test, 'teardown'>): Promise<TestSmtp> {
  let said = '';
  const open = new Set<Socket>();
  const server = createServer((socket) => {
    open.add(socket);
    let email = false;
    let rest = '';
    socket.setEncoding('utf8').on('close', () => open.delete(socket));
    socket.on('error', () => socket.destroy());
    socket.write('220 test\r\n');
    socket.on('data', (chunk: string) => {
      said += chunk;
      rest += chunk;
      for (let end = rest.indexOf('\r\n'); end >= 0; end = rest.indexOf('\r\n')) {
        const line = rest.slice(0, end);
        rest = rest.slice(end + 2);
        if (email && line !== '.') continue;
        if (email) socket.write('250 taken\r\n');
        else socket.write(line === 'DATA' ? '354 go on\r\n' : line === 'QUIT' ? '221 bye\r\n' : '250 ok\r\n');
        email = line === 'DATA';
      }
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.teardown(() => {
    for (const socket of open) socket.destroy();
    server.close();
  });
  const address = server.address();
  const port = address !== null && typeof address === 'object' ? address.port : 0;
  // Removes the soft line breaks of the quoted-printable encoding, which are not part of the e-mail.
  const received = () => said.replaceAll('=\r\n', '').replaceAll('=3D', '=');
  return {
    url: `smtp://127.0.0.1:${port}`,
    received,
    found: (pattern) => [...new Map([...received().matchAll(pattern)].map((match) => [match[0], match])).values()],
  };
}
