/** Signing in and out by SAML in a real browser, with its own rules for cookies, forms and policies of pages. */
import t from 'tap';
import { ask } from '../../helpers/accounts.ts';
import { owner, speakingAs } from '../../helpers/principals.ts';
import { testBrowser, whyNoBrowser } from '../../helpers/programs/browser.ts';
import { formPage, redirectTo } from '../../helpers/providers/site.ts';
import { samlKeys } from '../../helpers/saml/certificate.ts';
import { byRedirect, logOutResponse, unpacked } from '../../helpers/saml/log-out-messages.ts';
import { AES_GCM } from '../../helpers/saml/saml-provider.ts';
import { ENTITY, samlWorld } from '../../helpers/saml/saml-world.ts';

t.test('in a browser', { skip: whyNoBrowser() ?? false }, async (t) => {
  const world = await samlWorld(t);
  const { provider, app, url } = world;
  const own = samlKeys();
  const key = { privateKey: own.privateKey };
  const boss = { headers: { authorization: '', ...speakingAs(world.parts)(owner()) } };
  const here = `${url}/auth/saml/acme/slo`;
  t.equal((await ask(app, 'PUT /admin/settings', { redirects: [`${url}/signin`] }, boss)).statusCode, 200);
  provider.logOut = ({ url: asked }) => {
    const id = / ID="([^"]*)"/.exec(unpacked(asked, 'SAMLRequest'))?.[1] ?? '';
    const xml = logOutResponse({ issuer: provider.issuer, destination: here, inResponseTo: id });
    const relayState = asked.searchParams.get('RelayState') ?? '';
    return redirectTo(`${here}?${byRedirect('SAMLResponse', xml, { keys: provider.keys, relayState })}`);
  };

  const browser = await testBrowser(t);
  const page = await (await browser.newContext()).newPage();
  const complaints: string[] = [];
  page.on('console', (message) => {
    if (!message.location().url.endsWith('/favicon.ico')) complaints.push(message.text());
  });
  page.on('pageerror', (error) => complaints.push(error.message));

  /** Goes through a sign-in, and out again at the provider. @returns the account */
  async function inAndOut(begin: () => Promise<unknown>): Promise<string> {
    const exchanged = page.waitForResponse((answer) => answer.url().endsWith('/auth/exchange'));
    await begin();
    const { user, accessToken } = await (await exchanged).json();
    await page.getByText('You are signed in as ada@provider.example.').waitFor();
    const session = { headers: { authorization: `Bearer ${accessToken}` } };
    const out = await ask(app, 'POST /auth/logout/provider', { redirect: `${url}/signin`, state: 'x' }, session);
    t.equal(out.statusCode, 200, out.body);
    await page.goto(out.json().address);
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
    await t.test(`${name}, by ${binding}`, async () => {
      Object.assign(provider, how);
      await world.provideSaml({ certificate: own.certificate, binding, allowIdpInitiated: true }, key);
      accounts.add(await inAndOut(press));
      accounts.add(await inAndOut(press));
    });
  }

  await t.test('begun at the provider', async () => {
    const asked = { recipient: `${url}/auth/saml/acme/acs`, audience: ENTITY, inResponseTo: null };
    const fields = { SAMLResponse: await provider.respond(asked), RelayState: '' };
    const portal = formPage('Portal', asked.recipient, fields, { submits: true });
    await page.route(`${provider.origin}/portal`, (route) =>
      route.fulfill({ contentType: 'text/html', body: String(portal.body) }),
    );
    accounts.add(await inAndOut(() => page.goto(`${provider.origin}/portal`)));
  });

  t.equal(accounts.size, 1, 'one account');
  t.strictSame(complaints, [], 'nothing is refused by its own policy');
});
