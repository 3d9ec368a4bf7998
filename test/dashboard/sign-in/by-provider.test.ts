/** Sign-in to the dashboard by a provider, in Chromium, with a real OpenID provider: back where one was, and nothing left behind. */
import t from 'tap';
import { buildTestApp } from '../../helpers/app.ts';
import { dashboardPage } from '../../helpers/dashboard/dashboard-page.ts';
import { testBrowser, whyNoBrowser } from '../../helpers/programs/browser.ts';
import { startOpenIdProvider } from '../../helpers/providers/openid-provider.ts';
import { leadingTo } from '../../helpers/providers/sign-in-fixture.ts';
import { ask, signInAdmin } from '../../helpers/users.ts';

const options = { skip: whyNoBrowser() ?? false, timeout: 120_000 };

t.test('a person signs in by a provider', options, async (t) => {
  const settings = { MILLRACE_MODE: 'production', MILLRACE_EGRESS_ALLOW: '127.0.0.0/8,::1' };
  const { app, services } = await buildTestApp(t, settings);
  const origin = await app.listen({ host: '127.0.0.1', port: 0 });
  const owner = await signInAdmin(app, services);
  const acme = await startOpenIdProvider(t, { redirectUris: [`${origin}/auth/providers/acme/callback`] });
  acme.people.set('grace', { email: 'grace@example.org', email_verified: true, name: 'Grace' });
  const provider = leadingTo('acme', acme, { register: true });
  t.equal((await ask(app, 'POST /admin/providers', provider, owner)).statusCode, 201);
  const { page, complaints, open, violations } = await dashboardPage(t, await testBrowser(t), origin);
  const requested: string[] = [];
  await page.route('https://fonts.googleapis.com/**', (route) => route.abort());
  page.on('request', (request) => requested.push(`${request.method()} ${request.url()}`));
  const button = page.getByRole('button', { name: 'Sign in with acme' });
  const kept = () => page.evaluate<string>('JSON.stringify([localStorage, sessionStorage, location.href])');

  await open('/api?from=here');
  await button.waitFor();
  t.strictSame(await violations(), []);
  await button.click();
  await page.locator('input[name=login]').fill('grace');
  await page.locator('input[name=password]').fill('any');
  await page.keyboard.press('Enter');
  await page.getByRole('button', { name: 'Continue' }).click();
  await page.getByRole('heading', { name: 'API', level: 1 }).waitFor();
  await page.getByRole('button', { name: 'Account of grace@example.org' }).waitFor();
  t.equal(page.url(), `${origin}/dashboard/api?from=here`, 'where the person was');
  t.strictSame(JSON.parse(await kept()).slice(0, 2), [{}, {}], 'the verifier is gone');
  t.match(
    requested.filter((one) => one.startsWith(`POST ${origin}`)).map((one) => one.replace(origin, '')),
    ['POST /dashboard/session'],
    'the code is exchanged for the cookie',
  );
  await page.reload();
  await page.getByRole('heading', { name: 'API', level: 1 }).waitFor();

  await t.test('and is notified why not', async (t) => {
    await ask(
      app,
      'PUT /admin/providers/acme',
      { ...provider, register: false, require: { hd: 'example.org' } },
      owner,
    );
    await page.getByRole('button', { name: 'Account of grace@example.org' }).click();
    await page.getByRole('menuitem', { name: 'Sign out' }).click();
    await button.click();
    await page.getByRole('alert').waitFor();
    t.match(await page.getByRole('alert').textContent(), /sign-in failed.*is not allowed to sign in here/);
    t.equal(page.url(), `${origin}/dashboard/api?from=here`);
    await page.reload();
    await button.waitFor();
    t.equal(await page.getByRole('alert').count(), 0, 'once');
  });

  await t.test('an address that this tab did not ask for says nothing', async (t) => {
    await open('?code=x&state=y');
    await button.waitFor();
    await open('?error=x&error_description=Call+0900+12345');
    await button.waitFor();
    t.notMatch(await page.content(), /0900/);
  });

  // The pages of the provider ask for a font.
  const atProvider = [`asked ${acme.issuer}`, 'asked https://fonts.googleapis.com/'];
  const ours = complaints.filter((one) => !atProvider.some((beginning) => one.startsWith(beginning)));
  t.strictSame(ours, []);
});

t.test('at another address than the public one, the sign-in leads there', options, async (t) => {
  const { app, services } = await buildTestApp(t, {
    MILLRACE_MODE: 'production',
    MILLRACE_PUBLIC_URL: 'https://api.example.org',
  });
  const origin = await app.listen({ host: '127.0.0.1', port: 0 });
  const owner = await signInAdmin(app, services);
  await ask(app, 'POST /admin/providers', { name: 'hub', kind: 'github', clientId: 'c', clientSecret: 's' }, owner);
  const { page, complaints, open } = await dashboardPage(t, await testBrowser(t), origin);
  await open('/');
  const link = page.getByRole('link', { name: 'https://api.example.org' });
  t.equal(await link.getAttribute('href'), 'https://api.example.org/dashboard');
  t.equal(await page.getByRole('button', { name: 'Sign in with GitHub' }).count(), 0);
  t.strictSame(complaints, []);
});
