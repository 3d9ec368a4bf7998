/** Setting up SAML: our metadata and the provider's, keys that change, and what owners are told of mistakes. */
import t from 'tap';
import { ask } from '../../helpers/accounts.ts';
import { owner, speakingAs } from '../../helpers/principals.ts';
import { samlKeys } from '../../helpers/saml/certificate.ts';
import { byHand, ENTITY, samlWorld } from '../../helpers/saml/saml-world.ts';

const REFUSED = 'provider-answer-refused';
const world = await samlWorld(t);
const { app, provider, parts } = world;
const own = samlKeys();
const withKey = { privateKey: own.privateKey };
const boss = () => ({ headers: { authorization: '', ...speakingAs(parts)(owner()) } });

t.test('keys', async (t) => {
  await t.test('two at a time, and a new one is looked up', async (t) => {
    await world.provideSaml();
    const [old, next] = [provider.keys, samlKeys()];
    provider.published = [old, next];
    t.equal((await world.enter('acme')).statusCode, 200);
    provider.keys = next;
    await world.provideSaml({}, { roles: ['x'] });
    t.equal((await world.enter('acme')).statusCode, 200, 'the second one');
    provider.keys = old;
    t.equal((await world.enter('acme')).statusCode, 200, 'and the first one still');
    provider.published = [old];
  });

  await t.test('metadata that cannot be read', async (t) => {
    for (const metadataAnswer of [
      { status: 500 },
      { body: 'hello' },
      { body: '<!DOCTYPE x><x/>' },
      { body: '<md:EntityDescriptor xmlns:md="urn:oasis:names:tc:SAML:2.0:metadata" entityID="x"/>' },
    ]) {
      await world.provideSaml({}, { roles: [`r${Math.random()}`.replace('.', '')] });
      provider.metadataAnswer = metadataAnswer;
      t.equal((await world.outcome('acme')).error, REFUSED, JSON.stringify(metadataAnswer));
      provider.metadataAnswer = null;
      t.equal((await world.enter('acme')).statusCode, 200, 'it is not kept');
      provider.metadataAnswer = metadataAnswer;
      t.equal((await world.enter('acme')).statusCode, 200, 'what was read before is');
      provider.metadataAnswer = null;
    }
  });
});

t.test('owners', async (t) => {
  await t.test('get our metadata', async (t) => {
    await world.provideSaml({ certificate: own.certificate }, withKey);
    const answer = await ask(app, 'GET /auth/saml/acme/metadata');
    t.equal(answer.statusCode, 200, answer.body);
    t.equal(answer.headers['content-type'], 'application/samlmetadata+xml');
    t.match(answer.body, /AuthnRequestsSigned="true"/);
    t.match(answer.body, `entityID="${ENTITY}"`);
    t.match(answer.body, /\/auth\/saml\/acme\/acs"/);
    t.match(answer.body, own.certificate.split('\n')[2] ?? 'x');
    t.notMatch(answer.body, 'PRIVATE');
    t.equal((await ask(app, 'GET /auth/saml/none/metadata')).statusCode, 404);
  });

  await t.test('are told what is wrong with a provider', async (t) => {
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
      const answer = await ask(app, 'POST /admin/providers', { ...body, ...more }, boss());
      t.equal(answer.statusCode, 400, `${pointer}: ${answer.body}`);
      t.ok(
        answer.json().errors?.some((fault: { pointer: string }) => fault.pointer === pointer),
        `${pointer}: ${answer.body}`,
      );
    }
  });

  await t.test('can try out a provider', async (t) => {
    await world.provideSaml({ certificate: own.certificate }, withKey);
    const check = async () => (await ask(app, 'POST /admin/providers/acme/check', undefined, boss())).json();
    const checked = await check();
    t.match(checked, { passed: true, redirect: /\/auth\/saml\/acme\/acs$/ });
    t.strictSame(
      checked.checks.map(({ check: name }: { check: string }) => name),
      ['metadata', 'certificates', 'secret', 'redirect'],
    );
    provider.metadataAnswer = { status: 404 };
    t.match(await check(), { passed: false, checks: [{ check: 'metadata', verdict: /status 404/ }] });
    provider.metadataAnswer = null;
  });
});
