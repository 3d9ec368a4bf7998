/** Setting up SAML: our metadata and the provider's, keys that change, and how administrators learn of mistakes. */
import t from 'tap';
import { owner, speakingAs } from '../../helpers/principals.ts';
import { samlKeys } from '../../helpers/saml/certificate.ts';
import { byHand, ENTITY, samlFixture } from '../../helpers/saml/saml-fixture.ts';
import { ask } from '../../helpers/users.ts';

const REFUSED = 'provider-response-invalid';
const fixture = await samlFixture(t);
const { app, provider, services } = fixture;
const own = samlKeys();
const withKey = { privateKey: own.privateKey };
const boss = () => ({ headers: { authorization: '', ...speakingAs(services)(owner()) } });

t.test('SAML keys', async (t) => {
  await t.test('two SAML keys are valid at a time, and a new one is looked up', async (t) => {
    await fixture.provideSaml();
    const [old, next] = [provider.keys, samlKeys()];
    provider.published = [old, next];
    t.equal((await fixture.enter('acme')).statusCode, 200);
    provider.keys = next;
    await fixture.provideSaml({}, { roles: ['x'] });
    t.equal((await fixture.enter('acme')).statusCode, 200, 'the second one');
    provider.keys = old;
    t.equal((await fixture.enter('acme')).statusCode, 200, 'and the first one still');
    provider.published = [old];
  });

  await t.test('SAML metadata that cannot be read', async (t) => {
    for (const metadataResponse of [
      { status: 500 },
      { body: 'hello' },
      { body: '<!DOCTYPE x><x/>' },
      { body: '<md:EntityDescriptor xmlns:md="urn:oasis:names:tc:SAML:2.0:metadata" entityID="x"/>' },
    ]) {
      await fixture.provideSaml({}, { roles: [`r${Math.random()}`.replace('.', '')] });
      provider.metadataResponse = metadataResponse;
      t.equal((await fixture.outcome('acme')).error, REFUSED, JSON.stringify(metadataResponse));
      provider.metadataResponse = null;
      t.equal((await fixture.enter('acme')).statusCode, 200, 'it is not kept');
      provider.metadataResponse = metadataResponse;
      t.equal((await fixture.enter('acme')).statusCode, 200, 'what was read before is');
      provider.metadataResponse = null;
    }
  });
});

t.test('administrators and SAML', async (t) => {
  await t.test('administrators get our SAML metadata', async (t) => {
    await fixture.provideSaml({ certificate: own.certificate }, withKey);
    const response = await ask(app, 'GET /auth/saml/acme/metadata');
    t.equal(response.statusCode, 200, response.body);
    t.equal(response.headers['content-type'], 'application/samlmetadata+xml');
    t.match(response.body, /AuthnRequestsSigned="true"/);
    t.match(response.body, `entityID="${ENTITY}"`);
    t.match(response.body, /\/auth\/saml\/acme\/acs"/);
    t.match(response.body, own.certificate.split('\n')[2] ?? 'x');
    t.notMatch(response.body, 'PRIVATE');
    t.equal((await ask(app, 'GET /auth/saml/none/metadata')).statusCode, 404);
  });

  await t.test('administrators see the errors of a SAML provider', async (t) => {
    const known = byHand(provider);
    const { host } = new URL(provider.origin);
    const text = await (await fetch(`${provider.origin}/metadata`)).text();
    const written = (change: (xml: string) => string) => ({ metadata: change(text), metadataUrl: undefined });
    const cases: readonly (readonly [string, object, object])[] = [
      ['/saml', {}, { saml: undefined }],
      ['/saml/issuer', { metadataUrl: undefined }, {}],
      ['/saml/metadata', { metadata: '<x/>', metadataUrl: undefined }, {}],
      ['/saml/metadata', { metadata: '<!DOCTYPE x><x/>', metadataUrl: undefined }, {}],
      ['/saml/metadataUrl', { metadataUrl: 'file:///etc/passwd' }, {}],
      ['/saml/metadataUrl', { metadataUrl: 'https://id.example.org:25/metadata' }, {}],
      ['/saml/metadata', written((xml) => xml.replaceAll(`${host}/sso`, 'id.example.org:25/sso')), {}],
      ['/saml/metadata', written((xml) => xml.replaceAll(`${host}/slo`, 'id.example.org:6000/slo')), {}],
      [
        '/saml/metadata',
        written((xml) => xml.replaceAll(/Location="[^"]*sso"/g, 'Location="javascript:alert(1)"')),
        {},
      ],
      ['/saml/metadata', written((xml) => xml.replaceAll(/<md:SingleSignOnService[^>]*>/g, '')), {}],
      ['/saml/entryPoint', { ...known, entryPoint: 'javascript:alert(1)' }, {}],
      ['/saml/certificates/0', { ...known, certificates: [samlKeys({ bits: 1_024 }).certificate] }, {}],
      ['/saml/certificates/0', { ...known, certificates: ['x'.repeat(80)] }, {}],
      ['/saml/certificate', {}, withKey],
      ['/saml/certificate', { certificate: samlKeys().certificate }, withKey],
      ['/privateKey', { certificate: own.certificate }, { privateKey: samlKeys({ bits: 1_024 }).privateKey }],
      ['/privateKey', { certificate: own.certificate }, {}],
      ['/scopes', {}, { scopes: ['openid'] }],
      ['/clientSecret', {}, { clientSecret: 'x' }],
    ];
    for (const [pointer, saml, more] of cases) {
      const body = {
        name: 'bad',
        kind: 'saml',
        clientId: ENTITY,
        saml: { metadataUrl: `${provider.origin}/metadata`, ...saml },
      };
      const response = await ask(app, 'POST /admin/providers', { ...body, ...more }, boss());
      t.equal(response.statusCode, 400, `${pointer}: ${response.body}`);
      t.ok(
        response.json().errors?.some((issue: { pointer: string }) => issue.pointer === pointer),
        `${pointer}: ${response.body}`,
      );
    }
  });

  await t.test('administrators can check a SAML provider', async (t) => {
    await fixture.provideSaml({ certificate: own.certificate }, withKey);
    const check = async () => (await ask(app, 'POST /admin/providers/acme/check', undefined, boss())).json();
    const checked = await check();
    t.match(checked, { passed: true, redirectUrl: /\/auth\/saml\/acme\/acs$/ });
    t.strictSame(
      checked.checks.map(({ name }: { name: string }) => name),
      ['metadata', 'certificates', 'secret', 'redirect'],
    );
    provider.metadataResponse = { status: 404 };
    t.match(await check(), { passed: false, checks: [{ name: 'metadata', message: /status 404/ }] });
    provider.metadataResponse = null;
  });
});
