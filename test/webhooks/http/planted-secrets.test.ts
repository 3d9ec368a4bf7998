/**
 * The secrets of endpoints and the values of their headers are planted, used rightly and wrongly, and then looked for: in every
 * collection, event, audit entry, log line and answer but the one that shows a secret the only time.
 */
import { randomBytes } from 'node:crypto';
import t from 'tap';
import { Planted } from '../../helpers/planted.ts';
import { until } from '../../helpers/until.ts';
import { startReceiver } from '../../helpers/webhooks/receiver.ts';
import { webhookWorld } from '../../helpers/webhooks/webhook-world.ts';

t.test('secrets of webhooks stay secret', async (t) => {
  const settings = { MILLRACE_EGRESS_ALLOW: '127.0.0.0/8' };
  const { app, parts, boss, mine, stranger, lines } = await webhookWorld(t, { settings, sends: true });
  const receiver = await startReceiver(t);
  receiver.answer = (_, response) => {
    response.writeHead(500).end('no');
    return undefined;
  };
  const planted = new Planted();
  const told: string[] = [];
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

  const made = (await mine('POST /webhooks/endpoints', body)).json();
  t.equal(made.secret, own);
  const url = `/webhooks/endpoints/${made.id}` as const;
  const { secret } = (await mine(`POST ${url}/rotate`)).json();
  planted.plant('secret that was made', secret);
  for (const one of [own, secret]) planted.plant(`bytes of ${one.slice(0, 9)}`, plain(one));

  const keep = async (answer: ReturnType<typeof mine>) => {
    const { body: text, headers } = await answer;
    told.push(`${text}${JSON.stringify(headers)}`);
  };
  await keep(mine(`GET ${url}`));
  await keep(boss('GET /webhooks/endpoints'));
  await keep(mine(`PATCH ${url}`, { name: 'Named', headers: { authorization: '•••', 'x-other': other } }));
  await keep(mine(`PATCH ${url}`, { headers: { 'x-other': wrong } }));
  await keep(mine('POST /webhooks/endpoints', { ...body, secret: short }));
  await keep(mine('POST /webhooks/endpoints', { ...body, secret: [own] }));
  await keep(mine('POST /webhooks/endpoints', { ...body, url: 'ftp://x.example', headers: { Host: header } }));
  await keep(mine(`PATCH ${url}`, { url: 'https://elsewhere.example/' }));
  await keep(stranger('POST /webhooks/endpoints', body));
  await keep(mine('POST /webhooks/endpoints', `${JSON.stringify(body)}}`));

  const { id } = (await mine(`POST ${url}/test`)).json();
  await until(async () => (await mine(`GET /webhooks/deliveries/${id}`)).json().state === 'dead', 'the test was tried');
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

  await planted.lookThrough(parts);
  planted.look('the audit', JSON.stringify(await audited()));
  planted.look('events', (await app.inject({ url: '/events?since=1-0' })).body);
  planted.look('events', (await boss('GET /events?since=1-0&limit=1000')).body);
  for (const line of lines) planted.look('the log', line);
  for (const answer of told) planted.look('an answer', answer);
  t.ok(told.length >= 13 && planted.looked > 30, `${planted.looked} places`);
  t.strictSame(planted.found, []);
});
