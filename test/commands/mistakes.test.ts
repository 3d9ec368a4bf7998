/** Wrong arguments of `millrace webhooks` end in one clear line, before any request to a server. */
import { createServer } from 'node:http';
import t from 'tap';
import { webhooks } from '../../src/commands/webhooks.ts';
import { runWebhooks } from '../helpers/programs/webhooks-command.ts';

t.test('Wrong arguments of millrace webhooks end in one clear line.', async (t) => {
  const cases: readonly (readonly [readonly string[], RegExp])[] = [
    [['listen', 'x'], /^'x' is not a port: a number up to 65535$/],
    [['listen', '65536'], /^'65536' is not a port: a number up to 65535$/],
    [['listen', '8080', '9'], /^'9' is not expected here; see --help$/],
    [['listen', '--filter', '[1]'], /^--filter \[1\]: not a JSON object, such as .*$/],
    [['listen', '--filter', '{'], /^--filter \{: not a JSON object, such as .*$/],
    [['listen', '--since', '1-1'], /--since.*\nSee --help$/],
    [['endpoints', '--url', 'ftp://there'], /^--url ftp:\/\/there: The URL is not an http\(s\) URL with a host$/],
    [['resend'], /^DELIVERY is missing; see --help$/],
    [['replay', 'x'], /^--since is required: .*$/],
  ];
  for (const [words, message] of cases) await t.rejects(webhooks(words, {}), { message }, words.join(' '));
});

t.test('millrace webhooks --help shows the usage.', async (t) => {
  const text = /millrace webhooks listen[\s\S]*--forward[\s\S]*endpoints[\s\S]*resend[\s\S]*replay/;
  for (const words of [[], ['--help'], ['listen', '--help'], ['replay', '-h']]) {
    t.match(await webhooks(words, {}), { text }, words.join(' '));
  }
  t.match(await webhooks(['lissen'], {}), { text, failed: true });
});

t.test('A missing server is reported in one line.', async (t) => {
  const closed = createServer();
  await new Promise<void>((resolve) => closed.listen(0, '127.0.0.1', resolve));
  const address = closed.address();
  const nobody = `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}`;
  await new Promise((resolve) => closed.close(resolve));
  const command = runWebhooks(t, ['endpoints', '--url', nobody]);
  t.equal(await command.ended(), 1);
  t.equal(
    command.output(),
    `No server responds at ${nobody}. Start one in another terminal with npm start, or use --url …\n`,
  );
});
