/** Sign-ins that start at the provider, and single logout both ways: what works, and what is rejected. */
import t from 'tap';
import { newBrowser, REDIRECT } from '../../helpers/providers/sign-in-fixture.ts';
import { formPage, redirectTo } from '../../helpers/providers/site.ts';
import { samlKeys } from '../../helpers/saml/certificate.ts';
import { byForm, byRedirect, logOutRequest, logOutResponse, unpacked } from '../../helpers/saml/log-out-messages.ts';
import { ENTITY, samlFixture } from '../../helpers/saml/saml-fixture.ts';
import { ask } from '../../helpers/users.ts';

const REFUSED = 'provider-response-invalid';
const fixture = await samlFixture(t);
const { app, provider } = fixture;
const own = samlKeys();
await fixture.provideSaml({ certificate: own.certificate }, { privateKey: own.privateKey });
const here = `${fixture.url}/auth/saml/acme/slo`;
const facts = { issuer: provider.issuer, destination: here };

interface Account {
  readonly accessToken: string;
}
const as = ({ accessToken }: Account) => ({ headers: { authorization: `Bearer ${accessToken}` } });
const alive = async (user: Account) => (await ask(app, 'GET /auth/me', undefined, as(user))).statusCode === 200;
const enter = async (): Promise<Account> => (await fixture.enter('acme')).json();

t.test('SAML logout started here', async (t) => {
  const user = await enter();
  const logOut = await ask(app, 'POST /auth/logout/provider', { redirect: REDIRECT, state: 'mine' }, as(user));
  t.equal(logOut.statusCode, 200, logOut.body);
  t.notOk(await alive(user), 'the session here has ended');
  const address = new URL(logOut.json().url);
  t.equal(`${address.origin}${address.pathname}`, `${provider.origin}/slo`);
  t.ok(address.searchParams.get('Signature'));
  const request = unpacked(address, 'SAMLRequest');
  t.match(request, /ada-of-the-tests<\/saml:NameID>/);
  t.match(request, '_session-1');
  const inResponseTo = / ID="([^"]*)"/.exec(request)?.[1] ?? '';
  const relayState = address.searchParams.get('RelayState') ?? '';

  const response = logOutResponse({ ...facts, inResponseTo });
  const refused: readonly (readonly [string, string, RegExp])[] = [
    ['unsigned', byRedirect('SAMLResponse', response, { keys: null, relayState }), /not signed/],
    ['by a foreign key', byRedirect('SAMLResponse', response, { keys: samlKeys(), relayState }), /no known key/],
    [
      'another relay state',
      byRedirect('SAMLResponse', response, { keys: provider.keys, relayState: 'x'.repeat(43) }),
      /no such logout request/,
    ],
  ];
  for (const [name, query, reason] of refused) {
    const reported = await newBrowser().goto(`${here}?${query}`);
    t.equal(reported.status, 502, name);
    t.match(await fixture.reason(), reason, name);
  }
  const left = await newBrowser().goto(
    `${here}?${byRedirect('SAMLResponse', response, { keys: provider.keys, relayState })}`,
  );
  t.equal(left.url.href, `${REDIRECT}?state=mine#`);

  await t.test('SAML logout through a browser, which the provider sends back', async (t) => {
    provider.logOut = ({ url }) => {
      const id = / ID="([^"]*)"/.exec(unpacked(url, 'SAMLRequest'))?.[1] ?? '';
      const xml = logOutResponse({ ...facts, inResponseTo: id });
      const result = { keys: provider.keys, relayState: url.searchParams.get('RelayState') ?? '' };
      return redirectTo(`${here}?${byRedirect('SAMLResponse', xml, result)}`);
    };
    const again = await ask(app, 'POST /auth/logout/provider', { redirect: REDIRECT }, as(await enter()));
    t.equal((await newBrowser().goto(again.json().url)).url.href, `${REDIRECT}#`);
    provider.logOut = () => ({ body: 'Signed out.' });
  });

  await t.test('SAML logout by form, responses to another request, and a denial of the provider', async (t) => {
    const requested = async () => {
      const { url: next } = (
        await ask(app, 'POST /auth/logout/provider', { redirect: REDIRECT }, as(await enter()))
      ).json();
      const url = new URL(next);
      const id = / ID="([^"]*)"/.exec(unpacked(url, 'SAMLRequest'))?.[1] ?? '';
      return { id, RelayState: url.searchParams.get('RelayState') ?? '' };
    };
    const post = (fields: Record<string, string>) => posted(fields);
    const first = await requested();
    const wrong = byForm('SAMLResponse', logOutResponse({ ...facts, inResponseTo: '_other' }), provider.keys);
    t.equal((await post({ ...wrong, RelayState: first.RelayState })).status, 502);
    t.match(await fixture.reason(), /another InResponseTo/);
    const second = await requested();
    const no = logOutResponse({
      ...facts,
      inResponseTo: second.id,
      status: 'urn:oasis:names:tc:SAML:2.0:status:Responder',
    });
    const reported = await post({ ...byForm('SAMLResponse', no, provider.keys), RelayState: second.RelayState });
    t.equal(reported.url.href, `${REDIRECT}?error=provider-denied#`);
  });
});

t.test('started by the provider', async (t) => {
  await t.test('SAML logout ends the sessions of its user, and of no one else', async (t) => {
    for (const way of ['redirect', 'form'] as const) {
      const { user } = provider;
      provider.user = { ...user, nameId: 'grace-of-the-tests', attributes: {} };
      const other = await enter();
      provider.user = user;
      const [one, two] = [await enter(), await enter()];
      const xml = logOutRequest(facts);
      const response =
        way === 'redirect'
          ? await newBrowser().goto(
              `${here}?${byRedirect('SAMLRequest', xml, { keys: provider.keys, relayState: 'theirs' })}`,
            )
          : await posted({ ...byForm('SAMLRequest', xml, provider.keys), RelayState: 'theirs' });
      const back = response.trail.find(({ pathname, origin }) => origin === provider.origin && pathname === '/slo');
      t.equal(back?.searchParams.get('RelayState'), 'theirs', way);
      const reported = unpacked(back ?? new URL(here), 'SAMLResponse');
      t.match(reported, 'status:Success');
      t.match(reported, `<saml:Issuer>${ENTITY}</saml:Issuer>`);
      t.match(reported, `InResponseTo="${/ ID="([^"]*)"/.exec(xml)?.[1]}"`);
      t.strictSame([await alive(one), await alive(two), await alive(other)], [false, false, true], way);
    }
  });

  await t.test('SAML logout of a user who is unknown here', async (t) => {
    const query = byRedirect('SAMLRequest', logOutRequest({ ...facts, nameId: 'nobody' }), { keys: provider.keys });
    const { trail } = await newBrowser().goto(`${here}?${query}`);
    const back = trail.find(({ pathname }) => pathname === '/slo');
    t.match(unpacked(back ?? new URL(here), 'SAMLResponse'), 'UnknownPrincipal');
  });

  const once = byRedirect('SAMLRequest', logOutRequest(facts), { keys: provider.keys });
  const lies: Readonly<Record<string, readonly [string | Record<string, string>, RegExp]>> = {
    'logout unsigned': [byRedirect('SAMLRequest', logOutRequest(facts), { keys: null }), /not signed/],
    'logout unsigned, by form': [byForm('SAMLRequest', logOutRequest(facts), null), /not signed/],
    'by a foreign key': [byRedirect('SAMLRequest', logOutRequest(facts), { keys: samlKeys() }), /no known key/],
    'by a foreign key, by form': [byForm('SAMLRequest', logOutRequest(facts), samlKeys()), /no known key/],
    'by SHA-1': [
      byRedirect('SAMLRequest', logOutRequest(facts), {
        keys: provider.keys,
        algorithm: 'http://www.w3.org/2000/09/xmldsig#rsa-sha1',
      }),
      /signed by rsa-sha1/,
    ],
    'of another issuer': [
      byRedirect('SAMLRequest', logOutRequest({ ...facts, issuer: 'https://attacker.example' }), {
        keys: provider.keys,
      }),
      /another Issuer/,
    ],
    'for another place': [
      byRedirect('SAMLRequest', logOutRequest({ ...facts, destination: `${here}x` }), { keys: provider.keys }),
      /another Destination/,
    ],
    'an old one': [
      byRedirect('SAMLRequest', logOutRequest({ ...facts, at: Date.now() - 900_000 }), { keys: provider.keys }),
      /not issued a moment ago/,
    ],
    'an expired one': [
      byRedirect(
        'SAMLRequest',
        logOutRequest(facts).replace(' ID=', ` NotOnOrAfter="${new Date(Date.now() - 120_000).toISOString()}"$&`),
        { keys: provider.keys },
      ),
      /has expired/,
    ],
    'of no issuer': [
      byRedirect('SAMLRequest', logOutRequest(facts).replace(/<saml:Issuer>.*<\/saml:Issuer>/, ''), {
        keys: provider.keys,
      }),
      /has no Issuer/,
    ],
    'a comment in NameID': [
      byRedirect('SAMLRequest', logOutRequest({ ...facts, nameId: 'ada-of-the-tests<!-- -->x' }), {
        keys: provider.keys,
      }),
      /comment/,
    ],
    'an answer as a request': [
      byRedirect('SAMLRequest', logOutResponse(facts), { keys: provider.keys }),
      /is not a LogoutRequest/,
    ],
    'a parameter that is not signed': [
      `${byRedirect('SAMLRequest', logOutRequest(facts), { keys: provider.keys })}&Relay%53tate=x`,
      /unusual spelling/,
    ],
    nothing: ['SAMLRequest=', /not signed/],
  };
  const user = await enter();
  for (const [name, [sent, reason]] of Object.entries(lies)) {
    await t.test(`rejected: ${name}`, async (t) => {
      const response = typeof sent === 'string' ? await newBrowser().goto(`${here}?${sent}`) : await posted(sent);
      t.equal(response.status, 502, response.html);
      t.match(response.html, REFUSED);
      t.match(await fixture.reason(), reason);
      t.ok(await alive(user));
    });
  }
  await t.test('rejected: used before', async (t) => {
    await newBrowser().goto(`${here}?${once}`);
    t.notOk(await alive(user));
    t.equal((await newBrowser().goto(`${here}?${once}`)).status, 502);
    t.match(await fixture.reason(), /used before/);
  });
});

t.test('a sign-in that starts at the provider', async (t) => {
  const recipient = `${fixture.url}/auth/saml/acme/acs`;
  const requested = { recipient, audience: ENTITY, inResponseTo: null };
  const post = async (SAMLResponse: string, RelayState = '') => posted({ SAMLResponse, RelayState }, recipient);
  t.equal((await post(await provider.respond(requested))).status, 400, 'only where an administrator allows it');

  await fixture.provideSaml({ allowIdpInitiated: true });
  const response = await provider.respond(requested);
  const arrived = await post(response);
  t.equal(arrived.url.href, `${fixture.url}/signin?provider=acme`);
  t.equal(arrived.headers['set-cookie'], undefined, 'nobody is signed in by it');
  t.equal((await post(await provider.respond(requested), REDIRECT)).url.href, `${REDIRECT}?provider=acme`);
  t.equal((await post(await provider.respond(requested), 'https://evil.example/')).url.pathname, '/signin');

  t.equal((await post(response)).status, 502);
  t.match(await fixture.reason(), /used before/);
  t.equal((await post(await provider.respond({ ...requested, inResponseTo: '_of-another-browser' }))).status, 502);
  t.match(await fixture.reason(), /another InResponseTo/);
  provider.lie = { signs: [] };
  t.equal((await post(await provider.respond(requested))).status, 502);
  provider.lie = {};
});

/** Lets a browser post a form from the provider's site. */
async function posted(fields: Record<string, string>, action = here) {
  const browser = newBrowser();
  const { body } = formPage('x', action, fields);
  const form = { action: new URL(action), method: 'POST', fields };
  const blank = {
    url: new URL(provider.origin),
    status: 200,
    headers: {},
    html: String(body),
    forms: [form],
    trail: [],
  };
  return browser.submit(blank);
}
