/**
 * Every secret of sign-in is planted, used rightly and wrongly, and then looked for: in every collection, event, audit
 * entry, log line and error. Only the response to its holder may contain it.
 */
import { generateKeyPairSync, randomBytes } from 'node:crypto';
import pino from 'pino';
import t from 'tap';
import { buildApp } from '../../src/app.ts';
import { loadConfig } from '../../src/config/config.ts';
import { AUDIT_EVENT_TYPES } from '../../src/lib/event-types.ts';
import { createServices } from '../../src/services.ts';
import { buildTestApp } from '../helpers/app.ts';
import { codeNow, setUpFactor, wrongCode } from '../helpers/mfa/authenticator.ts';
import { testMongo } from '../helpers/mongo.ts';
import { testSmtp } from '../helpers/network/smtp.ts';
import { Planted } from '../helpers/planted.ts';
import { until } from '../helpers/until.ts';
import { ask, PASSWORD, signInAdmin, signUp, toUser } from '../helpers/users.ts';

/**
 * Every other event of the table must have been searched. Identities: flows/planted-secrets.test.ts; endpoints:
 * test/webhooks/http/planted-secrets.test.ts; functions: test/functions/http/plugin-secrets.test.ts.
 */
const ELSEWHERE = new Set([
  'system.event-log.stopped',
  'system.identity.linked',
  'system.identity.unlinked',
  'system.endpoint.disabled',
  'system.endpoint.events-replayed',
  'system.delivery.failed',
  'system.run.attempt-failed',
  'system.run.failed',
  'system.run.queued',
  'system.function.replayed',
  'system.function.quarantined',
]);

t.test('secrets stay secret', async (t) => {
  const { url, database } = await testMongo(t);
  const smtp = await testSmtp(t);
  const lines: string[] = [];
  const log = pino({ level: 'trace' }, { write: (line: string) => lines.push(line) });
  const config = loadConfig({
    MILLRACE_DB: database,
    MILLRACE_SMTP_URL: smtp.url,
    MILLRACE_MASTER_KEY: randomBytes(32).toString('base64'),
    PORT: '0',
  });
  const services = await createServices(config, url, { onError: (err) => log.error({ err }, 'background') });
  const app = await buildApp(services, log);
  t.teardown(async () => {
    await app.close();
    await services.close();
  });
  const refusals: string[] = [];
  const planted = new Planted();
  const plant = (name: string, secret: string) => planted.plant(name, secret);
  const password = plant('password', 'planted gherkin lighthouse');
  const second = plant('second password', 'planted walrus accordion');
  const third = plant('third password', 'planted marble thermostat');
  const wrong = plant('wrong password', 'planted pelican bulldozer');

  /** A request that is rejected; its response must contain no secret. */
  const refused = async (...request: Parameters<typeof ask> extends [unknown, ...infer Rest] ? Rest : never) => {
    const response = await ask(app, ...request);
    t.ok(response.statusCode >= 400, `${request[0]}: ${response.statusCode}`);
    refusals.push(JSON.stringify(response.headers) + response.body);
  };
  const secretOf = async (path: string, nth: number) => {
    const links = () => smtp.found(new RegExp(`/${path}#([\\w-]{43})`, 'g'));
    await until(() => links().length > nth, `a letter about ${path}`);
    return plant(`${path} ${nth}`, links()[nth]?.[1] ?? '');
  };

  // Created, verified, signed in.
  const email = 'ada@example.org';
  const created = await ask(app, 'POST /auth/register', { username: 'ada', password, email });
  const ada = toUser(created);
  plant('access token', ada.accessToken);
  plant('refresh token', ada.refreshToken);
  const verification = await secretOf('verify', 0);
  await refused('POST /auth/verify', { token: verification, password: wrong });
  await refused('POST /auth/verify', { token: verification, password: second, newPassword: second });
  await ask(app, 'POST /auth/verify', { token: verification }, ada);
  const renewed = toUser(await ask(app, 'POST /auth/refresh', { refreshToken: ada.refreshToken }));
  plant('second access token', renewed.accessToken);
  plant('second refresh token', renewed.refreshToken);
  plant('ticket', (await ask(app, 'POST /auth/ticket', undefined, ada)).json().ticket);
  await ask(app, 'POST /auth/password', { current: password, password: second }, ada);
  await ask(app, 'POST /auth/reset', { email });
  const reset = await secretOf('reset', 0);
  await refused('POST /auth/reset/confirm', { token: reset, password: 'password' });
  await ask(app, 'POST /auth/reset/confirm', { token: reset, password: third });
  // By e-mail: of the code, which is short, only its wrong uses are searched for.
  await ask(app, 'POST /auth/magic-link', { email });
  const magicLink = await secretOf('signin', 0);
  await refused('POST /auth/magic-link/verify', { token: magicLink });
  await refused('POST /auth/magic-link/verify', { token: magicLink, codeVerifier: `${magicLink}x` });
  await refused('POST /auth/magic-link/verify', { email: magicLink, code: magicLink });
  await refused('POST /auth/magic-link/verify', { email, code: '0000 0000', more: magicLink });
  const owner = await signInAdmin(app, services);
  plant('owner access token', owner.accessToken);
  // The one session that is still open during the search.
  plant('owner refresh token', owner.refreshToken);
  const key = (await ask(app, 'POST /admin/keys', { name: 'k' }, owner)).json();
  plant('key', String(key.key).slice(-43));
  const link = plant('set-up', (await services.auth.firstAdmin.link('')).split('#')[1] ?? '');
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const pem = privateKey.export({ format: 'pem', type: 'pkcs8' }).toString();
  const clientSecret = plant('client secret', 'planted-client-secret-4d1f90');
  const other = plant('other client secret', 'planted-client-secret-77ab21');
  plant('private key', pem.split('\n')[1] ?? '');
  const hub = { name: 'hub', kind: 'github', clientId: 'c', clientSecret };
  const ids = { clientId: 'org.example', teamId: 'TEAM123456', keyId: 'KEY1234567' };
  const apple = { name: 'apple', kind: 'apple', ...ids, privateKey: pem };
  for (const provider of [hub, apple]) {
    const responses = [
      await ask(app, 'POST /admin/providers', provider, owner),
      await ask(app, `PUT /admin/providers/${provider.name}`, { ...provider, enabled: false }, owner),
      await ask(app, `GET /admin/providers/${provider.name}`, undefined, owner),
      await ask(app, 'GET /admin/providers', undefined, owner),
    ];
    for (const { statusCode, body } of responses) {
      t.ok(statusCode < 300, body);
      refusals.push(body);
    }
  }
  await ask(app, 'PUT /admin/providers/hub', { ...hub, clientSecret: other }, owner);

  // A second factor: its seed, its recovery codes, the tickets between the two steps.
  const begun = (await ask(app, 'POST /auth/mfa/totp', undefined, owner)).json();
  plant('seed that was begun', begun.secret);
  const factor = await setUpFactor(app, services, owner);
  plant('seed', factor.secret);
  const [recovery = '', spare = ''] = factor.recoveryCodes;
  plant('recovery code', recovery);
  plant('spare recovery code', spare);
  const asAdmin = { username: 'owner@example.org', password: PASSWORD };
  const ticket = async () => {
    const requested = await ask(app, 'POST /auth/login', asAdmin);
    return plant(`factor ticket ${planted.secrets.size}`, requested.json().ticket);
  };
  for (const code of [await factor.code(), recovery]) {
    const entered = toUser(await ask(app, 'POST /auth/mfa/login', { ticket: await ticket(), code }));
    plant(`factor session ${planted.secrets.size}`, entered.refreshToken);
  }
  await refused('POST /auth/mfa/login', { ticket: await ticket(), code: wrongCode(factor.secret) });
  await refused('POST /auth/mfa/login', { ticket: await ticket(), code: recovery });
  await refused('POST /auth/mfa/login', { ticket: spare, code: spare });
  await refused('POST /auth/mfa/totp/confirm', { code: codeNow(begun.secret) }, owner);
  await refused('POST /auth/mfa/totp/confirm', { code: spare, more: spare }, owner);
  for (const code of (await ask(app, 'POST /auth/mfa/recovery-codes', undefined, owner)).json().recoveryCodes) {
    plant(`recovery code ${planted.secrets.size}`, code);
  }
  await ask(app, 'DELETE /auth/mfa/totp', undefined, owner);
  const again = await setUpFactor(app, services, owner);
  plant('seed active', again.secret);

  // Used wrongly.
  for (const wrongly of [
    { ...hub, clientSecret: { set: other } },
    { ...hub, clientSecret: [other] },
    { ...hub, kind: other },
    { ...hub, clientSecret: other, scopes: [other, other] },
    { ...hub, endpoints: { token: `https://x:${other}@example.org/` } },
    { ...apple, privateKey: pem.replace('BEGIN', 'BEGUN') },
    { ...apple, keyId: other },
  ]) {
    await refused(`PUT /admin/providers/${wrongly.name}`, wrongly, owner);
  }
  // Another program damages it, and it cannot be used from then on.
  const stored = services.mongo.data.collection<{ _id: string }>('_providers');
  await stored.updateOne({ _id: 'hub' }, { $set: { issuer: 'https://example.org' } });
  await until(() => services.oauth.providers.get('hub') === undefined, 'it is out of force');
  await refused('POST /admin/providers/hub/check', undefined, owner);
  await ask(app, 'DELETE /admin/providers/hub', undefined, owner);
  await refused('POST /auth/login', { username: 'ada', password: wrong });
  await refused('POST /auth/login', { username: wrong, password: wrong });
  await refused('POST /auth/login', { username: third, password: 'x', more: third });
  await refused('POST /auth/login', { username: 'ada', password: [third] });
  await refused('POST /auth/register', { username: third, password: third });
  await refused('POST /auth/register', { username: 'ada', password: third });
  await refused('POST /auth/refresh', { refreshToken: ada.refreshToken });
  await refused('POST /auth/refresh', { refreshToken: `${renewed.refreshToken}x` });
  await refused('POST /auth/verify', { token: reset });
  await refused('POST /setup', { token: link, email: 'not an address', password: third });
  await refused('POST /setup', { token: link, email, password: third });
  await refused(`GET /auth/me?token=${ada.accessToken}`);
  await refused('GET /auth/me', undefined, { headers: { authorization: `Basic ${third}` } });
  await refused('GET /auth/me', undefined, { headers: { authorization: `Bearer ${ada.accessToken}` } });
  await refused('GET /auth/me', undefined, { headers: { authorization: `Bearer ${key.key}x` } });
  const broken = await app.inject({
    method: 'POST',
    url: '/auth/login',
    headers: { 'content-type': 'application/json' },
    payload: `{"username":"ada","password":"${third}`,
  });
  refusals.push(broken.body);
  await ask(app, `DELETE /admin/keys/${key.id}`, undefined, owner);
  await app.inject({ url: '/api/posts', headers: { ...owner.headers, 'millrace-as': `user:${ada.id}` } });

  await services.auth.rotateKeys(false);

  // The rotation comes last: then everything is in the log and the audit log.
  const audited = async () => (await ask(app, 'GET /admin/audit?limit=1000', undefined, owner)).json();
  await until(
    async () =>
      (await ask(app, 'GET /admin/audit?eventType=system.signing-keys.rotated', undefined, owner)).json().length > 0,
    'the audit',
  );
  const types = new Set((await audited()).map(({ type }: { type: string }) => type));
  const collections = ['system.user.updated', 'system.key.created', 'system.key.deleted', 'system.user.created'];
  const sessions = ['system.session.created', 'system.session.deleted'];
  const occurrences = Object.keys(AUDIT_EVENT_TYPES).filter((type) => !ELSEWHERE.has(type));
  for (const type of [...collections, ...sessions, ...occurrences]) t.ok(types.has(type), type);

  await planted.lookThrough(services);
  planted.look('the audit', JSON.stringify(await audited()));
  for (const line of lines) planted.look('the log', line);
  for (const refusal of refusals) planted.look('a refusal', refusal);
  t.strictSame(planted.found, []);
  t.ok(planted.checked > 100, `${planted.checked} places looked at`);
  t.ok(planted.secrets.size >= 16, [...planted.secrets.keys()].join());

  await t.test('the search for secrets finds planted ones', async (t) => {
    await services.mongo.data.collection('leak').insertOne({ deep: { nested: [`x${third}y`] } });
    await planted.lookThrough(services);
    t.ok(planted.found.includes(`third password in ${database}.leak`), planted.found.join());
  });
});

t.test('a password is stored as a salted hash that is slow to guess', async (t) => {
  const { app, services } = await buildTestApp(t);
  const hashes = new Set<string>();
  for (const name of ['ada', 'grace']) {
    const { id } = await signUp(app, name);
    const kept = await services.mongo.log.collection<{ _id: string; hash: string }>('passwords').findOne({ _id: id });
    t.match(kept?.hash, /^\$argon2id\$v=19\$m=19456,t=2,p=1\$[\w+/]{22}\$[\w+/]{43}$/);
    hashes.add(String(kept?.hash).slice(-43));
  }
  t.equal(hashes.size, 2, 'equal passwords do not look equal');
});
