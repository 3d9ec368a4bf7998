/**
 * Identity providers and redirect URLs over HTTP: stored as data, encrypted, an event each, active in every process.
 */
import { randomBytes } from 'node:crypto';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import t from 'tap';
import { buildTestApp } from '../../helpers/app.ts';
import { stopEventLog } from '../../helpers/events/stop-event-log.ts';
import { testMongo } from '../../helpers/mongo.ts';
import { ownTimeOf } from '../../helpers/own-time.ts';
import { owner, speakingAs } from '../../helpers/principals.ts';
import { until } from '../../helpers/until.ts';

setFlagsFromString('--expose-gc');
const gc: () => void = runInNewContext('gc');

const SECRET = 'planted-provider-secret-71c2';
const ACME = {
  name: 'acme',
  kind: 'oidc',
  clientId: 'c1',
  clientSecret: SECRET,
  issuer: 'https://id.example.org',
  mapping: { roles: { claim: 'https://x.org/$groups', values: { 'CN=eng,DC=x.org': ['author'], $all: ['reader'] } } },
  require: { 'https://x.org/tid': 7, $odd: ['a'] },
};
const SHOWN = { ...ACME, clientSecret: { set: true } };

type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

async function twoProcesses(t: import('tap').Test, settings: Record<string, string> = {}) {
  const testDatabase = await testMongo(t);
  const production = {
    MILLRACE_MODE: 'production',
    MILLRACE_MASTER_KEY: randomBytes(32).toString('base64'),
    ...settings,
  };
  const [{ app, services }, other] = [
    await buildTestApp(t, production, testDatabase),
    await buildTestApp(t, production, testDatabase),
  ];
  const boss = speakingAs(services)(owner());
  const send = (method: Method, url: string, payload?: object, headers: Record<string, string> = {}) =>
    app.inject({ method, url, headers: { ...boss, ...headers }, ...(payload === undefined ? {} : { payload }) });
  /** How long it takes until the other process has it, in milliseconds. */
  const elsewhere = (fact: (services: typeof other.services) => boolean, what: string) =>
    ownTimeOf(() => until(() => fact(other.services), what));
  return { app, parts: services, other, testDatabase, production, boss, send, elsewhere };
}

t.test('providers are data of administrators', async (t) => {
  const { app, parts: services, boss, send, elsewhere, testDatabase, production } = await twoProcesses(t);

  await t.test('a provider is created, shown without its secret, and active everywhere within a second', async (t) => {
    t.strictSame((await send('GET', '/admin/providers')).json(), []);
    const created = await send('POST', '/admin/providers', ACME);
    t.equal(created.statusCode, 201, created.body);
    t.equal(created.headers.location, '/admin/providers/acme');
    t.strictSame(created.json(), SHOWN);
    t.match(services.oauth.providers.get('acme'), { clientSecret: SECRET, scopes: ['openid', 'email', 'profile'] });
    const ms = await elsewhere(
      ({ oauth: { providers } }) => providers.get('acme') !== undefined,
      'the other process has it',
    );
    t.comment(`active elsewhere after ${ms.toFixed()} ms`);
    t.ok(ms < 1_000, `${ms.toFixed()} ms`);
    t.strictSame((await send('GET', '/admin/providers')).json(), [SHOWN]);
    t.strictSame((await send('GET', '/admin/providers/acme')).json(), SHOWN);
    t.match((await send('POST', '/admin/providers', ACME)).json(), { code: 'provider-exists' });
    t.match((await send('GET', '/admin/providers/none')).json(), { code: 'provider-not-found' });
  });

  await t.test(
    'a change of a provider keeps the secret that is not sent, and is active everywhere within a second',
    async (t) => {
      const read = await send('GET', '/admin/providers/acme');
      const etag = String(read.headers.etag);
      const changed = await send('PUT', '/admin/providers/acme', { ...SHOWN, enabled: false }, { 'if-match': etag });
      t.equal(changed.statusCode, 200, changed.body);
      t.not(changed.headers.etag, etag);
      t.match(services.oauth.providers.get('acme'), { enabled: false, clientSecret: SECRET });
      t.strictSame(services.oauth.providers.enabled(), []);
      const ms = await elsewhere(
        ({ oauth: { providers } }) => providers.get('acme')?.enabled === false,
        'it is disabled there',
      );
      t.ok(ms < 1_000, `${ms.toFixed()} ms`);
      const late = await send('PUT', '/admin/providers/acme', SHOWN, { 'if-match': etag });
      t.match(late.json(), { status: 412, code: 'precondition-failed' });
      t.match((await send('PUT', '/admin/providers/none', { ...SHOWN, name: 'none' })).json(), {
        code: 'provider-not-found',
      });
      t.match((await send('PUT', '/admin/providers/acme', { ...SHOWN, name: 'b' })).json(), {
        code: 'invalid-body',
        errors: [{ pointer: '/name' }],
      });
      const stolen = { ...SHOWN, issuer: 'https://evil.example.org' };
      t.match((await send('PUT', '/admin/providers/acme', stolen)).json(), {
        code: 'invalid-body',
        errors: [{ pointer: '/clientSecret', detail: /sent again/ }],
      });
      const { name: _, clientSecret: __, ...rest } = ACME;
      const before = services.oauth.providers.get('acme')?.version;
      t.equal((await send('PUT', '/admin/providers/acme', { ...rest, clientSecret: 'other' })).statusCode, 200);
      t.match(services.oauth.providers.get('acme'), { clientSecret: 'other', enabled: true });
      t.not(services.oauth.providers.get('acme')?.version, before, 'a change of the secret alone is a version');
    },
  );

  await t.test('a provider that another program writes is active, and an invalid one is not', async (t) => {
    const stored = services.mongo.data.collection<{ _id: string }>('_providers');
    const version = services.oauth.providers.get('acme')?.version;
    await stored.updateOne({ _id: 'acme' }, { $set: { clientId: 'c9' } });
    await until(() => services.oauth.providers.get('acme')?.clientId === 'c9', 'the change is active');
    t.not(services.oauth.providers.get('acme')?.version, version);
    await stored.updateOne({ _id: 'acme' }, { $set: { issuer: 'nonsense' } });
    await until(() => services.oauth.providers.get('acme') === undefined, 'it is out of force');
    t.equal((await send('PUT', '/admin/providers/acme', ACME)).statusCode, 200);
    t.equal(services.oauth.providers.get('acme')?.clientSecret, SECRET);
  });

  await t.test('a removed provider is gone everywhere within a second', async (t) => {
    await elsewhere(({ oauth: { providers } }) => providers.get('acme')?.clientSecret === SECRET, 'it is there');
    t.equal((await send('DELETE', '/admin/providers/acme', undefined, { 'if-match': '"x"' })).statusCode, 412);
    t.equal((await send('DELETE', '/admin/providers/acme')).statusCode, 204);
    t.equal(services.oauth.providers.get('acme'), undefined);
    const ms = await elsewhere(({ oauth: { providers } }) => providers.get('acme') === undefined, 'it is gone there');
    t.ok(ms < 1_000, `${ms.toFixed()} ms`);
    t.equal((await send('DELETE', '/admin/providers/acme')).statusCode, 404);
    t.equal(await services.mongo.log.collection('provider_secrets').countDocuments(), 0);
  });

  await t.test('each change of a provider is an event and an audit entry, without the secret', async (t) => {
    const audited = async () => {
      const response = await app.inject({ url: '/admin/audit?limit=1000&eventType=system.provider.*', headers: boss });
      return response.json().reverse();
    };
    await until(async () => (await audited()).at(-1)?.type === 'system.provider.deleted', 'the audit');
    const events = await audited();
    t.match(events[0], {
      type: 'system.provider.created',
      actor: { kind: 'admin', id: 'o1' },
      documentId: 'acme',
      data: { kind: 'oidc', clientId: 'c1', require: ACME.require, mapping: ACME.mapping },
    });
    t.match(events[1], { type: 'system.provider.updated', changed: ['enabled'], data: { enabled: false } });
    t.match(events.at(-1), { type: 'system.provider.deleted', actor: { kind: 'admin' } });
    t.notMatch(JSON.stringify(events), /clientSecret|planted/);
  });

  await t.test('at rest a secret is encrypted, and a start encrypts it with the newest key', async (t) => {
    await send('POST', '/admin/providers', ACME);
    const kept = async () => JSON.stringify(await services.mongo.log.collection('provider_secrets').find().toArray());
    const before = await kept();
    t.match(before, /enc1\./);
    t.notMatch(before, SECRET);
    const next = { MILLRACE_MASTER_KEY: `${randomBytes(32).toString('base64')},${production.MILLRACE_MASTER_KEY}` };
    const later = await buildTestApp(t, { ...production, ...next }, testDatabase);
    t.not(await kept(), before);
    t.equal(later.services.oauth.providers.get('acme')?.clientSecret, SECRET);
  });
});

t.test('a change of a provider without an event is noticed within a second, too', async (t) => {
  const { parts: services, other, elsewhere } = await twoProcesses(t);
  // As if nothing recorded events: neither process learns of anything.
  await Promise.all([services, other.services].map(stopEventLog));
  await services.oauth.providers.create(ACME, { by: null, request: null });
  await services.oauth.redirects.replace(['https://app.example.org/in'], () => {}, { by: null, request: null });
  const ms = await elsewhere(
    ({ oauth: { providers, redirects } }) =>
      providers.get('acme') !== undefined && redirects.allows('https://app.example.org/in'),
    'both are there',
  );
  t.ok(ms < 1_000, `${ms.toFixed()} ms`);
});

t.test('ten versions of a provider leave nothing of the old ones behind', async (t) => {
  const { parts: services, other, elsewhere, send } = await twoProcesses(t);
  await send('POST', '/admin/providers', ACME);
  await send('POST', '/admin/providers', { ...ACME, name: 'still' });
  await elsewhere(({ oauth: { providers } }) => providers.get('still') !== undefined, 'both are there');
  const still = services.oauth.providers.get('still');
  const old: WeakRef<object>[] = [];
  const remember = () => {
    for (const { providers } of [services.oauth, other.services.oauth]) {
      const one = providers.get('acme');
      if (one !== undefined) old.push(new WeakRef(one));
    }
  };
  const timers = () => process.getActiveResourcesInfo().filter((name) => /Timeout|Immediate/.test(name)).length;
  const resources = timers();
  for (let number = 1; number <= 10; number += 1) {
    remember();
    await send('PUT', '/admin/providers/acme', { ...ACME, clientId: `v${number}` });
    await elsewhere(
      ({ oauth: { providers } }) => providers.get('acme')?.clientId === `v${number}`,
      `version ${number}`,
    );
  }
  t.equal(services.oauth.providers.get('still'), still, 'the provider that did not change is the same object');
  t.equal(old.length, 20);
  await until(() => {
    gc();
    return old.every((ref) => ref.deref() === undefined);
  }, 'all old versions are collected');
  await until(() => timers() <= resources, `as many timers as before (${resources})`);
  t.equal(await services.mongo.log.collection('provider_secrets').countDocuments(), 2);
});

t.test('redirect URLs are the setting and what administrators add, active everywhere within a second', async (t) => {
  const fixed = 'https://app.example.org/fixed';
  const { parts: services, send, elsewhere } = await twoProcesses(t, { MILLRACE_REDIRECT_URLS: ` ${fixed},` });
  const added = 'https://app.example.org/added';
  const first = await send('GET', '/admin/settings');
  t.strictSame(first.json(), { redirectUrls: [], configuredRedirectUrls: [fixed] });
  t.ok(services.oauth.redirects.allows(fixed));
  const etag = String(first.headers.etag);
  const saved = await send('PATCH', '/admin/settings', { redirectUrls: [added] }, { 'if-match': etag });
  t.equal(saved.statusCode, 200, saved.body);
  t.strictSame(saved.json(), { redirectUrls: [added], configuredRedirectUrls: [fixed] });
  t.ok(services.oauth.redirects.allows(added));
  const ms = await elsewhere(({ oauth: { redirects } }) => redirects.allows(added), 'it is allowed there');
  t.ok(ms < 1_000, `${ms.toFixed()} ms`);
  t.equal((await send('PATCH', '/admin/settings', { redirectUrls: [] }, { 'if-match': etag })).statusCode, 412);
  t.match((await send('PATCH', '/admin/settings', { redirectUrls: [added, 'http://app.example.org/'] })).json(), {
    code: 'invalid-body',
    errors: [{ pointer: '/redirectUrls/1', detail: /https/ }],
  });
  t.match((await send('PATCH', '/admin/settings', { redirectUrls: [], more: 1 })).json(), { code: 'invalid-body' });
  t.equal((await send('PATCH', '/admin/settings', {})).statusCode, 200);
  t.strictSame(
    (await send('GET', '/admin/settings')).json().redirectUrls,
    [added],
    'a rejected or an empty patch changes nothing',
  );
  t.equal((await send('PATCH', '/admin/settings', { redirectUrls: [] })).statusCode, 200);
  await elsewhere(
    ({ oauth: { redirects } }) => !redirects.allows(added) && redirects.allows(fixed),
    'it is taken back there',
  );
});
