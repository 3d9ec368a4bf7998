/** `millrace webhooks listen`, run as a process against a real server: deliveries are verified, shown and forwarded. */
import { spawn } from 'node:child_process';
import { createServer, type IncomingMessage } from 'node:http';
import { fileURLToPath } from 'node:url';
import { Webhook } from 'standardwebhooks';
import t, { type Test } from 'tap';
import { RemoteServer } from '../../src/commands/remote/remote.ts';
import { listenForWebhooks } from '../../src/commands/webhooks/listen.ts';
import { buildTestApp } from '../helpers/app.ts';
import { runWebhooks } from '../helpers/programs/webhooks-command.ts';
import { until } from '../helpers/until.ts';
import { type Account, ask, signInAdmin } from '../helpers/users.ts';

const READY = /Listening at (http:\/\/127\.0\.0\.1:(\d+)\/) for (.*)\n[\s\S]*Endpoint: (\S+)\. Press Ctrl-C/;

/** For the tests that do not change it. */
const shared = startServer(t);

async function startServer(t: Test, settings: Record<string, string> = {}) {
  const { app, services } = await buildTestApp(t, settings);
  const url = await app.listen({ host: '127.0.0.1', port: 0 });
  const create = (document: object, as?: Account) => ask(app, 'POST /api/todos', document, as);
  const endpoints = async (as?: Account): Promise<{ id: string }[]> =>
    (await ask(app, 'GET /webhooks/endpoints', undefined, as)).json();
  return { app, parts: services, url, create, endpoints };
}

t.test('Deliveries are verified and shown, and Ctrl-C removes the endpoint.', async (t) => {
  const { app, url, create, endpoints } = await shared;
  const filter = '{"done":true}';
  const command = runWebhooks(t, ['listen', '0', '--types', 'todos.*', '--filter', filter, '--verbose', '--url', url]);
  const [, , , types, id] = await command.prints(READY);
  t.equal(types, 'todos.*');
  t.match(await endpoints(), [{ id, types: ['todos.*'], filter: { done: true }, enabled: true }]);
  await ask(app, 'POST /api/notes', { id: 'note', done: true });
  await create({ id: 'open', done: false });
  await create({ id: 'milk', done: true, title: '\u001b[2J\u009b2J' });
  await command.prints(/\d\d:\d\d:\d\d {2}todos\.created +milk +\d+-\d+ {2}verified, responded 204\n/);
  const output = command.output();
  t.match(output, / {4}webhook-signature: v1,/, 'headers are shown');
  t.match(output, / {6}"type": "todos.created",\n/, 'so is the event');
  t.notMatch(output, /[^\P{Cc}\n]/u, 'no text of others can change the terminal');
  t.notMatch(output, /note|open/, 'no other event came');
  t.equal(await command.ended('SIGINT'), 0);
  t.match(command.output(), `Removed the endpoint ${id}`);
  t.strictSame(await endpoints(), []);
});

t.test('A delivery is forwarded unchanged, and the response returned.', async (t) => {
  const { url, create, app } = await shared;
  const got: { headers: IncomingMessage['headers']; body: string }[] = [];
  const program = createServer(async (request, response) => {
    let body = '';
    for await (const chunk of request) body += chunk;
    got.push({ headers: request.headers, body });
    response.writeHead(got.length === 1 ? 500 : 200).end('done');
  });
  await new Promise<void>((resolve) => program.listen(0, '127.0.0.1', resolve));
  t.teardown(() => program.close());
  const address = program.address();
  const forward = `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}/hook`;
  const secret = `whsec_${Buffer.alloc(24, 3).toString('base64')}`;
  const command = runWebhooks(t, ['listen', '0', '--forward', forward, '--secret', secret, '--url', url]);
  await command.prints(READY);
  t.match(command.output(), `Secret: ${secret}`, 'your program needs it');
  await create({ id: 'bread' });
  const [line = ''] = await command.prints(/.*todos\.created.*responded 500\n/);
  const event = /\d+-\d+/.exec(line)?.[0] ?? '';
  const [endpoint] = (await ask(app, 'GET /webhooks/endpoints')).json();
  t.equal((await ask(app, `POST /webhooks/deliveries/${endpoint.id}:${event}/resend`)).statusCode, 202);
  await command.prints(/todos\.created.*verified, again, responded 200\n/);
  for (const { headers, body } of got) {
    const fields = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)]));
    t.match(new Webhook(secret).verify(body, fields), { type: 'todos.created', documentId: 'bread' });
  }
  t.equal(await command.ended('SIGINT'), 0);
});

t.test('A call that is not a delivery is rejected and shown.', async (t) => {
  const { url } = await shared;
  const command = runWebhooks(t, ['listen', '0', '--url', url]);
  const [, address = ''] = await command.prints(READY);
  t.equal((await fetch(address)).status, 400);
  await command.prints(/GET \/ {2}NOT VERIFIED: it has no header webhook-id, responded 400\n/);
  const wrong = new Webhook(Buffer.alloc(24, 5).toString('base64'));
  const sent = (at: Date, signature = wrong.sign('1-1', at, '{}')) =>
    fetch(address, {
      method: 'POST',
      body: '{}',
      headers: {
        'webhook-id': '1-1',
        'webhook-timestamp': String(Math.floor(at.getTime() / 1_000)),
        'webhook-signature': signature,
      },
    });
  t.equal((await sent(new Date())).status, 400);
  await command.prints(/POST \/ {2}NOT VERIFIED: its signature does not match, responded 400\n/);
  t.equal((await sent(new Date(Date.now() - 600_000))).status, 400);
  await command.prints(/NOT VERIFIED: its timestamp is more than five minutes off/);
  t.equal(await command.ended('SIGINT'), 0);
});

t.test('The endpoint of a killed run is removed by the next one.', async (t) => {
  const { url, endpoints } = await shared;
  const killed = runWebhooks(t, ['listen', '0', '--url', url]);
  const [, , port = ''] = await killed.prints(READY);
  const taken = runWebhooks(t, ['listen', port, '--url', url]);
  t.equal(await taken.ended(), 1);
  t.match(taken.output(), `Port ${port} cannot be used: another program listens there. Use another one`);
  await killed.ended('SIGKILL');
  t.equal((await endpoints()).length, 1);
  const next = runWebhooks(t, ['listen', port, '--url', url]);
  const [, , , , id] = await next.prints(READY);
  t.match(await endpoints(), [{ id }]);
  t.equal((await endpoints()).length, 1);
  t.equal(await next.ended('SIGINT'), 0);
});

t.test('millrace webhooks listen ends with npm, which does not pass on every signal.', async (t) => {
  const { url, endpoints } = await shared;
  const main = fileURLToPath(new URL('../../src/main.ts', import.meta.url));
  const script = `"${process.execPath}" "${main}" webhooks listen 0 --url ${url} & wait`;
  const npm = spawn('sh', ['-c', script], {
    stdio: 'ignore',
    env: { ...process.env, NODE_OPTIONS: '', npm_lifecycle_event: 'webhooks' },
  });
  t.teardown(() => npm.kill('SIGKILL'));
  await until(async () => (await endpoints()).length === 1, 'it listens');
  npm.kill('SIGTERM');
  await until(async () => (await endpoints()).length === 0, 'the endpoint is removed');
});

t.test('A stopped server is reported, with the endpoint that remains.', async (t) => {
  const { app, url } = await startServer(t);
  const command = runWebhooks(t, ['listen', '0', '--url', url]);
  await command.prints(READY);
  await app.close();
  t.equal(await command.ended('SIGINT'), 1);
  t.match(
    command.output(),
    /The endpoint \S+ was not removed\. No server responds at http.*\nThe next run on this port removes it/,
  );
});

t.test(
  'In production millrace webhooks listen needs a credential, and a server that may call this machine.',
  async (t) => {
    const closed = await startServer(t, { MILLRACE_MODE: 'production' });
    const owner = await signInAdmin(closed.app, closed.parts);
    const refusedWith = async (message: RegExp, token?: string) => {
      const remote = new RemoteServer(closed.url, token);
      t.teardown(() => remote.close());
      const words = { port: 0, types: ['*'], filter: null, forward: undefined, secret: undefined, verbose: false };
      await t.rejects(listenForWebhooks(words, remote, new AbortController().signal), { message });
    };
    await refusedWith(/401: Sign in to use this server[\s\S]*--token/);
    await refusedWith(/400: .*url.*\n[\s\S]*MILLRACE_EGRESS_ALLOW=127\.0\.0\.1/, owner.accessToken);

    const open = await startServer(t, { MILLRACE_MODE: 'production', MILLRACE_EGRESS_ALLOW: '127.0.0.1' });
    const user = await signInAdmin(open.app, open.parts);
    const command = runWebhooks(t, ['listen', '0', '--url', open.url, '--token', user.accessToken]);
    await command.prints(READY);
    await open.create({ id: 'milk' }, user);
    await command.prints(/todos\.created.*verified/);
    t.equal(await command.ended('SIGINT'), 0);
    await until(async () => (await open.endpoints(user)).length === 0, 'it is removed');
  },
);
