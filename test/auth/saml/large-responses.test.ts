/** Large SAML responses: about users in many groups, and those that would keep the server busy. */
import t from 'tap';
import { samlKeys } from '../../helpers/saml/certificate.ts';
import { samlFixture } from '../../helpers/saml/saml-fixture.ts';
import { AES_GCM } from '../../helpers/saml/saml-provider.ts';

const REFUSED = 'provider-response-invalid';
const fixture = await samlFixture(t);
const { app, provider, services } = fixture;
const own = samlKeys();
const withKey = { privateKey: own.privateKey };

t.test('a SAML response of several hundred kilobytes, about a user in many groups, signs in', async (t) => {
  await fixture.provideSaml(
    { certificate: own.certificate },
    { ...withKey, mapping: { roles: { claim: 'groups', values: { last: ['late'] } } } },
  );
  const { user } = provider;
  const groups = Array.from({ length: 4_500 }, (_, n) => `https://id.example.org/groups/${n}`);
  provider.user = { ...user, nameId: 'in-many-groups', attributes: { groups: [...groups, 'last'] } };
  for (const encrypts of [null, { certificate: own.certificate, cipher: AES_GCM }]) {
    Object.assign(provider, { signs: ['assertion'], encrypts });
    const response = await fixture.enter('acme');
    t.equal(response.statusCode, 200, await fixture.reason());
    t.match(response.json().user, { roles: ['late'] });
    t.ok(provider.last.response.length > 300_000, `${provider.last.response.length} characters`);
  }
  Object.assign(provider, { user, encrypts: null });
  const post = (path: string, bytes: number) => {
    const payload = `SAMLResponse=${'A'.repeat(bytes - 13)}`;
    return app.inject({
      method: 'POST',
      url: path,
      payload,
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
    });
  };
  t.match((await post('/auth/saml/acme/acs', 1_048_576)).json(), { code: 'sign-in-expired' }, 'one MiB is read');
  t.match((await post('/auth/saml/acme/acs', 1_048_577)).json(), { status: 413, code: 'body-too-large' });
  t.match((await post('/auth/saml/acme/slo', 65_537)).json(), { status: 413 }, 'this route alone takes so much');
  t.match((await post('/auth/providers/acme/callback', 65_537)).json(), { status: 413 });
});

t.test('a large SAML response that would keep the server busy is rejected before it is parsed', async (t) => {
  await fixture.provideSaml();
  const many = (count: number, write: (n: number) => string) =>
    Array.from({ length: count }, (_, n) => write(n)).join('');
  const inside = (text: string) => (xml: string) => xml.replace('<saml:Assertion', (begin) => `${text}${begin}`);
  const deep = many(20_000, (n) => `<a xmlns:n${n}="u">`) + '</a>'.repeat(20_000);
  const lies: readonly (readonly [string, (xml: string) => string, RegExp])[] = [
    ['deep', inside(deep), /nests too deep/],
    ['attributes', inside(`<a ${many(60_000, (n) => `n${n}="" `)}/>`), /too many attributes/],
    [
      'namespaces',
      inside(many(30, (n) => `<a ${many(20, (m) => `xmlns:n${n}x${m}="u" `)}>`) + '</a>'.repeat(30)),
      /too many attributes/,
    ],
    ['elements', inside(many(60_000, () => '<a/>')), /more than 50000 elements/],
    ['an attribute without an end', inside('<a b="'), /not well-formed/],
  ];
  for (const [name, sent, reason] of lies) {
    provider.lie = { sent };
    await services.mongo.log.collection('login_throttle').deleteMany({});
    const begun = performance.now();
    t.equal((await fixture.outcome('acme')).error, REFUSED, name);
    t.match(await fixture.reason(), reason, name);
    t.comment(`${name}: ${Math.round(performance.now() - begun)} ms`);
  }
  provider.lie = {};
});
