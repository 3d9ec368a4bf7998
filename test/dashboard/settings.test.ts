/** The page Settings in Chromium: a provider is added, checked, joined and used; redirects, team, limits; who may not. */
import t from 'tap';
import { buildTestApp } from '../helpers/app.ts';
import { dashboardPage } from '../helpers/dashboard/dashboard-page.ts';
import { testBrowser, whyNoBrowser } from '../helpers/programs/browser.ts';
import { startOpenIdProvider } from '../helpers/providers/openid-provider.ts';
import { ask, PASSWORD, signInAdmin } from '../helpers/users.ts';

const options = { skip: whyNoBrowser() ?? false, timeout: 120_000 };

t.test('an administrator sets up how people sign in', options, async (t) => {
  const settings = {
    MILLRACE_MODE: 'production',
    MILLRACE_EGRESS_ALLOW: '127.0.0.0/8,::1',
    MILLRACE_QUOTA_FILE_COUNT_PER_USER: '7',
  };
  const { app, services } = await buildTestApp(t, settings);
  const origin = await app.listen({ host: '127.0.0.1', port: 0 });
  const owner = await signInAdmin(app, services);
  const acme = await startOpenIdProvider(t, { redirectUris: [`${origin}/auth/providers/acme/callback`] });
  acme.people.set('grace', { email: 'grace@example.org', email_verified: true });
  const browser = await testBrowser(t);
  const { page, complaints, open, go, picture, violations } = await dashboardPage(t, browser, origin);
  await page.route('https://fonts.googleapis.com/**', (route) => route.abort());
  const button = (name: string) => page.getByRole('button', { name, exact: true });
  const isFine = async (what: string) => t.strictSame(await violations(), [], what);
  const signIn = async (name: string) => {
    await page.getByLabel('User name or e-mail address').fill(`${name}@example.org`);
    await page.getByRole('textbox', { name: 'Password' }).fill(PASSWORD);
    await page.keyboard.press('Enter');
  };

  await open('/settings');
  await signIn('owner');
  await page.getByText('No providers: users sign in with a password').waitFor();
  await isFine('without providers');

  await t.test('adds a provider', async (t) => {
    await button('Add provider').click();
    const dialog = page.getByRole('dialog', { name: 'Add provider' });
    await dialog.getByRole('combobox', { name: 'Kind' }).click();
    await page.getByRole('option', { name: /OpenID Connect/ }).click();
    await dialog.getByLabel('Name').fill('acme');
    await dialog.getByText(`${origin}/auth/providers/acme/callback`).waitFor();
    await dialog.getByLabel('Issuer').fill('not an address');
    await dialog.getByLabel('Client id').fill(acme.clientId);
    await dialog.getByRole('textbox', { name: 'Client secret' }).fill(acme.clientSecret);
    await dialog.getByRole('button', { name: 'Add provider' }).click();
    await dialog.getByRole('alert').waitFor();
    await dialog.getByLabel('Issuer').fill(acme.issuer);
    await isFine('the form');
    await picture('settings-provider');
    await dialog.getByRole('button', { name: 'Add provider' }).click();
    await dialog.waitFor({ state: 'detached' });
    await page.getByRole('heading', { name: 'acme', level: 3 }).waitFor();
    t.notMatch(await page.content(), new RegExp(acme.clientSecret), 'its secret is not shown');
  });

  await t.test('checks it', async () => {
    await button('Check').click();
    await page.getByText(/clock/i).first().waitFor();
    await isFine('the verdicts');
    await picture('settings');
  });

  await t.test('changes it, and keeps its secret', async (t) => {
    await button('Edit').click();
    await page.waitForURL(/provider=acme/);
    const dialog = page.getByRole('dialog', { name: 'Edit acme' });
    await dialog.getByLabel('More options, as JSON').fill('{"scopes":["openid","email"]}');
    await dialog.getByRole('button', { name: 'Save' }).click();
    await dialog.waitFor({ state: 'detached' });
    const kept = (await ask(app, 'GET /admin/providers/acme', undefined, owner)).json();
    t.match(kept, { scopes: ['openid', 'email'], clientSecret: { set: true }, issuer: acme.issuer });
  });

  await t.test('joins it to the own account, and signs in by it', async (t) => {
    await button('Link to my account').click();
    await page.locator('input[name=login]').fill('grace');
    await page.locator('input[name=password]').fill('any');
    await page.keyboard.press('Enter');
    await page.getByRole('button', { name: 'Continue' }).click();
    await page.getByText('linked to your account').waitFor();
    t.match(page.url(), /\/dashboard\/settings/);
    await page.getByRole('button', { name: 'Account of owner@example.org' }).click();
    await page.getByRole('menuitem', { name: 'Sign out' }).click();
    await button('Sign in with acme').click();
    await page.getByText('linked to your account').waitFor();
  });

  await t.test('tries a sign-in in a tab of its own', async () => {
    const [tab] = await Promise.all([
      page.waitForEvent('popup'),
      page.getByRole('link', { name: 'Test sign-in' }).click(),
    ]);
    await tab.getByRole('button', { name: 'Sign in with acme' }).click();
    await tab.getByText('You are signed in as owner@example.org.').waitFor();
    await tab.close();
  });

  await t.test('makes a provider of SAML', async (t) => {
    await button('Add provider').click();
    const dialog = page.getByRole('dialog', { name: 'Add provider' });
    await dialog.getByRole('combobox', { name: 'Kind' }).click();
    await page.getByRole('option', { name: /SAML/ }).click();
    await dialog.getByText(`${origin}/auth/saml/company/acs`).waitFor();
    await dialog.getByText(`${origin}/auth/saml/company/metadata`).waitFor();
    await dialog.getByLabel('Our entity id').fill('https://app.example.org/saml');
    await dialog.getByLabel('Metadata URL of the provider').fill('https://login.example.org/metadata');
    await dialog.getByLabel('More options, as JSON').fill('{"saml":{"wantResponseSigned":true}}');
    await isFine('the form of SAML');
    await dialog.getByRole('button', { name: 'Add provider' }).click();
    await dialog.waitFor({ state: 'detached' });
    await page.getByRole('heading', { name: 'company', level: 3 }).waitFor();
    const kept = (await ask(app, 'GET /admin/providers/company', undefined, owner)).json();
    t.strictSame(kept.saml, { wantResponseSigned: true, metadataUrl: 'https://login.example.org/metadata' });
  });

  await t.test('lists redirects', async (t) => {
    await page.getByLabel('URL to add').fill('http://app.example.org/in');
    await button('Add').click();
    await page.getByRole('alert').waitFor();
    await page.getByLabel('URL to add').fill('https://app.example.org/in');
    await button('Add').click();
    await page.getByRole('button', { name: 'Remove https://app.example.org/in' }).waitFor();
    const kept = (await ask(app, 'GET /admin/settings', undefined, owner)).json();
    t.strictSame(kept.redirectUrls, ['https://app.example.org/in']);
    await ask(app, 'PATCH /admin/settings', { redirectUrls: ['https://other.example.org/in'] }, owner);
    await page.getByText('https://other.example.org/in').waitFor();
  });

  await t.test('sees the team grow', async () => {
    await page.getByRole('tab', { name: 'Team' }).click();
    await page.waitForURL(/tab=team/);
    await page.getByRole('link', { name: 'owner@example.org' }).waitFor();
    await isFine('the team');
    const viewer = { kind: 'admin', email: 'viewer@example.org', password: PASSWORD, roles: ['viewer'] };
    await ask(app, 'POST /admin/users', viewer, owner);
    await page.getByRole('link', { name: 'viewer@example.org' }).waitFor();
  });

  await t.test('sees the installation and its limits, on a phone too', async (t) => {
    await go('/settings?tab=instance');
    await page.getByText('MILLRACE_MASTER_KEY is not set').waitFor();
    await isFine('the installation');
    await picture('settings-installation');
    await page.setViewportSize({ width: 390, height: 800 });
    await page.emulateMedia({ colorScheme: 'dark' });
    await isFine('the installation on a phone, dark');
    t.equal(await page.evaluate('document.documentElement.scrollWidth'), 390);
    for (const [tab, words] of [
      ['limits', 'MILLRACE_QUOTA_FILE_COUNT_PER_USER'],
      ['team', 'Roles'],
      ['sign-in', 'Redirect URLs'],
    ] as const) {
      await go(`/settings?tab=${tab}`);
      await page.getByText(words).first().waitFor();
      t.equal(await page.evaluate('document.documentElement.scrollWidth'), 390, tab);
      await isFine(tab);
    }
    await page.setViewportSize({ width: 1280, height: 800 });
  });

  await t.test('a viewer sees none of it', async (t) => {
    await page.getByRole('button', { name: 'Account of owner@example.org' }).click();
    await page.getByRole('menuitem', { name: 'Sign out' }).click();
    await signIn('viewer');
    await page.getByText('This page requires the role owner or manager').waitFor();
    t.equal(await page.getByRole('tab').count(), 0);
    await isFine('as a viewer');
  });

  const atProvider = [`asked ${acme.issuer}`, 'asked https://fonts.googleapis.com/'];
  t.strictSame(
    complaints.filter((one) => !atProvider.some((beginning) => one.startsWith(beginning))),
    [],
  );
});
