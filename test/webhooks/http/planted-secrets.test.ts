/**
 * The secrets of endpoints and the values of their headers are planted, used correctly and incorrectly, and then
 * searched: in every collection, event, audit entry, log line and response except the one that shows a secret once.
 */
import { randomBytes } from 'node:crypto';
import t from 'tap';
import { Planted } from '../../helpers/planted.ts';
import { until } from '../../helpers/until.ts';
import { startReceiver } from '../../helpers/webhooks/receiver.ts';
import { webhookFixture } from '../../helpers/webhooks/webhook-fixture.ts';

t.test('secrets of webhooks stay secret', async (t) => {
  const settings = { MILLRACE_EGRESS_ALLOW: '127.0.0.0/8' };
  const {
    app,
    services,
    boss,
    mine,
    unprivileged: anonymous,
    lines,
  } = await webhookFixture(t, { settings, sends: true });
  const receiver = await startReceiver(t);
  receiver.response = (_, response) => {
    response.writeHead(500).end('no');
    return undefined;
  };
  const planted = new Planted();
  const reported: string[] = [];
  const plain = (text: string) => Buffer.from(text.slice('whsec_'.length), 'base64').toString('latin1');

  const header = planted.plant('value of a header', `Bearer ${randomBytes(24).toString('hex')}`);
  const other = planted.plant('another value', randomBytes(24).toString('hex'));
  const wrong = planted.plant('value that is refused', `${randomBytes(24).toString('hex')} ü`);
  const own = planted.plant('secret that was sent', `whsec_${randomBytes(32).toString('base64')}`);
  const short = planted.plant('secret that is refused', `whsec_${randomBytes(20).toString('base64')}`);
  const body = {
    url: receiver.url,
    types: ['todos.*', 'system.endpoint.*'],
    headers: { authorization: header },
    secret: own,
  };

  const created = (await mine('POST /webhooks/endpoints', body)).json();
  t.equal(created.secret, own);
  const url = `/webhooks/endpoints/${created.id}` as const;
  const { secret } = (await mine(`POST ${url}/rotate`)).json();
  planted.plant('secret that was made', secret);
  for (const one of [own, secret]) planted.plant(`bytes of ${one.slice(0, 9)}`, plain(one));

  const keep = async (response: ReturnType<typeof mine>) => {
    const { body: text, headers } = await response;
    reported.push(`${text}${JSON.stringify(headers)}`);
  };
  await keep(mine(`GET ${url}`));
  await keep(boss('GET /webhooks/endpoints'));
  await keep(mine(`PATCH ${url}`, { name: 'Named', headers: { authorization: '•••', 'x-other': other } }));
  await keep(mine(`PATCH ${url}`, { headers: { 'x-other': wrong } }));
  await keep(mine('POST /webhooks/endpoints', { ...body, secret: short }));
  await keep(mine('POST /webhooks/endpoints', { ...body, secret: [own] }));
  await keep(mine('POST /webhooks/endpoints', { ...body, url: 'ftp://x.example', headers: { Host: header } }));
  await keep(mine(`PATCH ${url}`, { url: 'https://elsewhere.example/' }));
  await keep(anonymous('POST /webhooks/endpoints', body));
  await keep(mine('POST /webhooks/endpoints', `${JSON.stringify(body)}}`));

  const { id } = (await mine(`POST ${url}/test`)).json();
  await until(
    async () => (await mine(`GET /webhooks/deliveries/${id}`)).json().state === 'failed',
    'the test was tried',
  );
  t.match(receiver.received[0]?.headers, { authorization: header, 'x-other': other }, 'the receiver gets the values');
  for (const path of ['', '/attempts']) await keep(mine(`GET /webhooks/deliveries/${id}${path}`));
  await keep(mine('GET /webhooks/deliveries'));
  await boss(`PATCH ${url}`, { enabled: false });
  await boss(`DELETE ${url}`);

  const audited = async () => (await boss('GET /admin/audit?limit=1000')).json();
  const has = async (type: string) => (await audited()).some((one: { type: string }) => one.type === type);
  await until(() => has('system.endpoint.deleted'), 'the audit');
  for (const verb of ['created', 'updated', 'deleted', 'disabled']) t.ok(await has(`system.endpoint.${verb}`), verb);
  const again = (await mine('POST /webhooks/endpoints', { ...body, types: ['never.*'] })).json();
  t.equal(again.secret, own, 'one is kept while everything is looked through');

  await planted.lookThrough(services);
  planted.look('the audit', JSON.stringify(await audited()));
  planted.look('events', (await app.inject({ url: '/events?since=1-0' })).body);
  planted.look('events', (await boss('GET /events?since=1-0&limit=1000')).body);
  for (const line of lines) planted.look('the log', line);
  for (const response of reported) planted.look('an answer', response);
  t.ok(reported.length >= 13 && planted.checked > 30, `${planted.checked} places`);
  t.strictSame(planted.found, []);
});
