/** The pages Users and Keys in Chromium: made, changed and ended there, followed live, and closed to those who may not. */
import t from 'tap';
import { buildTestApp } from '../helpers/app.ts';
import { dashboardPage } from '../helpers/dashboard/dashboard-page.ts';
import { setUpFactor } from '../helpers/mfa/authenticator.ts';
import { testBrowser, whyNoBrowser } from '../helpers/programs/browser.ts';
import { ask, PASSWORD, signIn, signInAdmin, toUser } from '../helpers/users.ts';

/** Must be shown as text. */
const MARKUP = '<img src=x onerror=alert(1)>';
const options = { skip: whyNoBrowser() ?? false, timeout: 120_000 };

t.test('accounts and keys in the dashboard', options, async (t) => {
  const { app, services } = await buildTestApp(t, { MILLRACE_MODE: 'production' });
  const origin = await app.listen({ host: '127.0.0.1', port: 0 });
  const owner = await signInAdmin(app, services);
  await signInAdmin(app, services, ['viewer']);
  const browser = await testBrowser(t);
  const { page, complaints, enter, go, picture, violations } = await dashboardPage(t, browser, origin);
  page.setDefaultTimeout(10_000);
  const dialog = (name: string | RegExp) => page.getByRole('dialog', { name });

  await t.test('an administrator makes an account, changes it, ends its sessions and deletes it', async (t) => {
    await enter('/users', 'owner@example.org');
    await page.getByRole('heading', { name: 'Users', level: 1 }).waitFor();
    await page.getByRole('button', { name: 'New user' }).click();
    const form = dialog('New user');
    await form.getByLabel('User name').fill('ada');
    await form.getByLabel('E-mail address').fill('ada@example.org');
    await form.getByRole('textbox', { name: 'Password' }).fill('password');
    await form.getByRole('combobox', { name: 'Roles' }).fill('author');
    await page.keyboard.press('Enter');
    await form.getByRole('button', { name: 'Create user' }).click();
    await form.getByRole('alert').waitFor();
    t.strictSame(await violations(), [], 'the form with a refusal');
    await form.getByRole('textbox', { name: 'Password' }).fill(PASSWORD);
    await form.getByRole('button', { name: 'Create user' }).click();

    const user = dialog('User ada');
    await user.waitFor();
    const headers = { 'user-agent': MARKUP };
    const payload = { username: 'ada', password: PASSWORD };
    const ada = toUser(await app.inject({ method: 'POST', url: '/auth/login', headers, payload }));
    await user.getByText(MARKUP).waitFor();
    const claims = user.getByRole('textbox', { name: 'Claims' });
    await claims.fill('{"tenant": }');
    t.ok(await user.getByRole('button', { name: 'Save roles and claims' }).isDisabled(), 'not valid JSON');
    await claims.fill('{"tenant":"north"}');
    await user.getByRole('button', { name: 'Save roles and claims' }).click();
    await user.getByRole('button', { name: 'Discard' }).waitFor({ state: 'detached' });
    await user.getByText('north').waitFor();
    await ask(app, 'PATCH /auth/me', { profile: { city: MARKUP } }, ada);
    await user.getByLabel('Profile').filter({ hasText: MARKUP }).waitFor();
    const stored = (await ask(app, `GET /admin/users/${ada.id}`, undefined, owner)).json();
    t.match(stored, { roles: ['author'], claims: { tenant: 'north' } });
    t.strictSame(await violations(), [], 'the drawer');
    await picture('user');

    const { code } = await setUpFactor(app, services, ada);
    await user.getByRole('button', { name: 'Remove second factor' }).click();
    const removal = dialog('Remove the second factor of ada');
    await removal.waitFor();
    t.strictSame(await violations(), [], 'the question');
    await removal.getByRole('button', { name: 'Remove' }).click();
    await user.getByText('No second factor is set up').waitFor();
    t.match((await ask(app, 'POST /auth/reauthenticate', { code: await code() }, ada)).json(), {
      code: 'invalid-credentials',
    });

    await user.getByRole('button', { name: 'End the session from' }).click();
    await user.getByText('No sessions').waitFor();
    t.equal((await ask(app, 'GET /auth/me', undefined, ada)).statusCode, 401);
    await user.getByRole('button', { name: 'Disable' }).click();
    await user.getByRole('button', { name: 'Enable' }).waitFor();
    await user.getByRole('button', { name: 'Delete' }).click();
    const query = dialog('Delete ada');
    await query.getByLabel('Type ada to confirm').fill('ada');
    await query.getByRole('button', { name: 'Delete' }).click();
    await user.waitFor({ state: 'detached' });
    t.equal((await ask(app, `GET /admin/users/${ada.id}`, undefined, owner)).statusCode, 404);
  });

  await t.test('the list is live, can be searched, and is a deep link', async (t) => {
    const row = (name: string) => page.getByRole('row').filter({ hasText: name });
    await ask(app, 'POST /admin/users', { username: 'grace', roles: ['staff'], password: PASSWORD }, owner);
    await row('grace').getByText('staff').waitFor();
    await ask(app, 'POST /admin/users', { username: 'linus', password: PASSWORD }, owner);
    await row('linus').waitFor();
    await page.getByLabel('Search users').fill('GRA');
    await row('linus').waitFor({ state: 'detached' });
    await row('grace').getByRole('link', { name: 'grace' }).click();
    await dialog('User grace').waitFor();
    t.match(page.url(), /search=GRA.*user=/);
    await page.reload();
    await dialog('User grace').waitFor();
    await page.goBack();
    await dialog('User grace').waitFor({ state: 'detached' });
    t.equal(await page.getByLabel('Search users').inputValue(), 'GRA');
    await go('/users');
    await row('linus').waitFor();
    t.strictSame(await violations(), []);
    await picture('users');
  });

  await t.test('the last owner stays, in the words of the server', async () => {
    await page.getByRole('link', { name: 'owner@example.org', exact: true }).click();
    const user = dialog('User owner@example.org');
    await user.getByRole('button', { name: 'Disable' }).click();
    await user.getByRole('alert').filter({ hasText: 'last owner' }).waitFor();
    await page.keyboard.press('Escape');
    await user.waitFor({ state: 'detached' });
  });

  await t.test('a key is made, shown once, works, and is revoked', async (t) => {
    await go('/keys');
    await page.getByText('No API keys yet').waitFor();
    await page.getByRole('button', { name: 'New key' }).click();
    const form = dialog('New key');
    await form.getByLabel('Name').fill('nightly');
    await form.getByLabel('read').check();
    await form.getByRole('combobox', { name: 'Resources' }).fill('todos');
    await page.keyboard.press('Enter');
    t.strictSame(await violations(), [], 'the form');
    await form.getByRole('button', { name: 'Create key' }).click();
    const shown = dialog('Key created');
    const key = (await shown.getByLabel('the key', { exact: true }).textContent()) ?? '';
    t.match(await shown.getByLabel('the command', { exact: true }).textContent(), `/api/todos`);
    t.strictSame(await violations(), [], 'the key');
    await picture('key');
    await shown.getByRole('button', { name: 'I have saved it' }).click();
    const row = page.getByRole('row').filter({ hasText: 'nightly' });
    await row.getByText('in 3 months').waitFor();
    t.notMatch(await page.content(), key, 'not shown again');
    const headers = { authorization: `Bearer ${key}` };
    t.equal((await app.inject({ url: '/api/todos', headers })).statusCode, 403, 'known, and not allowed yet');
    await ask(app, 'POST /admin/keys', { name: 'from outside' }, owner);
    await page.getByRole('row').filter({ hasText: 'from outside' }).waitFor();
    t.strictSame(await violations(), []);
    await picture('keys');
    await page.getByRole('button', { name: 'Revoke nightly' }).click();
    await dialog('Revoke nightly').getByRole('button', { name: 'Revoke' }).click();
    await row.waitFor({ state: 'detached' });
    t.equal((await app.inject({ url: '/api/todos', headers })).statusCode, 401);
  });

  await t.test('a viewer sees neither, on a phone in the dark', async (t) => {
    const phone = { viewport: { width: 390, height: 800 }, colorScheme: 'dark' } as const;
    const other = await dashboardPage(t, browser, origin, phone);
    await other.enter('/users', 'viewer@example.org');
    await other.page.getByText('This page requires the role owner or manager').waitFor();
    t.equal(await other.page.getByRole('button', { name: 'New user' }).count(), 0);
    await other.go('/keys');
    await other.page.getByText('This page requires the role owner or manager').waitFor();
    t.equal((await ask(app, 'GET /admin/users', undefined, await signIn(app, 'viewer@example.org'))).statusCode, 403);
    t.strictSame(await other.violations(), []);
    t.strictSame(other.complaints, []);
  });

  await t.test('an administrator sees both on a phone in the dark', async (t) => {
    const phone = { viewport: { width: 390, height: 800 }, colorScheme: 'dark' } as const;
    const own = await dashboardPage(t, browser, origin, phone);
    await own.enter('/users', 'owner@example.org');
    await own.page.getByRole('heading', { name: 'Users', level: 1 }).waitFor();
    for (const path of ['/users', '/keys', `/users?user=${owner.id}`]) {
      await own.go(path);
      await own.page
        .getByRole(path.includes('?') ? 'dialog' : 'row')
        .first()
        .waitFor();
      t.equal(await own.page.evaluate('document.documentElement.scrollWidth'), 390, path);
      t.strictSame(await own.violations(), [], path);
    }
    await own.picture('user-phone');
    t.strictSame(own.complaints, []);
  });
  t.strictSame(complaints, []);
});
