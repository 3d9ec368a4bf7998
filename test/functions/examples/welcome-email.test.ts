/** The example `welcome-email`: one e-mail per new user, repeated under one key until the service accepts it. */
import { createServer, type IncomingHttpHeaders } from 'node:http';
import t, { type Test } from 'tap';
import { exampleFixture } from '../../helpers/functions/examples-fixture.ts';
import { until } from '../../helpers/until.ts';

/** An e-mail service that responds with `status`, and records requests. */
async function openService(t: Test) {
  const service = { port: 0, status: 200, emails: [] as { headers: IncomingHttpHeaders; body: unknown }[] };
  const server = createServer(async (request, response) => {
    let body = '';
    for await (const chunk of request) body += chunk;
    service.emails.push({ headers: request.headers, body: JSON.parse(body) });
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

t.test('The example welcome-email sends an e-mail to a new user.', async (t) => {
  const service = await openService(t);
  const { send, runs } = await exampleFixture(t, 'welcome-email', { '127.0.0.1:8025': `127.0.0.1:${service.port}` });
  t.match(await send('PUT /admin/plugins/welcome-email/secrets/MAIL_KEY', { value: 'key-of-mail' }), { status: 204 });
  service.status = 503;
  const user = { username: 'ada', email: 'ada@example.org', password: 'four wooden ships sail' };
  t.match(await send('POST /auth/register', user), { status: 201 });
  await until(() => service.emails.length >= 1, 'the first attempt');
  service.status = 200;
  await until(async () => (await runs('succeeded')).length === 1, 'the run has ended well');
  const [first, last] = [service.emails[0], service.emails.at(-1)];
  t.match(last?.body, { to: 'ada@example.org', subject: 'Welcome', text: /^Hello ada, / });
  t.match(last?.headers, { authorization: 'Bearer key-of-mail', 'idempotency-key': /.+/ });
  t.equal(first?.headers['idempotency-key'], last?.headers['idempotency-key'], 'the same e-mail');
  t.ok(service.emails.length >= 2, 'it was retried');
  t.match(await runs('succeeded'), [{ kind: 'trigger', function: 'greet', attempts: service.emails.length }]);
});
