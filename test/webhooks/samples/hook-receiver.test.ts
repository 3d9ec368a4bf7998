/**
 * The receiver of docs/automation.md, run as the page says: it verifies deliveries with the header names of Standard
 * Webhooks and of Svix.
 */
import { spawn } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Webhook } from 'standardwebhooks';
import t from 'tap';
import { until } from '../../helpers/until.ts';

const PAGE = fileURLToPath(new URL('../../../docs/automation.md', import.meta.url));
const SECRET = `whsec_${Buffer.alloc(32, 7).toString('base64')}`;

t.test('the receiver of hooks accepts the header names of Standard Webhooks and of Svix', async (t) => {
  const port = await freePort();
  const [, sample = ''] = /```js\n(import \{ createHmac[\s\S]*?)```/.exec(readFileSync(PAGE, 'utf8')) ?? [];
  t.match(sample, /listen\(8090, '127\.0\.0\.1'\)/);
  const file = join(t.testdir(), 'receiver.mjs');
  writeFileSync(file, sample.replace('8090', String(port)));
  const child = spawn(process.execPath, [file], { env: { ...process.env, SECRET }, stdio: 'ignore' });
  const ended = new Promise((resolve) => child.once('close', resolve));
  t.teardown(async () => {
    child.kill();
    await ended;
  });
  const post = (headers: Record<string, string>, body: string) =>
    fetch(`http://127.0.0.1:${port}/`, { method: 'POST', headers, body }).then(({ status }) => status);
  const listens = () =>
    post({}, '').then(
      () => true,
      () => false,
    );
  await until(listens, 'it listens');
  const body = '{"id":"1-8","type":"orders.updated"}';
  const signed = (at: Date) => ({
    id: '1-8',
    timestamp: String(Math.floor(at.getTime() / 1_000)),
    signature: new Webhook(SECRET).sign('1-8', at, body),
  });
  const named = (prefix: string, values: object) =>
    Object.fromEntries(Object.entries(values).map(([name, value]) => [`${prefix}-${name}`, value]));
  const [now, old] = [signed(new Date()), signed(new Date(Date.now() - 600_000))];
  for (const prefix of ['webhook', 'svix']) {
    t.equal(await post(named(prefix, now), body), 204, prefix);
    t.equal(await post(named(prefix, now), `${body} `), 401, `${prefix}, another body`);
    t.equal(await post(named(prefix, old), body), 401, `${prefix}, ten minutes old`);
  }
  t.equal(await post({}, body), 401, 'without headers');
});

/** An unused port, for a program that cannot report which one it got. */
function freePort(): Promise<number> {
  return new Promise((resolve) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const address = server.address();
      server.close(() => resolve(typeof address === 'object' && address !== null ? address.port : 0));
    });
  });
}
