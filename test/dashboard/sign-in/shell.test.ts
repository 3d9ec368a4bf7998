/** The frame of the dashboard in Chromium: sign-in, sessions that end elsewhere, navigation, and what is kept where. */
import t from 'tap';
import { buildTestApp } from '../../helpers/app.ts';
import { dashboardPage } from '../../helpers/dashboard/dashboard-page.ts';
import { setUpFactor, wrongCode } from '../../helpers/mfa/authenticator.ts';
import { testBrowser, whyNoBrowser } from '../../helpers/programs/browser.ts';
import { ask, PASSWORD, signInAdmin, signUp } from '../../helpers/users.ts';

const options = { skip: whyNoBrowser() ?? false, timeout: 120_000 };

t.test(
  'an administrator signs in, stays signed in, and continues after the session has ended elsewhere',
  options,
  async (t) => {
    const { app, services } = await buildTestApp(t, { MILLRACE_MODE: 'production' });
    const origin = await app.listen({ host: '127.0.0.1', port: 0 });
    const owner = await signInAdmin(app, services);
    const { code, secret } = await setUpFactor(app, services, owner);
    const { page, complaints, open, picture, violations } = await dashboardPage(t, await testBrowser(t), origin);

    await open('/api');
    await page.getByRole('heading', { name: 'Sign in to Millrace' }).waitFor();
    await picture('sign-in');
    t.strictSame(await violations(), []);
    await page.getByLabel('User name or e-mail address').fill('owner@example.org');
    await page.getByRole('textbox', { name: 'Password' }).fill('not this one');
    await page.keyboard.press('Enter');
    await page.getByRole('alert').filter({ hasText: 'sign-in failed' }).waitFor();
    await page.getByRole('textbox', { name: 'Password' }).fill(PASSWORD);
    await page.keyboard.press('Enter');
    const typed = page.getByLabel('Code');
    await typed.fill(wrongCode(secret));
    t.strictSame(await violations(), [], 'the second step');
    await page.keyboard.press('Enter');
    await page.getByRole('alert').filter({ hasText: 'code is not right' }).waitFor();
    await typed.fill(await code());
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'API', level: 1 }).waitFor();
    t.match(page.url(), /\/dashboard\/api$/, 'the page that was asked for');

    await page.reload();
    await page.getByRole('heading', { name: 'API', level: 1 }).waitFor();
    t.strictSame(await violations(), []);
    const kept = await page.evaluate<string>(
      'JSON.stringify([localStorage, sessionStorage, document.cookie, location.href])',
    );
    t.notMatch(kept, /eyJ|millrace=/, 'no token where a script could find it');

    const begun = performance.now();
    for (const { id, current } of (await ask(app, 'GET /auth/sessions', undefined, owner)).json()) {
      if (!current) await ask(app, `DELETE /auth/sessions/${id}`, undefined, owner);
    }
    const dialog = page.getByRole('dialog', { name: 'Your session has ended' });
    await dialog.waitFor();
    t.comment(`told after ${Math.round(performance.now() - begun)} ms`);
    await dialog.getByLabel('User name or e-mail address').fill('owner@example.org');
    await dialog.getByRole('textbox', { name: 'Password' }).fill(PASSWORD);
    await page.keyboard.press('Enter');
    await dialog.getByLabel('Code').fill(await code());
    await page.keyboard.press('Enter');
    await dialog.waitFor({ state: 'detached' });
    await page.getByRole('heading', { name: 'API', level: 1 }).waitFor();

    await page.getByRole('button', { name: 'Account of owner@example.org' }).click();
    await page.getByRole('menuitem', { name: 'Sign out' }).click();
    await page.getByRole('button', { name: 'Sign in' }).waitFor();
    t.strictSame(complaints, []);
  },
);

t.test('development mode opens without an account and says so', options, async (t) => {
  const { app } = await buildTestApp(t);
  const origin = await app.listen({ host: '127.0.0.1', port: 0 });
  const { page, complaints, open, violations } = await dashboardPage(t, await testBrowser(t), origin, {
    viewport: { width: 390, height: 800 },
    colorScheme: 'dark',
  });
  await open('/api');
  await page.getByText('Development mode').waitFor();
  t.strictSame(await violations(), []);
  t.equal(await page.evaluate('document.documentElement.scrollWidth'), 390, 'nothing is wider than a phone');
  await page.getByRole('button', { name: 'Search' }).click();
  await page.getByRole('textbox', { name: 'Search', exact: true }).fill('overv');
  await page.keyboard.press('Enter');
  await page.waitForURL(/\/dashboard\/?$/);

  await ask(app, 'POST /api/todos', { id: 'milk', title: 'Milk' });
  await ask(app, 'POST /api/notes', { id: 'note', text: 'Not this one' });
  await signUp(app, 'ada');
  const search = async (typed: string, found: string) => {
    await page.keyboard.press('Control+k');
    await page.getByRole('textbox', { name: 'Search', exact: true }).fill(typed);
    await page.locator('[data-action][data-selected]').getByText(found, { exact: true }).waitFor();
    t.strictSame(await violations(), [], typed);
    await page.keyboard.press('Enter');
  };
  await search('milk', 'Document of todos');
  await page.getByRole('dialog', { name: 'milk' }).getByText('Revision 1').waitFor();
  await page.keyboard.press('Escape');
  await page.waitForURL(/\/data\/todos$/);
  await search('notes note', 'Document of notes');
  await page.waitForURL(/\/data\/notes\?doc=note$/);
  await search('ada', 'ada');
  await page.getByRole('dialog', { name: 'User ada' }).waitFor();
  await page.keyboard.press('Escape');
  await page.waitForURL(/\/users$/);
  await search('new coll', 'New collection');
  await page.getByRole('dialog', { name: 'New collection' }).waitFor();
  t.strictSame(complaints, []);
});
