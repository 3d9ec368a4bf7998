/** The complete receiver of docs/webhooks.md, run as the page says: it accepts real deliveries, each id once. */
import { spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import t from 'tap';
import { buildTestApp } from '../../helpers/app.ts';
import { until } from '../../helpers/until.ts';
import { ask } from '../../helpers/users.ts';
import { sampleOf } from './sample-programs.ts';

t.test('the Python receiver of the docs accepts each delivery once', async (t) => {
  const { app } = await buildTestApp(t);
  const port = await freePort();
  const url = `http://127.0.0.1:${port}/`;
  const created = await ask(app, 'POST /webhooks/endpoints', { url, types: ['todos.*'] });
  const { id, secret } = created.json();
  const folder = t.testdir();
  writeFileSync(join(folder, 'webhook.py'), sampleOf('python'));
  writeFileSync(join(folder, 'receiver.py'), sampleOf('python', 2));
  const old = `whsec_${Buffer.alloc(24, 1).toString('base64')}`;
  const child = spawn('python3', ['-B', 'receiver.py'], {
    cwd: folder,
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, PORT: String(port), WEBHOOK_SECRETS: `${old},${secret}` },
  });
  const ended = new Promise((resolve) => child.once('close', resolve));
  t.teardown(async () => {
    child.kill();
    await ended;
  });
  let output = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    output += text;
  });
  await until(
    () =>
      fetch(url, { method: 'POST', body: '{}' }).then(
        ({ status }) => status === 400,
        () => false,
      ),
    'it listens',
  );

  await ask(app, 'POST /api/todos', { id: 'milk' });
  await until(() => / todos\.created milk new\n/.test(output), 'it takes the delivery');
  const [{ id: delivery, state, last }] = await delivered();
  t.match({ state, last }, { state: 'succeeded', last: { status: 204 } });
  await ask(app, `POST /webhooks/deliveries/${encodeURIComponent(delivery)}/resend`);
  await until(() => / todos\.created milk known already\n/.test(output), 'it recognizes the id');
  t.equal(output.trim().split('\n').length, 2, output);

  async function delivered() {
    const list = async () => (await ask(app, `GET /webhooks/deliveries?endpoint=${id}&state=succeeded`)).json();
    await until(async () => (await list()).length === 1, 'the delivery is recorded');
    return list();
  }
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
