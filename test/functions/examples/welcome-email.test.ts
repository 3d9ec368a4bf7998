/** The example `welcome-email`: one letter for each new account, repeated under one key until the service takes it. */
import { createServer, type IncomingHttpHeaders } from 'node:http';
import t, { type Test } from 'tap';
import { exampleWorld } from '../../helpers/functions/examples-world.ts';
import { until } from '../../helpers/until.ts';

/** A mail service that answers what `status` says, and keeps what it was sent. */
async function openService(t: Test) {
  const service = { port: 0, status: 200, letters: [] as { headers: IncomingHttpHeaders; body: unknown }[] };
  const server = createServer(async (request, response) => {
    let body = '';
    for await (const chunk of request) body += chunk;
    service.letters.push({ headers: request.headers, body: JSON.parse(body) });
    response.writeHead(service.status).end('{}');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  const address = server.address();
  service.port = typeof address === 'object' ? (address?.port ?? 0) : 0;
  return service;
}

t.test('a new account gets a letter', async (t) => {
  const service = await openService(t);
  const { send, runs } = await exampleWorld(t, 'welcome-email', { '127.0.0.1:8025': `127.0.0.1:${service.port}` });
  t.match(await send('PUT /admin/plugins/welcome-email/secrets/MAIL_KEY', { value: 'key-of-mail' }), { status: 204 });
  service.status = 503;
  const account = { username: 'ada', email: 'ada@example.org', password: 'four wooden ships sail' };
  t.match(await send('POST /auth/register', account), { status: 201 });
  await until(() => service.letters.length >= 1, 'the first attempt');
  service.status = 200;
  await until(async () => (await runs('ok')).length === 1, 'the run has ended well');
  const [first, last] = [service.letters[0], service.letters.at(-1)];
  t.match(last?.body, { to: 'ada@example.org', subject: 'Welcome', text: /^Hello ada, / });
  t.match(last?.headers, { authorization: 'Bearer key-of-mail', 'idempotency-key': /.+/ });
  t.equal(first?.headers['idempotency-key'], last?.headers['idempotency-key'], 'the same letter');
  t.ok(service.letters.length >= 2, 'it was tried again');
  t.match(await runs('ok'), [{ kind: 'trigger', function: 'greet', attempt: service.letters.length }]);
});
