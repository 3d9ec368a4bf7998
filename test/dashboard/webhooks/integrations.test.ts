/** The page Integrations in Chromium: a service gets a key and its policies there, and its hooks come and go by themselves. */
import t from 'tap';
import { buildTestApp } from '../../helpers/app.ts';
import { dashboardPage } from '../../helpers/dashboard/dashboard-page.ts';
import { testBrowser, whyNoBrowser } from '../../helpers/programs/browser.ts';
import { ask, signInAdmin } from '../../helpers/users.ts';

const options = { skip: whyNoBrowser() ?? false, timeout: 120_000 };

t.test('a service is let in, and its hooks are seen and removed', options, async (t) => {
  const { app, services } = await buildTestApp(t, { MILLRACE_MODE: 'production' });
  const origin = await app.listen({ host: '127.0.0.1', port: 0 });
  const owner = await signInAdmin(app, services);
  await signInAdmin(app, services, ['viewer']);
  await ask(app, 'POST /api/orders', { title: 'Tea' }, owner);
  const { id, key } = (await ask(app, 'POST /admin/keys', { name: 'zapier' }, owner)).json();
  const service = { headers: { authorization: `Bearer ${key}` } };
  const browser = await testBrowser(t);
  const { page, complaints, enter, picture, violations } = await dashboardPage(t, browser, origin);
  const hook = { targetUrl: 'https://hooks.example.invalid/1', event: 'orders.created', filter: { total: 1 } };

  await enter('/integrations', 'owner@example.org');
  await page.getByText('None yet.').waitFor();
  await page.getByText('The service cannot reach this URL').waitFor();
  t.equal(await page.getByLabel('the URL', { exact: true }).textContent(), origin);
  t.match(await page.getByLabel('the command', { exact: true }).textContent(), `${origin}/api/orders/_schema`);

  // The policies are shown before they are made.
  t.equal((await ask(app, 'POST /hooks', hook, service)).statusCode, 403, 'without policies it may do nothing');
  t.ok(await page.getByRole('button', { name: 'Create both policies' }).isDisabled(), 'for which key?');
  await page.getByRole('combobox', { name: 'Key' }).click();
  await page.getByRole('option', { name: 'zapier' }).click();
  await page.getByRole('combobox', { name: 'Collections' }).fill('orders');
  await page.keyboard.press('Enter');
  const shown = JSON.parse((await page.getByLabel('the policies', { exact: true }).textContent()) ?? '');
  t.strictSame(shown, [
    {
      name: 'zapier: webhooks',
      resources: ['_webhooks'],
      actions: ['read', 'create', 'delete'],
      principals: { keys: [id] },
      effect: 'allow',
    },
    {
      name: 'zapier: documents',
      resources: ['orders'],
      actions: ['read'],
      principals: { keys: [id] },
      effect: 'allow',
    },
  ]);
  // The connection breaks between the two. The next try makes only what is missing, and one more try nothing.
  let requested = 0;
  await page.route('**/admin/policies', (route) => {
    if (route.request().method() !== 'POST') return route.continue();
    requested += 1;
    return requested === 2 ? route.abort() : route.continue();
  });
  const makeBoth = page.getByRole('button', { name: 'Create both policies' });
  await makeBoth.click();
  await page.getByRole('alert').waitFor();
  await makeBoth.click();
  await page.getByText('Created both policies').waitFor();
  t.equal(requested, 3);
  await page.getByRole('button', { name: 'Close' }).click();
  await makeBoth.click();
  await page.getByText('Created both policies').waitFor();
  t.equal(requested, 3);
  t.equal((await ask(app, 'GET /admin/policies', undefined, owner)).json().policies.length, 2);

  // The service subscribes, and the page shows it by itself.
  const created = await ask(app, 'POST /hooks', hook, service);
  t.equal(created.statusCode, 201, created.body);
  const row = page.getByRole('row').filter({ hasText: hook.targetUrl });
  await row.getByText('orders.created').waitFor();
  await row.getByText('{"total":1}').waitFor();
  await row.getByText('key zapier').waitFor();
  t.strictSame(await violations(), []);
  await picture('integrations');
  await row.getByRole('link', { name: hook.targetUrl }).click();
  await page.waitForURL(/\/webhooks\?endpoint=/);
  await page.getByRole('heading', { name: hook.targetUrl, level: 2 }).waitFor();
  await page.goBack();

  // One that another program removes goes, too.
  const other = (
    await ask(app, 'POST /hooks', { ...hook, targetUrl: 'https://other.example.invalid/' }, service)
  ).json();
  await page.getByRole('link', { name: 'https://other.example.invalid/' }).waitFor();
  await ask(app, `DELETE /hooks/${other.id}`, undefined, service);
  await page.getByRole('link', { name: 'https://other.example.invalid/' }).waitFor({ state: 'detached' });

  await page.getByRole('tab', { name: 'n8n' }).click();
  await page.waitForURL(/service=n8n/);
  await page.getByText('Millrace Trigger').waitFor();
  await page.getByRole('tab', { name: 'TypeScript' }).click();
  t.match(await page.getByLabel('the code', { exact: true }).textContent(), origin);

  // A viewer looks.
  const phone = await dashboardPage(t, browser, origin, {
    viewport: { width: 390, height: 800 },
    colorScheme: 'dark',
  });
  await phone.enter('/integrations?service=other', 'viewer@example.org');
  const remove = { name: `Remove the hook to ${hook.targetUrl}` };
  await phone.page.getByRole('button', remove).waitFor();
  t.ok(await phone.page.getByRole('button', remove).isDisabled());
  await phone.page.getByLabel('Id of the key').fill('k1');
  t.ok(await phone.page.getByRole('button', { name: 'Create both policies' }).isDisabled());
  t.equal(await phone.page.evaluate('document.documentElement.scrollWidth'), 390, 'nothing is wider than a phone');
  t.strictSame(await phone.sideways(), [], 'nothing has to be scrolled sideways');
  t.strictSame(await phone.violations(), []);
  t.strictSame(phone.complaints, []);

  await page.getByRole('button', remove).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Remove' }).click();
  await page.getByText('None yet.').waitFor();
  await phone.page.getByText('None yet.').waitFor();
  t.strictSame((await ask(app, 'GET /hooks', undefined, service)).json(), [], 'it is gone');
  t.strictSame(complaints, []);
});
