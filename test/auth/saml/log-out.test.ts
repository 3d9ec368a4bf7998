/** Sign-ins that begin at the provider, and single logout both ways: what works, and what is refused. */
import t from 'tap';
import { ask } from '../../helpers/accounts.ts';
import { newBrowser, REDIRECT } from '../../helpers/providers/sign-in-world.ts';
import { formPage, redirectTo } from '../../helpers/providers/site.ts';
import { samlKeys } from '../../helpers/saml/certificate.ts';
import { byForm, byRedirect, logOutRequest, logOutResponse, unpacked } from '../../helpers/saml/log-out-messages.ts';
import { ENTITY, samlWorld } from '../../helpers/saml/saml-world.ts';

const REFUSED = 'provider-answer-refused';
const world = await samlWorld(t);
const { app, provider } = world;
const own = samlKeys();
await world.provideSaml({ certificate: own.certificate }, { privateKey: own.privateKey });
const here = `${world.url}/auth/saml/acme/slo`;
const facts = { issuer: provider.issuer, destination: here };

interface Account {
  readonly accessToken: string;
}
const as = ({ accessToken }: Account) => ({ headers: { authorization: `Bearer ${accessToken}` } });
const alive = async (account: Account) => (await ask(app, 'GET /auth/me', undefined, as(account))).statusCode === 200;
const enter = async (): Promise<Account> => (await world.enter('acme')).json();

t.test('begun here', async (t) => {
  const account = await enter();
  const logOut = await ask(app, 'POST /auth/logout/provider', { redirect: REDIRECT, state: 'mine' }, as(account));
  t.equal(logOut.statusCode, 200, logOut.body);
  t.notOk(await alive(account), 'the session here has ended');
  const address = new URL(logOut.json().address);
  t.equal(`${address.origin}${address.pathname}`, `${provider.origin}/slo`);
  t.ok(address.searchParams.get('Signature'));
  const request = unpacked(address, 'SAMLRequest');
  t.match(request, /ada-of-the-tests<\/saml:NameID>/);
  t.match(request, '_session-1');
  const inResponseTo = / ID="([^"]*)"/.exec(request)?.[1] ?? '';
  const relayState = address.searchParams.get('RelayState') ?? '';

  const answer = logOutResponse({ ...facts, inResponseTo });
  const refused: readonly (readonly [string, string, RegExp])[] = [
    ['unsigned', byRedirect('SAMLResponse', answer, { keys: null, relayState }), /not signed/],
    ['by a foreign key', byRedirect('SAMLResponse', answer, { keys: samlKeys(), relayState }), /no known key/],
    [
      'another relay state',
      byRedirect('SAMLResponse', answer, { keys: provider.keys, relayState: 'x'.repeat(43) }),
      /nobody here asked/,
    ],
  ];
  for (const [name, query, reason] of refused) {
    const told = await newBrowser().goto(`${here}?${query}`);
    t.equal(told.status, 502, name);
    t.match(await world.reason(), reason, name);
  }
  const left = await newBrowser().goto(
    `${here}?${byRedirect('SAMLResponse', answer, { keys: provider.keys, relayState })}`,
  );
  t.equal(left.url.href, `${REDIRECT}?state=mine#`);

  await t.test('through a browser, which the provider sends back', async (t) => {
    provider.logOut = ({ url }) => {
      const id = / ID="([^"]*)"/.exec(unpacked(url, 'SAMLRequest'))?.[1] ?? '';
      const xml = logOutResponse({ ...facts, inResponseTo: id });
      const answered = { keys: provider.keys, relayState: url.searchParams.get('RelayState') ?? '' };
      return redirectTo(`${here}?${byRedirect('SAMLResponse', xml, answered)}`);
    };
    const again = await ask(app, 'POST /auth/logout/provider', { redirect: REDIRECT }, as(await enter()));
    t.equal((await newBrowser().goto(again.json().address)).url.href, `${REDIRECT}#`);
    provider.logOut = () => ({ body: 'Signed out.' });
  });

  await t.test('by form, to another request, and where the provider says no', async (t) => {
    const asked = async () => {
      const { address: next } = (
        await ask(app, 'POST /auth/logout/provider', { redirect: REDIRECT }, as(await enter()))
      ).json();
      const url = new URL(next);
      const id = / ID="([^"]*)"/.exec(unpacked(url, 'SAMLRequest'))?.[1] ?? '';
      return { id, RelayState: url.searchParams.get('RelayState') ?? '' };
    };
    const post = (fields: Record<string, string>) => posted(fields);
    const first = await asked();
    const wrong = byForm('SAMLResponse', logOutResponse({ ...facts, inResponseTo: '_other' }), provider.keys);
    t.equal((await post({ ...wrong, RelayState: first.RelayState })).status, 502);
    t.match(await world.reason(), /another InResponseTo/);
    const second = await asked();
    const no = logOutResponse({
      ...facts,
      inResponseTo: second.id,
      status: 'urn:oasis:names:tc:SAML:2.0:status:Responder',
    });
    const told = await post({ ...byForm('SAMLResponse', no, provider.keys), RelayState: second.RelayState });
    t.equal(told.url.href, `${REDIRECT}?error=provider-denied#`);
  });
});

t.test('begun by the provider', async (t) => {
  await t.test('ends the sessions of its user, and of nobody else', async (t) => {
    for (const way of ['redirect', 'form'] as const) {
      const { user } = provider;
      provider.user = { ...user, nameId: 'grace-of-the-tests', attributes: {} };
      const other = await enter();
      provider.user = user;
      const [one, two] = [await enter(), await enter()];
      const xml = logOutRequest(facts);
      const answer =
        way === 'redirect'
          ? await newBrowser().goto(
              `${here}?${byRedirect('SAMLRequest', xml, { keys: provider.keys, relayState: 'theirs' })}`,
            )
          : await posted({ ...byForm('SAMLRequest', xml, provider.keys), RelayState: 'theirs' });
      const back = answer.trail.find(({ pathname, origin }) => origin === provider.origin && pathname === '/slo');
      t.equal(back?.searchParams.get('RelayState'), 'theirs', way);
      const told = unpacked(back ?? new URL(here), 'SAMLResponse');
      t.match(told, 'status:Success');
      t.match(told, `<saml:Issuer>${ENTITY}</saml:Issuer>`);
      t.match(told, `InResponseTo="${/ ID="([^"]*)"/.exec(xml)?.[1]}"`);
      t.strictSame([await alive(one), await alive(two), await alive(other)], [false, false, true], way);
    }
  });

  await t.test('a user who is not known here', async (t) => {
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
      /not made a moment ago/,
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
      /is no LogoutRequest/,
    ],
    'a parameter that is not signed': [
      `${byRedirect('SAMLRequest', logOutRequest(facts), { keys: provider.keys })}&Relay%53tate=x`,
      /spelled in another way/,
    ],
    nothing: ['SAMLRequest=', /not signed/],
  };
  const account = await enter();
  for (const [name, [sent, reason]] of Object.entries(lies)) {
    await t.test(`refused: ${name}`, async (t) => {
      const answer = typeof sent === 'string' ? await newBrowser().goto(`${here}?${sent}`) : await posted(sent);
      t.equal(answer.status, 502, answer.html);
      t.match(answer.html, REFUSED);
      t.match(await world.reason(), reason);
      t.ok(await alive(account));
    });
  }
  await t.test('refused: used before', async (t) => {
    await newBrowser().goto(`${here}?${once}`);
    t.notOk(await alive(account));
    t.equal((await newBrowser().goto(`${here}?${once}`)).status, 502);
    t.match(await world.reason(), /used before/);
  });
});

t.test('a sign-in that begins at the provider', async (t) => {
  const recipient = `${world.url}/auth/saml/acme/acs`;
  const asked = { recipient, audience: ENTITY, inResponseTo: null };
  const post = async (SAMLResponse: string, RelayState = '') => posted({ SAMLResponse, RelayState }, recipient);
  t.equal((await post(await provider.respond(asked))).status, 400, 'only where an owner allows it');

  await world.provideSaml({ allowIdpInitiated: true });
  const answer = await provider.respond(asked);
  const arrived = await post(answer);
  t.equal(arrived.url.href, `${world.url}/signin?provider=acme`);
  t.equal(arrived.headers['set-cookie'], undefined, 'nobody is signed in by it');
  t.equal((await post(await provider.respond(asked), REDIRECT)).url.href, `${REDIRECT}?provider=acme`);
  t.equal((await post(await provider.respond(asked), 'https://evil.example/')).url.pathname, '/signin');

  t.equal((await post(answer)).status, 502);
  t.match(await world.reason(), /used before/);
  t.equal((await post(await provider.respond({ ...asked, inResponseTo: '_of-another-browser' }))).status, 502);
  t.match(await world.reason(), /another InResponseTo/);
  provider.lie = { signs: [] };
  t.equal((await post(await provider.respond(asked))).status, 502);
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
