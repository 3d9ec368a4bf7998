/** Large responses of SAML: about users in many groups, and made to keep the server busy. */
import t from 'tap';
import { samlKeys } from '../../helpers/saml/certificate.ts';
import { AES_GCM } from '../../helpers/saml/saml-provider.ts';
import { samlWorld } from '../../helpers/saml/saml-world.ts';

const REFUSED = 'provider-answer-refused';
const world = await samlWorld(t);
const { app, provider, parts } = world;
const own = samlKeys();
const withKey = { privateKey: own.privateKey };

t.test('a response of several hundred kilobytes, about a user in many groups, signs in', async (t) => {
  await world.provideSaml(
    { certificate: own.certificate },
    { ...withKey, mapping: { roles: { claim: 'groups', values: { last: ['late'] } } } },
  );
  const { user } = provider;
  const groups = Array.from({ length: 4_500 }, (_, n) => `https://id.example.org/groups/${n}`);
  provider.user = { ...user, nameId: 'in-many-groups', attributes: { groups: [...groups, 'last'] } };
  for (const encrypts of [null, { certificate: own.certificate, cipher: AES_GCM }]) {
    Object.assign(provider, { signs: ['assertion'], encrypts });
    const answer = await world.enter('acme');
    t.equal(answer.statusCode, 200, await world.reason());
    t.match(answer.json().user, { roles: ['late'] });
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
  t.match((await post('/auth/saml/acme/acs', 1_048_576)).json(), { code: 'flow-unusable' }, 'one MiB is read');
  t.match((await post('/auth/saml/acme/acs', 1_048_577)).json(), { status: 413, code: 'body-too-large' });
  t.match((await post('/auth/saml/acme/slo', 65_537)).json(), { status: 413 }, 'this route alone takes so much');
  t.match((await post('/auth/acme/callback', 65_537)).json(), { status: 413 });
});

t.test('a large response that would keep the server busy is refused before it is parsed', async (t) => {
  await world.provideSaml();
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
    await parts.mongo.log.collection('delays').deleteMany({});
    const begun = performance.now();
    t.equal((await world.outcome('acme')).error, REFUSED, name);
    t.match(await world.reason(), reason, name);
    t.comment(`${name}: ${Math.round(performance.now() - begun)} ms`);
  }
  provider.lie = {};
});
