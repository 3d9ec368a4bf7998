/**
 * Plants secrets of plugins, uses them correctly and incorrectly, and then searches for them: in every collection, event, audit
 * entry, log line, version and response.
 */
import { randomBytes } from 'node:crypto';
import t from 'tap';
import { createPluginFixture, onePlugin } from '../../helpers/functions/plugin-fixture.ts';
import { Planted } from '../../helpers/planted.ts';
import { until } from '../../helpers/until.ts';

t.test('Secrets of plugins stay secret.', async (t) => {
  const { boss, developer, viewer, somebody, services, lines } = await createPluginFixture(t);
  const planted = new Planted();
  const reported: string[] = [];
  const keep = async (response: ReturnType<typeof boss>) => {
    const { body, headers, statusCode } = await response;
    reported.push(`${body}${JSON.stringify(headers)}`);
    return statusCode;
  };
  const secret = (name: string) => planted.plant(name, randomBytes(24).toString('hex'));
  const body = onePlugin('a', { secrets: ['FIRST', 'SECOND', 'THIRD'] });
  await keep(boss('PUT /admin/plugins/a', body));
  const url = '/admin/plugins/a/secrets' as const;
  const used = secret('active');
  t.equal(await keep(developer(`PUT ${url}/FIRST`, { value: secret('replaced') })), 204);
  t.equal(await keep(developer(`PUT ${url}/FIRST`, { value: used })), 204);
  t.equal(await keep(boss(`PUT ${url}/SECOND`, { value: secret('removed') })), 204);
  t.equal(await keep(boss(`PUT ${url}/THIRD`, { value: secret('of a name that goes') })), 204);
  t.equal(await keep(boss(`DELETE ${url}/SECOND`)), 204);
  t.equal(await keep(boss(`DELETE ${url}/SECOND`)), 204, 'a missing one');
  t.equal(await keep(boss(`PUT ${url}/OTHER`, { value: secret('without a name in the manifest') })), 400);
  t.equal(await keep(boss(`PUT ${url}/FIRST`, { value: [secret('of a wrong type')] })), 400);
  t.equal(await keep(boss(`PUT ${url}/FIRST`, { value: `${secret('too long')}${'x'.repeat(8_192)}` })), 400);
  t.equal(await keep(boss(`PUT ${url}/FIRST`, { secret: secret('under a wrong member') })), 400);
  t.equal(await keep(boss(`PUT ${url}/FIRST`, `{"value":"${secret('in broken JSON')}"`)), 400);
  t.equal(await keep(viewer(`PUT ${url}/FIRST`, { value: secret('of a viewer') })), 403);
  t.equal(await keep(somebody(`PUT ${url}/FIRST`, { value: secret('of a user') })), 403);
  t.equal(await keep(boss('PUT /admin/plugins/none/secrets/FIRST', { value: secret('of no plugin') })), 404);
  t.strictSame(services.functions.active.find('a/total')?.plugin.secrets['FIRST'], used, 'functions get it');
  const shown = await boss('GET /admin/plugins/a');
  t.strictSame(shown.json().secrets, [
    { name: 'FIRST', set: true },
    { name: 'SECOND', set: false },
    { name: 'THIRD', set: true },
  ]);
  for (const client of [boss, viewer]) {
    for (const path of ['', '/a', '/a/versions', '/a/versions/1']) await keep(client(`GET /admin/plugins${path}`));
  }
  await keep(boss('PUT /admin/plugins/a', onePlugin('a', { secrets: ['FIRST'] })));
  t.strictSame(
    services.functions.active.find('a/total')?.plugin.secrets,
    { FIRST: used },
    'only what the manifest names',
  );
  await keep(boss('PATCH /admin/plugins/a', { enabled: true }));
  await keep(boss('POST /admin/plugins/a/versions/1/activate'));
  await keep(boss('PUT /admin/plugins/a', { manifest: { name: 'a', functions: [{ name: 'x' }] }, files: {} }));
  await services.functions.plugins.quarantine('a/total', 'A reason');
  await keep(boss('POST /admin/plugins/a/functions/total/unquarantine'));

  const audited = async () => (await boss('GET /admin/audit?limit=1000')).json();
  const has = async (type: string) => (await audited()).some((one: { type: string }) => one.type === type);
  await until(() => has('system.function.quarantined'), 'the audit');
  await planted.lookThrough(services);
  planted.look('the audit', JSON.stringify(await audited()));
  planted.look('events', (await boss('GET /events?since=1-0&limit=1000')).body);
  planted.look('the contract', (await boss('GET /openapi.json')).body);
  planted.look('the state', (await boss('GET /admin/status')).body);
  for (const line of lines) planted.look('the log', line);
  for (const response of reported) planted.look('an answer', response);
  t.ok(planted.secrets.size >= 12 && reported.length > 20, `${planted.checked} places`);
  t.strictSame(planted.found, []);
  const [row] = await services.mongo.log.collection('plugin_secrets').find().toArray();
  t.match(row?.['encrypted'], { FIRST: /^enc1\./, THIRD: /^enc1\./ });
  await boss('DELETE /admin/plugins/a');
  t.equal(await services.mongo.log.collection('plugin_secrets').countDocuments(), 0, 'they go with the plugin');
});
