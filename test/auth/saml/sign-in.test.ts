/** Sign-in by SAML: both ways to start, each way to sign and to encrypt, and what binds a response to one browser. */
import { createVerify } from 'node:crypto';
import t from 'tap';
import { newBrowser, newClient, outcomeOf } from '../../helpers/providers/sign-in-fixture.ts';
import { samlKeys } from '../../helpers/saml/certificate.ts';
import { begunSignIn, byHand, ENTITY, samlFixture } from '../../helpers/saml/saml-fixture.ts';
import { AES_GCM } from '../../helpers/saml/saml-provider.ts';
import { ask } from '../../helpers/users.ts';

const REFUSED = 'provider-response-invalid';
const fixture = await samlFixture(t);
const { app, provider, services } = fixture;
const own = samlKeys();
const withKey = { privateKey: own.privateKey };

t.test('SAML signs in to the same user, however the response is signed', async (t) => {
  await fixture.provideSaml({ certificate: own.certificate }, withKey);
  const ways = [
    { name: 'signed assertion', signs: ['assertion'], encrypts: null },
    { name: 'signed response', signs: ['response'], encrypts: null },
    { name: 'both', signs: ['assertion', 'response'], encrypts: null },
    { name: 'encrypted', signs: ['assertion'], encrypts: { certificate: own.certificate, cipher: AES_GCM } },
    {
      name: 'encrypted, response signed',
      signs: ['response'],
      encrypts: { certificate: own.certificate, cipher: AES_GCM },
    },
    {
      name: 'encrypted, both signed',
      signs: ['assertion', 'response'],
      encrypts: { certificate: own.certificate, cipher: AES_GCM },
    },
  ] as const;
  const ids = new Set<string>();
  for (const { name, signs, encrypts } of ways) {
    Object.assign(provider, { signs, encrypts });
    const response = await fixture.enter('acme');
    t.equal(response.statusCode, 200, `${name}: ${response.body} ${await fixture.reason()}`);
    t.match(response.json().user, {
      email: 'ada@provider.example',
      emailVerified: false,
      profile: { name: 'Ada Lovelace' },
    });
    ids.add(response.json().user.id);
  }
  t.equal(ids.size, 1);

  await t.test('a signature inside encrypted content is checked like the others', async (t) => {
    Object.assign(provider, { signs: ['assertion'], encrypts: { certificate: own.certificate, cipher: AES_GCM } });
    provider.lie = { signing: { signatureAlgorithm: 'http://www.w3.org/2000/09/xmldsig#rsa-sha1' } };
    t.equal((await fixture.outcome('acme')).error, REFUSED);
    t.match(await fixture.reason(), /rsa-sha1/);
    provider.lie = { signs: [] };
    t.equal((await fixture.outcome('acme')).error, REFUSED);
    t.match(await fixture.reason(), /neither/);
    provider.lie = { signs: [], written: (xml) => `<a>${xml}${xml}</a>` };
    t.equal((await fixture.outcome('acme')).error, REFUSED);
    provider.lie = {};
  });

  await t.test('a cipher without authentication is rejected, and a key that is not ours', async (t) => {
    provider.encrypts = { certificate: own.certificate, cipher: 'http://www.w3.org/2001/04/xmlenc#aes256-cbc' };
    t.equal((await fixture.outcome('acme')).error, REFUSED);
    t.match(await fixture.reason(), /aes256-cbc/);
    provider.encrypts = { certificate: own.certificate, cipher: AES_GCM };
    const beside =
      '<e:EncryptedKey xmlns:e="http://www.w3.org/2001/04/xmlenc#"><e:EncryptionMethod ' +
      'Algorithm="http://www.w3.org/2001/04/xmlenc#rsa-1_5"/></e:EncryptedKey>';
    provider.lie = { sent: (xml) => xml.replace('</saml:EncryptedAssertion>', `${beside}$&`) };
    t.equal((await fixture.outcome('acme')).error, REFUSED);
    t.match(await fixture.reason(), /rsa-1_5/);
    provider.lie = {};
    provider.encrypts = { certificate: samlKeys().certificate, cipher: AES_GCM };
    t.equal((await fixture.outcome('acme')).error, REFUSED);
    t.match(await fixture.reason(), /cannot be decrypted/);
  });
  Object.assign(provider, { signs: ['assertion'], encrypts: null });

  await t.test('where the response must be signed, a signed assertion is not enough', async (t) => {
    await fixture.provideSaml({ wantResponseSigned: true });
    t.equal((await fixture.outcome('acme')).error, REFUSED);
    t.match(await fixture.reason(), /the response is not signed/);
    provider.signs = ['response'];
    t.equal((await fixture.enter('acme')).statusCode, 200);
    provider.signs = ['assertion'];
  });
});

t.test('SAML requests', async (t) => {
  await fixture.provideSaml({ certificate: own.certificate, nameIdFormat: 'urn:example:format' }, withKey);
  t.equal((await fixture.enter('acme')).statusCode, 200);
  const requested = provider.requests.findLast(({ url }) => url.pathname === '/sso');
  const [, signed = '', signature = ''] = /^\?(.*)&Signature=(.*)$/.exec(requested?.url.search ?? '') ?? [];
  t.match(signed, /^SAMLRequest=.*&RelayState=.*&SigAlg=.*rsa-sha256$/);
  t.ok(
    createVerify('sha256').update(signed).verify(own.certificate, decodeURIComponent(signature), 'base64'),
    'by redirect, signed with our key',
  );
  t.match(provider.last.request, `AssertionConsumerServiceURL="${fixture.url}/auth/saml/acme/acs"`);
  t.match(provider.last.request, 'Format="urn:example:format"');
  t.notMatch(provider.last.request, 'RequestedAuthnContext');

  await fixture.provideSaml({ certificate: own.certificate, binding: 'post' }, withKey);
  t.equal((await fixture.enter('acme')).statusCode, 200);
  t.equal(provider.requests.findLast(({ url }) => url.pathname === '/sso')?.method, 'POST');
  t.match(provider.last.request, /<ds:SignatureValue>|<SignatureValue>/);

  await fixture.provideSaml(byHand(provider));
  t.equal((await fixture.enter('acme')).statusCode, 200, 'without metadata');
});

t.test('a response belongs to one browser, and works once', async (t) => {
  await fixture.provideSaml();
  const requested = (inResponseTo: string | null) => ({
    recipient: `${fixture.url}/auth/saml/acme/acs`,
    audience: ENTITY,
    inResponseTo,
  });
  // The provider's page is kept from sending its form, as if the browser stopped there.
  const begun = async () => {
    const { browser, client } = await begunSignIn(fixture);
    const page = await browser.goto(fixture.beginning('acme', client));
    return { browser, page };
  };

  await t.test('a SAML response is rejected when unsolicited', async (t) => {
    const browser = newBrowser();
    const page = await browser.goto(`${fixture.url}/signin`);
    const post = async (fields: Record<string, string>) => {
      const form = { action: new URL(requested(null).recipient), method: 'POST', fields };
      return browser.submit({ ...page, url: new URL(provider.origin), forms: [form] });
    };
    const SAMLResponse = await provider.respond(requested(null));
    for (const RelayState of ['', 'made-up', fixture.url]) {
      const response = await post({ SAMLResponse, RelayState });
      t.equal(response.status, 400);
      t.match(response.html, /sign-in-expired/);
    }
    t.equal((await post({})).status, 400);
  });

  await t.test('a SAML response is rejected with the InResponseTo of another browser', async (t) => {
    // The victim is in the middle of a sign-in, and gets the response of the attacker's browser.
    let [stolen, state] = ['', ''];
    provider.lie = {
      sent: (xml) => {
        stolen = Buffer.from(xml).toString('base64');
        return 'nothing';
      },
    };
    await begun();
    provider.lie = {
      sent: (xml) => {
        state = /InResponseTo="([^"]*)"/.exec(xml)?.[1] ?? '';
        return Buffer.from(stolen, 'base64').toString();
      },
    };
    const { page } = await begun();
    t.equal(outcomeOf(page).error, REFUSED);
    t.match(await fixture.reason(), /another InResponseTo/);
    t.not(state, '');
    provider.lie = {};
  });

  await t.test('a SAML response is rejected in the browser that did not start the sign-in', async (t) => {
    let stolen = {};
    const thief = newBrowser();
    const page = await thief.goto(`${fixture.url}/signin`);
    provider.lie = {
      sent: (xml) => {
        stolen = { SAMLResponse: Buffer.from(xml).toString('base64') };
        return 'nothing';
      },
    };
    const { page: mine } = await begun();
    provider.lie = {};
    const RelayState = provider.requests
      .findLast(({ url }) => url.pathname === '/sso')
      ?.url.searchParams.get('RelayState');
    const form = {
      action: new URL(requested(null).recipient),
      method: 'POST',
      fields: { ...stolen, RelayState: RelayState ?? '' },
    };
    const response = await thief.submit({ ...page, url: new URL(provider.origin), forms: [form] });
    t.equal(response.status, 400);
    t.equal(outcomeOf(mine).error, REFUSED);
  });

  await t.test('a SAML response is rejected when replayed', async (t) => {
    provider.lie = { facts: () => ({ assertionId: '_once' }) };
    t.equal((await fixture.enter('acme')).statusCode, 200);
    t.equal(
      (await fixture.outcome('acme')).error,
      REFUSED,
      'its id again, with a new signature and in another sign-in',
    );
    t.match(await fixture.reason(), /used before/);
    provider.lie = {};
    const browser = newBrowser();
    const client = newClient();
    const done = await browser.goto(fixture.beginning('acme', client));
    t.ok(outcomeOf(done).code);
    const fields = { SAMLResponse: Buffer.from(provider.last.response).toString('base64'), RelayState: 'x'.repeat(43) };
    const form = { action: new URL(requested(null).recipient), method: 'POST', fields };
    t.equal((await browser.submit({ ...done, url: new URL(provider.origin), forms: [form] })).status, 400);
  });

  await t.test('a SAML response is rejected with a wrong status', async (t) => {
    provider.lie = { facts: () => ({ status: 'urn:oasis:names:tc:SAML:2.0:status:Responder' }) };
    t.equal((await fixture.outcome('acme')).error, 'provider-denied');
    provider.lie = {};
  });

  await t.test(
    'SAML responses are accepted from pages of any origin, and of a hidden one, also in development mode',
    async (t) => {
      for (const origin of ['null', 'https://login.example.org']) {
        const headers = { origin, 'content-type': 'application/x-www-form-urlencoded' };
        for (const url of [
          '/auth/saml/acme/acs',
          '/auth/saml/acme/slo',
          '/auth/providers/acme/callback',
          '/auth/login',
        ]) {
          const { statusCode, body } = await app.inject({ method: 'POST', url, headers, payload: 'SAMLResponse=x' });
          t.equal(statusCode === 403, url === '/auth/login', `${url} of ${origin}: ${body}`);
        }
      }
    },
  );

  await t.test('a SAML response is not accepted at the callback of OAuth', async (t) => {
    const response = await ask(app, 'GET /auth/providers/acme/callback?SAMLResponse=x&state=y');
    t.equal(response.statusCode, 400);
    t.equal(response.json().code, 'sign-in-expired');
  });
});

t.test('SAML attributes give profile, roles and claims, and can be required', async (t) => {
  const mapping = {
    roles: { claim: 'groups', values: { editors: ['editor'], admins: ['admin'] } },
    claims: { department: 'urn:oid:2.5.4.11' },
    when: 'each',
  };
  await fixture.provideSaml({}, { mapping, require: { groups: 'staff' } });
  const { user } = provider;
  provider.user = { ...user, attributes: { ...user.attributes, 'urn:oid:2.5.4.11': ['Engines'] } };
  const entered = await fixture.enter('acme');
  t.match(entered.json().user, { roles: ['editor'] });
  const row = await services.mongo.data
    .collection<{ claims: object }>('_users')
    .findOne({ email: 'ada@provider.example' });
  t.match(row?.claims, { department: 'Engines' });
  provider.user = { ...user, attributes: { ...user.attributes, groups: ['guests'] } };
  t.equal((await fixture.outcome('acme')).error, 'provider-account-not-allowed');
  provider.user = { ...user, nameId: 'another-each-time', attributes: { ...user.attributes, uid: ['ada'], email: [] } };
  await fixture.provideSaml({ subject: 'uid' });
  const first = (await fixture.enter('acme')).json().user;
  provider.user = { ...provider.user, nameId: 'and-another' };
  t.equal((await fixture.enter('acme')).json().user.id, first.id, 'an attribute names the user');
  provider.user = user;
});
