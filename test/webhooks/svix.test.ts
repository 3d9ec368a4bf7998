/**
 * A whole Millrace whose settings name Svix: deliveries go through it, the state says who sends, no secret is shown, and an
 * address that must not be called is refused at the start.
 */
import t from 'tap';
import { buildTestApp } from '../helpers/app.ts';
import { until } from '../helpers/until.ts';
import { startReceiver } from '../helpers/webhooks/receiver.ts';
import { startSvix } from '../helpers/webhooks/svix/svix-server.ts';
import { webhookFixture } from '../helpers/webhooks/webhook-fixture.ts';

t.test('deliveries go through Svix, the status says so, and neither token nor secret is shown', async (t) => {
  const [svix, receiver] = await Promise.all([startSvix(t), startReceiver(t, ({ body }) => JSON.parse(body).id)]);
  const settings = {
    MILLRACE_EGRESS_ALLOW: '127.0.0.0/8',
    MILLRACE_SVIX_URL: svix.url,
    MILLRACE_SVIX_TOKEN: svix.token,
  };
  const { boss, mine, lines } = await webhookFixture(t, { settings, sends: true });
  const created = (await mine('POST /webhooks/endpoints', { url: receiver.url, types: ['todos.*'] })).json();
  const { sender } = (await boss('GET /admin/status')).json().webhooks;
  t.match(sender, { kind: 'svix', url: svix.url });
  const { id } = (await mine(`POST /webhooks/endpoints/${created.id}/test`)).json();
  const delivered = async () => (await mine(`GET /webhooks/deliveries/${id}`)).json().state === 'succeeded';
  await until(delivered, 'the test has arrived');
  t.match(receiver.received[0]?.headers['webhook-signature'], /^v1,/);
  t.match((await boss('GET /admin/status')).json().webhooks.sender, { reachable: true, error: null });
  t.equal(svix.state.apps.size, 1, 'one application for the instance');
  const shown = [...lines, (await boss('GET /admin/status')).body, (await boss('GET /webhooks/endpoints')).body].join(
    '\n',
  );
  for (const secret of [svix.token, created.secret]) t.notOk(shown.includes(secret));
});

t.test('a header that Svix does not send is rejected when an endpoint is saved', async (t) => {
  const svix = await startSvix(t);
  const settings = {
    MILLRACE_EGRESS_ALLOW: '127.0.0.0/8',
    MILLRACE_SVIX_URL: svix.url,
    MILLRACE_SVIX_TOKEN: svix.token,
  };
  const { mine } = await webhookFixture(t, { settings, sends: true });
  const endpoint = { url: 'https://example.org/', types: ['todos.*'] };
  const saved = await mine('POST /webhooks/endpoints', { ...endpoint, headers: { 'x-fine': 'a'.repeat(2_048) } });
  t.equal(saved.statusCode, 201);
  const names = ['Cache-Control', 'pragma', 'expires', 'age', 'warning', 'trailers', 'clear-site-data'];
  const prefixed = [
    'x-amz-a',
    'x-amzn-a',
    'X-Goog-A',
    'x-google-a',
    'x-gfe-a',
    'x-azure-a',
    'x-fd-a',
    'x-svix-a',
    'svix-a',
  ];
  for (const name of [...names, ...prefixed]) {
    const headers = { [name]: 'a' };
    for (const response of [
      await mine('POST /webhooks/endpoints', { ...endpoint, headers }),
      await mine(`PATCH /webhooks/endpoints/${saved.json().id}`, { headers }),
    ]) {
      const { statusCode, json } = response;
      t.match([statusCode, json().errors[0]], [400, { pointer: /^\/headers\//, detail: /is not sent by Svix/ }], name);
    }
  }
});

t.test('without Svix the status says that Millrace sends', async (t) => {
  const { app } = await buildTestApp(t);
  t.strictSame((await app.inject('/admin/status')).json().webhooks, { sender: { kind: 'direct' } });
});

t.test('a Svix server at a forbidden IP address stops the start, with the setting that allows it', async (t) => {
  const settings = { MILLRACE_MODE: 'production', MILLRACE_SVIX_TOKEN: 'testsk_1' };
  for (const MILLRACE_SVIX_URL of ['http://svix.example.org', 'https://10.1.2.3', 'https://169.254.169.254']) {
    const start = buildTestApp(t, { ...settings, MILLRACE_SVIX_URL });
    await t.rejects(start, { name: 'ConfigError', message: /MILLRACE_SVIX_URL: the URL .*MILLRACE_EGRESS_ALLOW/ });
  }
});
