/** The own account in the dashboard, in Chromium: a second factor is set up, used for a fresh sign-in, and removed. */
import { readFile } from 'node:fs/promises';
import t from 'tap';
import { buildTestApp } from '../helpers/app.ts';
import { dashboardPage } from '../helpers/dashboard/dashboard-page.ts';
import { codeNow, wrongCode } from '../helpers/mfa/authenticator.ts';
import { testBrowser, whyNoBrowser } from '../helpers/programs/browser.ts';
import { ask, PASSWORD, signInAdmin } from '../helpers/users.ts';

const options = { skip: whyNoBrowser() ?? false, timeout: 120_000 };

t.test('an administrator sets up a second factor and proves to be fresh', options, async (t) => {
  const { app, services } = await buildTestApp(t, { MILLRACE_MODE: 'production', MILLRACE_ADMIN_MFA: 'required' });
  const origin = await app.listen({ host: '127.0.0.1', port: 0 });
  const owner = await signInAdmin(app, services);
  const { page, complaints, enter, go, picture, violations } = await dashboardPage(t, await testBrowser(t), origin, {
    permissions: ['clipboard-read', 'clipboard-write'],
  });
  const { log } = services.mongo;
  const age = () => log.collection('refresh_tokens').updateMany({}, { $set: { verifiedAt: new Date(0) } });
  const button = (name: string) => page.getByRole('button', { name, exact: true });
  const setUp = page.getByRole('dialog', { name: 'Set up authenticator app' });
  const shown = page.getByRole('dialog', { name: 'Your recovery codes' });
  const fresh = page.getByRole('dialog', { name: 'Confirm your identity' });
  const codesShown = async () =>
    (await shown.getByLabel('the recovery codes', { exact: true }).innerText()).split('\n');
  const begin = async () => {
    await button('Set up app').click();
    return await setUp.getByLabel('the secret', { exact: true }).innerText();
  };
  let codes: string[] = [];

  await t.test('which is asked of each administrator, and every page leads to it', async (t) => {
    await enter('/users', 'owner@example.org');
    await page.getByRole('link', { name: 'Set up your second factor' }).first().click();
    await page.getByRole('heading', { name: 'Your account', level: 1 }).waitFor();
    const secret = await begin();
    const size = 'document.querySelector("img[alt^=QR]").naturalWidth';
    await page.waitForFunction(`${size} > 0`);
    t.strictSame(await violations(), []);
    await picture('second-factor');
    await setUp.getByLabel('Code').fill(wrongCode(secret));
    await page.keyboard.press('Enter');
    await setUp.getByRole('alert').filter({ hasText: 'code is not right' }).waitFor();
    const failures = await log
      .collection<{ _id: string; failures: number }>('login_throttle')
      .findOne({ _id: /^factor:/ });
    t.equal(failures?.failures, 1, 'a wrong code is sent once');
    await setUp.getByLabel('Code').fill(codeNow(secret));
    await page.keyboard.press('Enter');
    codes = await codesShown();
    t.equal(codes.length, 10);
    t.strictSame(await violations(), []);
    await button('Copy the recovery codes').click();
    t.equal(await page.evaluate<string>('navigator.clipboard.readText()'), codes.join('\n'));
    const [download] = await Promise.all([page.waitForEvent('download'), page.getByText('Download').click()]);
    t.equal(await readFile(await download.path(), 'utf8'), `${codes.join('\n')}\n`);
    await button('I have saved them').click();
    await page.getByText('10 recovery codes are left.').waitFor();
    t.equal((await ask(app, 'GET /auth/me', undefined, owner)).statusCode, 401, 'the other session has ended');
    await page.getByRole('link', { name: 'Users' }).click();
    await page.getByRole('row').filter({ hasText: 'owner@example.org' }).waitFor();
  });

  await t.test('is asked for a code where the sign-in is old, and the request goes on', async (t) => {
    await button('Account of owner@example.org').click();
    await page.getByRole('menuitem', { name: 'Your account' }).click();
    await age();
    await button('Generate new recovery codes').click();
    await button('Generate codes').click();
    await fresh.getByLabel('Code').waitFor();
    await page.keyboard.press('Escape');
    await page.getByRole('alert').filter({ hasText: 'Re-authentication' }).waitFor();
    await button('Generate codes').click();
    await fresh.getByLabel('Code').fill('0000-0000-0000-0000');
    t.strictSame(await violations(), []);
    await page.keyboard.press('Enter');
    await fresh.getByRole('alert').filter({ hasText: 'code is not right' }).waitFor();
    await fresh.getByLabel('Code').fill(codes[0] ?? '');
    await page.keyboard.press('Enter');
    const renewed = await codesShown();
    t.equal(new Set([...codes, ...renewed]).size, 20);
    t.equal(await fresh.count(), 0);
    await button('I have saved them').click();
  });

  await t.test('or for the password, also elsewhere', async (t) => {
    await age();
    await go('/keys?create=true');
    await page.getByRole('textbox', { name: 'Name' }).fill('nightly');
    await button('Create key').click();
    await fresh.getByRole('button', { name: 'Use the password instead' }).click();
    await fresh.getByLabel('Password').first().fill(PASSWORD);
    await page.keyboard.press('Enter');
    await page.getByRole('dialog', { name: 'Key created' }).waitFor();
    t.equal(await services.mongo.data.collection('_keys').countDocuments(), 1);
  });

  await t.test('removes it; and gets recovery codes when the answer with them was lost', async (t) => {
    await go('/account');
    await button('Remove app').click();
    await button('Remove').click();
    const secret = await begin();
    await page.route('**/auth/mfa/totp/confirm', async (route) => {
      await route.fetch();
      await route.abort();
    });
    await setUp.getByLabel('Code').fill(codeNow(secret));
    await page.keyboard.press('Enter');
    codes = await codesShown();
    await button('I have saved them').click();
    const user = { username: 'owner@example.org', password: PASSWORD, code: codes[9] };
    t.equal((await ask(app, 'POST /auth/login', user)).statusCode, 200);
  });

  t.strictSame(complaints, []);
});
