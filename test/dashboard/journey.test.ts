/**
 * The whole job of a new user in Chromium, without a terminal: from an empty server to a collection, a policy, a user, a webhook,
 * functions and a provider. A second page on Events sees each step come.
 */
import type { Page } from 'playwright-core';
import t from 'tap';
import { buildTestApp } from '../helpers/app.ts';
import { dashboardPage } from '../helpers/dashboard/dashboard-page.ts';
import { testBrowser, whyNoBrowser } from '../helpers/programs/browser.ts';
import { startOpenIdProvider } from '../helpers/providers/openid-provider.ts';
import { until } from '../helpers/until.ts';
import { PASSWORD, signInAdmin } from '../helpers/users.ts';
import { startReceiver } from '../helpers/webhooks/receiver.ts';

/** It goes through what the other files try page by page: only with `MILLRACE_LONG=1`. */
const isLong = process.env['MILLRACE_LONG'] === '1';
const options = { skip: isLong ? (whyNoBrowser() ?? false) : 'long: MILLRACE_LONG=1', timeout: 180_000 };

t.test('from an empty server to an application, in the browser alone', options, async (t) => {
  const { app, services } = await buildTestApp(t, {
    MILLRACE_MODE: 'production',
    MILLRACE_EGRESS_ALLOW: '127.0.0.0/8,::1',
  });
  const origin = await app.listen({ host: '127.0.0.1', port: 0 });
  await signInAdmin(app, services);
  const acme = await startOpenIdProvider(t, { redirectUris: [`${origin}/auth/providers/acme/callback`] });
  acme.people.set('grace', { email: 'grace@example.org', email_verified: true });
  const receiver = await startReceiver(t);
  const browser = await testBrowser(t);
  const { page, complaints, enter, picture } = await dashboardPage(t, browser, origin);
  page.context().setDefaultTimeout(15_000);
  const button = (name: string) => page.getByRole('button', { name, exact: true });
  const go = async (name: string) => {
    await page.getByRole('navigation').getByRole('link', { name, exact: true }).click();
    await page.getByRole('heading', { name, level: 1 }).waitFor();
  };

  await enter('/data', 'owner@example.org');
  // In a window of its own: a tab behind another one is drawn once a second, and each click waits for two frames.
  const { page: second, enter: enterSecond } = await dashboardPage(t, browser, origin);
  await enterSecond('/events', 'owner@example.org');
  await second.getByRole('table', { name: 'Events' }).waitFor();
  /** The second page shows the event, by itself. */
  const seen = async (...texts: readonly string[]) => {
    const row = texts.reduce((rows, hasText) => rows.filter({ hasText }), second.getByRole('row'));
    await row.first().waitFor();
  };

  await t.test('a collection, by its first document', async () => {
    await button('New collection').first().click();
    const dialog = page.getByRole('dialog', { name: 'New collection' });
    await dialog.getByRole('textbox', { name: 'Name' }).fill('todos');
    await dialog.getByRole('textbox', { name: 'First document' }).fill('{"title":"Buy milk","authorId":"nobody"}');
    await dialog.getByRole('button', { name: 'Create' }).click();
    await page.getByRole('gridcell', { name: 'Buy milk' }).waitFor();
    await seen('todos.created', 'admin owner@example.org');
    await picture('journey-data');
  });

  await t.test('a policy, tried before anybody depends on it', async () => {
    await go('Policies');
    await button('New policy').first().click();
    await page.getByLabel('Name', { exact: true }).fill('Own todos');
    await page.getByRole('combobox', { name: 'Resources' }).fill('todos');
    await page.keyboard.press('Enter');
    // The suggestions would lie over what comes next.
    await page.keyboard.press('Tab');
    for (const action of ['create', 'update']) await page.getByRole('checkbox', { name: action, exact: true }).check();
    await page.getByRole('combobox', { name: 'Roles' }).fill('author');
    await page.keyboard.press('Enter');
    await page.keyboard.press('Tab');
    await page.getByRole('textbox', { name: 'Filter' }).fill('{"authorId": "$user.id"}');
    await button('Save').click();
    await page.getByRole('heading', { name: 'Own todos' }).waitFor();
    await seen('system.policy');
    await page.getByRole('link', { name: 'All policies' }).click();
    await page.getByRole('tab', { name: 'Tester' }).click();
    await page.getByLabel('Principal').selectOption('user');
    await page.getByLabel('Id', { exact: true }).fill('u1');
    await page.getByRole('combobox', { name: 'Roles' }).fill('author');
    await page.keyboard.press('Enter');
    await page.keyboard.press('Tab');
    for (const [author, verdict] of [
      ['u1', 'Allowed'],
      ['u2', 'Denied'],
    ] as const) {
      await page.getByRole('textbox', { name: 'Document', exact: true }).fill(`{"authorId":"${author}"}`);
      await button('Test').click();
      await page.getByRole('status').filter({ hasText: verdict }).waitFor();
    }
    await picture('journey-tester');
  });

  await t.test('a user', async () => {
    await go('Users');
    await button('New user').first().click();
    const form = page.getByRole('dialog', { name: 'New user' });
    await form.getByLabel('User name').fill('ada');
    await form.getByLabel('E-mail address').fill('ada@example.org');
    await form.getByRole('textbox', { name: 'Password' }).fill(PASSWORD);
    await form.getByRole('combobox', { name: 'Roles' }).fill('author');
    await page.keyboard.press('Enter');
    await form.getByRole('button', { name: 'Create user' }).click();
    await page.getByRole('dialog', { name: 'User ada' }).waitFor();
    await seen('system.user.created');
    await page.keyboard.press('Escape');
    await page.getByRole('row').filter({ hasText: 'ada' }).filter({ hasText: 'author' }).waitFor();
  });

  await t.test('a webhook, which arrives', async (t) => {
    await go('Webhooks');
    await button('New endpoint').first().click();
    await page.getByRole('textbox', { name: 'URL' }).fill(receiver.url);
    await page.getByRole('combobox', { name: 'Event types' }).fill('todos.*');
    await page.keyboard.press('Enter');
    await page.keyboard.press('Tab');
    await page.getByRole('textbox', { name: 'Description' }).fill('The shop');
    await button('Create endpoint').click();
    await button('I have saved it').click();
    await page.getByRole('heading', { name: 'The shop', level: 2 }).waitFor();
    await seen('system.endpoint.created');
    await page.getByRole('link', { name: 'admin owner@example.org' }).waitFor();
    await button('Send test event').click();
    await page.getByRole('dialog').getByRole('button', { name: 'Send', exact: true }).click();
    await page
      .getByRole('dialog', { name: 'Delivery of system.webhook.test' })
      .getByRole('heading', { name: 'Attempt 1' })
      .waitFor();
    await page.keyboard.press('Escape');
    t.equal(receiver.received.length, 1);
    await picture('journey-webhook');
  });

  await t.test('a function with an endpoint, and one that follows events', async (t) => {
    const make = async (name: string, kind: RegExp) => {
      await go('Functions');
      await button('New plugin').first().click();
      const dialog = page.getByRole('dialog', { name: 'New plugin' });
      await dialog.getByRole('textbox', { name: 'Name' }).fill(name);
      await dialog.getByRole('radio', { name: kind }).click();
      await dialog.getByRole('button', { name: 'Create plugin' }).click();
      await page.getByRole('heading', { name, level: 2 }).waitFor();
      await seen('system.plugin', name);
    };
    await make('hello', /^http/i);
    await page.getByRole('tab', { name: 'Dry run' }).click();
    await page.getByRole('textbox', { name: 'Path' }).fill('/fn/hello/Ada');
    await button('Send').click();
    await page.getByRole('status').getByText('Hello, Ada!').waitFor();
    await seen('greetings.created');
    await make('remember', /^trigger/);
    await page.getByRole('tab', { name: 'Runs' }).click();
    await page.getByText('No runs yet').waitFor();
    await addTodo(page, go);
    await seen('todos.created', 'bread');
    await go('Functions');
    await page.getByRole('link', { name: 'remember' }).click();
    await page.getByRole('tab', { name: 'Runs' }).click();
    const run = page.getByRole('row').filter({ hasText: 'trigger of' });
    await run.getByRole('button').click();
    await page.getByRole('dialog', { name: 'Run of remember/follow' }).getByText('A new todo: bread').waitFor();
    await picture('journey-run');
    await page.keyboard.press('Escape');
    await until(() => receiver.received.some(({ body }) => body.includes('bread')), 'the delivery');
    t.match(receiver.received.at(-1)?.body, /todos.created/, 'the webhook told of it too');
  });

  await t.test('an identity provider, with a test sign-in that makes an account', async () => {
    await go('Settings');
    await button('Add provider').click();
    const dialog = page.getByRole('dialog', { name: 'Add provider' });
    await dialog.getByRole('combobox', { name: 'Kind' }).click();
    await page.getByRole('option', { name: /OpenID Connect/ }).click();
    await dialog.getByLabel('Name').fill('acme');
    await dialog.getByLabel('Issuer').fill(acme.issuer);
    await dialog.getByLabel('Client id').fill(acme.clientId);
    await dialog.getByRole('textbox', { name: 'Client secret' }).fill(acme.clientSecret);
    await dialog
      .getByRole('checkbox', { name: /first sign-in/ })
      .or(dialog.getByRole('switch', { name: /first sign-in/ }))
      .check();
    await dialog.getByRole('button', { name: 'Add provider' }).click();
    await dialog.waitFor({ state: 'detached' });
    await page.getByRole('heading', { name: 'acme', level: 3 }).waitFor();
    await seen('system.provider', 'acme');
    await page.context().route('https://fonts.googleapis.com/**', (route) => route.abort());
    const [tab] = await Promise.all([
      page.waitForEvent('popup'),
      page.getByRole('link', { name: 'Test sign-in' }).click(),
    ]);
    await tab.getByRole('button', { name: 'Sign in with acme' }).click();
    await tab.locator('input[name=login]').fill('grace');
    await tab.locator('input[name=password]').fill('any');
    await tab.keyboard.press('Enter');
    await tab.getByRole('button', { name: 'Continue' }).click();
    await tab.getByText('You are signed in as grace@example.org.').waitFor();
    await tab.close();
    await seen('system.user.created');
    await go('Users');
    await page.getByRole('row').filter({ hasText: 'grace@example.org' }).waitFor();
    await picture('journey-provider');
  });
  // The pages of the provider ask for a font.
  const atProvider = [`asked ${acme.issuer}`, 'asked https://fonts.googleapis.com/'];
  const ours = complaints.filter((one) => !atProvider.some((beginning) => one.startsWith(beginning)));
  t.strictSame(ours, []);
});

/** Makes one more todo on the page Data, as a person does. */
async function addTodo(page: Page, go: (name: string) => Promise<void>): Promise<void> {
  await go('Data');
  await page.getByRole('link', { name: 'todos' }).click();
  await page.getByRole('button', { name: 'New document' }).click();
  const dialog = page.getByRole('dialog', { name: 'New document in todos' });
  await dialog.getByLabel('id', { exact: true }).fill('bread');
  await dialog.getByText('JSON', { exact: true }).click();
  await dialog.getByRole('textbox', { name: 'Document as JSON' }).fill('{"title":"Buy bread"}');
  await dialog.getByRole('button', { name: 'Create' }).click();
  await page.getByRole('gridcell', { name: 'Buy bread' }).waitFor();
  // The new document is open beside the grid.
  await page.keyboard.press('Escape');
}
