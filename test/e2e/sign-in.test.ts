/**
 * Signing in by a provider of each family, in a real Chromium, at the page `/signin`: OpenID Connect, OAuth 2, and
 * Apple, which lets the browser post its response from another site. The program runs in production mode, behind a
 * proxy with TLS.
 */
import type { Page } from 'playwright-core';
import t, { type Test } from 'tap';
import { buildTestApp } from '../helpers/app.ts';
import { isLong, onlyLong } from '../helpers/long-profile.ts';
import { startTlsProxy } from '../helpers/network/tls-proxy.ts';
import { testBrowser, whyNoBrowser } from '../helpers/programs/browser.ts';
import { startApple } from '../helpers/providers/apple.ts';
import { startGitHub } from '../helpers/providers/github.ts';
import { startOpenIdProvider } from '../helpers/providers/openid-provider.ts';
import { type Account, ask, signInAdmin } from '../helpers/users.ts';

const options = { skip: whyNoBrowser() ?? false, timeout: 120_000 };

t.test('signing in by OpenID Connect in a browser', options, async (t) => {
  const fixture = await start(t);
  const provider = await startOpenIdProvider(t, { redirectUris: [`${fixture.origin}/auth/providers/staff/callback`] });
  provider.people.set('ada', { email: 'ada@provider.example', email_verified: true, name: 'Ada Lovelace' });
  const { clientId, clientSecret, issuer } = provider;
  await fixture.add({ name: 'staff', kind: 'oidc', clientId, clientSecret, issuer, register: true });
  await fixture.signsInTwice('staff', 'ada@provider.example', async (page) => {
    if (await page.getByPlaceholder('Enter any login').isVisible()) {
      await page.getByPlaceholder('Enter any login').fill('ada');
      await page.getByPlaceholder('and password').fill('any');
      await page.getByRole('button', { name: 'Sign-in' }).click();
    }
    await page.getByRole('button', { name: 'Continue' }).click();
  });
});

// Its way in the browser is that of OpenID Connect; test/auth/oauth signs in by each kind without a browser.
t.test('signing in by OAuth 2 in a browser', { ...options, ...(isLong ? {} : onlyLong) }, async (t) => {
  const fixture = await start(t);
  const { clientId, clientSecret, endpoints, users } = await startGitHub(t);
  const emails = [
    { email: 'spare@provider.example', primary: false, verified: true },
    { email: 'ada@provider.example', primary: true, verified: true },
  ];
  users.set('ada', { id: 7, login: 'ada', name: 'Ada Lovelace', avatar_url: 'https://provider.example/7.png', emails });
  await fixture.add({ name: 'github', kind: 'github', clientId, clientSecret, endpoints, register: true });
  await fixture.signsInTwice('github', 'ada@provider.example', atStandIn);
});

t.test('signing in by Apple, whose response is posted from another site, in a browser', options, async (t) => {
  const fixture = await start(t);
  const { clientId, issuer, teamId, keyId, privateKey, users } = await startApple(t);
  const name = { firstName: 'Ada', lastName: 'Lovelace' };
  users.set('ada', { sub: '001.abc', email: 'ada@privaterelay.example', isPrivateEmail: true, name });
  await fixture.add({ name: 'apple', kind: 'apple', clientId, issuer, teamId, keyId, privateKey, register: true });
  const user = await fixture.signsInTwice('apple', 'ada@privaterelay.example', atStandIn);
  t.equal(user.profile.name, 'Ada Lovelace', 'the name of the first response');
});

async function atStandIn(page: Page): Promise<void> {
  await page.getByLabel('login').fill('ada');
  await page.getByRole('button', { name: 'Continue' }).click();
}

/** The program in production mode, its administrator, and a browser. */
async function start(t: Test) {
  const proxy = await startTlsProxy(t);
  const { app, services } = await buildTestApp(t, {
    MILLRACE_MODE: 'production',
    MILLRACE_PUBLIC_URL: proxy.origin,
    MILLRACE_TRUST_PROXY: '127.0.0.1',
    // The providers of the test are on this machine.
    MILLRACE_EGRESS_ALLOW: '127.0.0.1, ::1',
  });
  proxy.passTo(await app.listen({ host: '127.0.0.1', port: 0 }));
  const owner: Account = await signInAdmin(app, services);
  const browser = await testBrowser(t);

  /** Signs in with two fresh browsers, and compares the users. */
  async function signsInTwice(provider: string, email: string, atProvider: (page: Page) => Promise<void>) {
    for (const time of ['first', 'second']) {
      const context = await browser.newContext({ ignoreHTTPSErrors: true });
      const page = await context.newPage();
      const complaints: string[] = [];
      page.on('pageerror', (error) => complaints.push(error.message));
      page.on('console', (message) => complaints.push(message.text()));
      await page.goto(`${proxy.origin}/signin`);
      await page.getByRole('button', { name: new RegExp(provider, 'i') }).click();
      await atProvider(page);
      await page.getByText(`You are signed in as ${email}.`).waitFor();
      t.equal(page.url(), `${proxy.origin}/signin`, `${time} time: no code stays in the address`);
      const cookies = await context.cookies(proxy.origin);
      t.strictSame(cookies, [], `${time} time: no cookie is left`);
      t.strictSame(
        complaints.filter((line) => line.includes(proxy.origin)),
        [],
        `${time} time: the content security policy blocks nothing`,
      );
      await context.close();
    }
    const users = (await ask(app, 'GET /admin/users', undefined, owner)).json();
    const found = users.filter((user: { email: string }) => user.email === email);
    t.equal(found.length, 1, 'both times the same user');
    return found[0];
  }

  return {
    origin: proxy.origin,
    add: async (provider: object) => {
      const response = await ask(app, 'POST /admin/providers', provider, owner);
      t.equal(response.statusCode, 201, response.body);
    },
    signsInTwice,
  };
}
