/** Mistakes in the words of `millrace webhooks` end in one clear line, before anything is asked of a server. */
import { createServer } from 'node:http';
import t from 'tap';
import { webhooks } from '../../src/commands/webhooks.ts';
import { runWebhooks } from '../helpers/programs/webhooks-command.ts';

t.test('wrong words', async (t) => {
  const cases: readonly (readonly [readonly string[], RegExp])[] = [
    [['listen', 'x'], /^'x' is not a port: a number up to 65535$/],
    [['listen', '65536'], /^'65536' is not a port: a number up to 65535$/],
    [['listen', '8080', '9'], /^'9' has no meaning here; --help shows what there is$/],
    [['listen', '--filter', '[1]'], /^--filter \[1\]: this is not a JSON object, such as .*$/],
    [['listen', '--filter', '{'], /^--filter \{: this is not a JSON object, such as .*$/],
    [['listen', '--since', '1-1'], /--since.*\n--help shows what there is$/],
    [['endpoints', '--url', 'ftp://there'], /^--url ftp:\/\/there: The URL is not an http\(s\) URL with a host$/],
    [['resend'], /^DELIVERY is missing; --help shows what there is$/],
    [['replay', 'x'], /^replay needs --since, .*$/],
  ];
  for (const [words, message] of cases) await t.rejects(webhooks(words, {}), { message }, words.join(' '));
});

t.test('the usage', async (t) => {
  const text = /millrace webhooks listen[\s\S]*--forward[\s\S]*endpoints[\s\S]*resend[\s\S]*replay/;
  for (const words of [[], ['--help'], ['listen', '--help'], ['replay', '-h']]) {
    t.match(await webhooks(words, {}), { text }, words.join(' '));
  }
  t.match(await webhooks(['lissen'], {}), { text, failed: true });
});

t.test('a server that is not there', async (t) => {
  const closed = createServer();
  await new Promise<void>((resolve) => closed.listen(0, '127.0.0.1', resolve));
  const address = closed.address();
  const nobody = `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}`;
  await new Promise((resolve) => closed.close(resolve));
  const command = runWebhooks(t, ['endpoints', '--url', nobody]);
  t.equal(await command.ended(), 1);
  t.equal(
    command.output(),
    `No server answers at ${nobody}. Start one in another terminal with npm start, or name it: --url …\n`,
  );
});
