/** Sign-in and logout by SAML in a real browser, with its own rules for cookies, forms and policies of pages. */
import t from 'tap';
import { owner, speakingAs } from '../../helpers/principals.ts';
import { testBrowser, whyNoBrowser } from '../../helpers/programs/browser.ts';
import { formPage, redirectTo } from '../../helpers/providers/site.ts';
import { samlKeys } from '../../helpers/saml/certificate.ts';
import { byRedirect, logOutResponse, unpacked } from '../../helpers/saml/log-out-messages.ts';
import { ENTITY, samlFixture } from '../../helpers/saml/saml-fixture.ts';
import { AES_GCM } from '../../helpers/saml/saml-provider.ts';
import { ask } from '../../helpers/users.ts';

t.test('SAML in a browser', { skip: whyNoBrowser() ?? false }, async (t) => {
  const fixture = await samlFixture(t);
  const { provider, app, url } = fixture;
  const own = samlKeys();
  const key = { privateKey: own.privateKey };
  const boss = { headers: { authorization: '', ...speakingAs(fixture.services)(owner()) } };
  const here = `${url}/auth/saml/acme/slo`;
  t.equal((await ask(app, 'PATCH /admin/settings', { redirectUrls: [`${url}/signin`] }, boss)).statusCode, 200);
  provider.logOut = ({ url: requested }) => {
    const id = / ID="([^"]*)"/.exec(unpacked(requested, 'SAMLRequest'))?.[1] ?? '';
    const xml = logOutResponse({ issuer: provider.issuer, destination: here, inResponseTo: id });
    const relayState = requested.searchParams.get('RelayState') ?? '';
    return redirectTo(`${here}?${byRedirect('SAMLResponse', xml, { keys: provider.keys, relayState })}`);
  };

  const browser = await testBrowser(t);
  const page = await (await browser.newContext()).newPage();
  const complaints: string[] = [];
  page.on('console', (message) => {
    if (!message.location().url.endsWith('/favicon.ico')) complaints.push(message.text());
  });
  page.on('pageerror', (error) => complaints.push(error.message));

  /** Signs in, and out again at the provider. @returns the user */
  async function inAndOut(begin: () => Promise<unknown>): Promise<string> {
    const exchanged = page.waitForResponse((response) => response.url().endsWith('/auth/exchange'));
    await begin();
    const { user, accessToken } = await (await exchanged).json();
    await page.getByText('You are signed in as ada@provider.example.').waitFor();
    const session = { headers: { authorization: `Bearer ${accessToken}` } };
    const out = await ask(app, 'POST /auth/logout/provider', { redirect: `${url}/signin`, state: 'x' }, session);
    t.equal(out.statusCode, 200, out.body);
    await page.goto(out.json().url);
    t.equal(page.url(), `${url}/signin?state=x#`);
    t.equal((await ask(app, 'GET /auth/me', undefined, session)).statusCode, 401, 'signed out');
    return user.id;
  }
  const press = async () => {
    await page.goto(`${url}/signin`);
    await page.getByRole('button', { name: 'Sign in with acme' }).click();
  };

  const accounts = new Set<string>();
  const encrypts = { certificate: own.certificate, cipher: AES_GCM };
  const ways = [
    { name: 'signed response', signs: ['response'], encrypts: null, binding: 'redirect' },
    { name: 'signed assertion', signs: ['assertion'], encrypts: null, binding: 'post' },
    { name: 'both', signs: ['assertion', 'response'], encrypts: null, binding: 'redirect' },
    { name: 'encrypted', signs: ['assertion'], encrypts, binding: 'post' },
  ] as const;
  for (const { name, binding, ...how } of ways) {
    await t.test(`SAML in a browser: ${name}, by ${binding}`, async () => {
      Object.assign(provider, how);
      await fixture.provideSaml({ certificate: own.certificate, binding, allowIdpInitiated: true }, key);
      accounts.add(await inAndOut(press));
      accounts.add(await inAndOut(press));
    });
  }

  await t.test('a SAML sign-in started at the provider, in a browser', async () => {
    const requested = { recipient: `${url}/auth/saml/acme/acs`, audience: ENTITY, inResponseTo: null };
    const fields = { SAMLResponse: await provider.respond(requested), RelayState: '' };
    const portal = formPage('Portal', requested.recipient, fields, { submits: true });
    await page.route(`${provider.origin}/portal`, (route) =>
      route.fulfill({ contentType: 'text/html', body: String(portal.body) }),
    );
    accounts.add(await inAndOut(() => page.goto(`${provider.origin}/portal`)));
  });

  t.equal(accounts.size, 1, 'one account');
  t.strictSame(complaints, [], 'nothing is refused by its own policy');
});
