/** The page Webhooks in Chromium, with a receiver at this machine that really gets what is sent. */
import t from 'tap';
import { buildTestApp } from '../../helpers/app.ts';
import { dashboardPage } from '../../helpers/dashboard/dashboard-page.ts';
import { testBrowser, whyNoBrowser } from '../../helpers/programs/browser.ts';
import { ask, signInAdmin } from '../../helpers/users.ts';
import { startReceiver } from '../../helpers/webhooks/receiver.ts';

const options = { skip: whyNoBrowser() ?? false, timeout: 120_000 };

t.test('endpoints are made, tried, changed and looked at, live', options, async (t) => {
  const { app, services } = await buildTestApp(t, {
    MILLRACE_MODE: 'production',
    MILLRACE_EGRESS_ALLOW: '127.0.0.1/32',
  });
  const origin = await app.listen({ host: '127.0.0.1', port: 0 });
  const owner = await signInAdmin(app, services);
  const viewer = await signInAdmin(app, services, ['viewer']);
  const receiver = await startReceiver(t);
  const browser = await testBrowser(t);
  const { page, complaints, open, enter, picture, violations } = await dashboardPage(t, browser, origin);

  await enter('/webhooks', 'owner@example.org');
  await page.getByText('No endpoints yet').waitFor();

  // Made in the page; its secret is shown once.
  await page.getByRole('button', { name: 'New endpoint' }).click();
  await page.getByRole('textbox', { name: 'URL' }).fill('ftp://example.org/');
  await page.getByRole('combobox', { name: 'Event types' }).fill('orders.*');
  await page.keyboard.press('Enter');
  await page.keyboard.press('Tab');
  await page.getByRole('button', { name: 'Create endpoint' }).click();
  await page.getByRole('alert').filter({ hasText: '/url' }).waitFor();
  await page.getByRole('textbox', { name: 'URL' }).fill(receiver.url);
  await page.getByRole('textbox', { name: 'Description' }).fill('The shop');
  await page.getByRole('button', { name: 'Filter, headers, retries, rate' }).click();
  await page.getByRole('button', { name: 'Add header' }).click();
  await page.getByRole('textbox', { name: 'Header name' }).fill('x-shop');
  await page.getByRole('textbox', { name: 'Header value' }).fill('north');
  t.strictSame(await violations(), [], 'the form');
  await page.getByRole('button', { name: 'Create endpoint' }).click();
  const secret = page.getByRole('dialog', { name: 'Endpoint secret' });
  t.match(await secret.getByLabel('the secret', { exact: true }).textContent(), /^whsec_/);
  await secret.getByRole('button', { name: 'I have saved it' }).click();
  await page.getByRole('heading', { name: 'The shop', level: 2 }).waitFor();

  // A test, whose answer is shown.
  await page.getByRole('button', { name: 'Send test event' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Send' }).click();
  const delivery = page.getByRole('dialog', { name: 'Delivery of system.webhook.test' });
  await delivery.getByRole('heading', { name: 'Attempt 1' }).waitFor();
  await delivery.getByText('Request and response').click();
  await delivery.getByText('webhook-signature: v1,').waitFor();
  t.equal(receiver.received[0]?.headers['x-shop'], 'north', 'the header of its own came');
  await picture('webhook-delivery');
  t.strictSame(await violations(), [], 'a delivery');
  await page.keyboard.press('Escape');

  // Live: a document that another client writes becomes a delivery, and fails.
  receiver.response = () => 500;
  await ask(app, 'POST /api/orders', { id: 'soup', title: 'Soup' }, owner);
  const failed = page.getByRole('row').filter({ hasText: 'orders.created' });
  await failed.getByText('500').waitFor();
  await page.getByText('failing', { exact: true }).waitFor();
  receiver.response = () => 204;
  await failed.getByRole('link').click();
  await page.getByRole('button', { name: 'Send again' }).click();
  await page.getByRole('heading', { name: 'Attempt 2' }).waitFor();
  const opened = page.url();
  await page.keyboard.press('Escape');
  await failed.getByText('succeeded').waitFor();
  await page.goBack();
  await page.getByRole('dialog', { name: 'Delivery of orders.created' }).waitFor();
  await open(opened.slice(`${origin}/dashboard`.length));
  await page.getByRole('dialog', { name: 'Delivery of orders.created' }).waitFor();
  await page.keyboard.press('Escape');

  // Filters are in the address.
  await page.getByRole('textbox', { name: 'Event type' }).fill('orders.*');
  await page.keyboard.press('Enter');
  await page.waitForURL(/type=orders/);
  await page.getByRole('row').filter({ hasText: 'system.webhook.test' }).waitFor({ state: 'detached' });
  await page.getByRole('textbox', { name: 'Event type' }).fill('');
  await page.keyboard.press('Enter');

  await picture('webhook');

  // Pages of the list, with the place in the address.
  const many = Array.from({ length: 30 }, (_, number) => ({ id: `order-${number}` }));
  for (const order of many) await ask(app, 'POST /api/orders', order, owner);
  await page.getByRole('button', { name: 'Older' }).click();
  await page.waitForURL(/cursor=/);
  await page.getByRole('row').filter({ hasText: 'system.webhook.test' }).waitFor();
  await page.goBack();
  await page.getByRole('row').filter({ hasText: 'system.webhook.test' }).waitFor({ state: 'detached' });

  // Events of the log once more, with progress.
  await page.getByRole('button', { name: 'Replay' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Replay' }).click();
  await page.getByText('The replay is done').waitFor();
  t.match(await page.getByRole('status').textContent(), /31 deliveries created/);
  await page.getByRole('button', { name: 'Close', exact: true }).click();
  await page.getByRole('button', { name: 'Recover' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Recover' }).click();
  await page.getByText('0 deliveries queued again').waitFor();

  // Another secret, and a change of one member.
  await page.getByRole('button', { name: 'Rotate secret' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Rotate' }).click();
  await secret.getByRole('button', { name: 'I have saved it' }).click();
  await page.getByRole('button', { name: 'Edit' }).click();
  await page.getByRole('textbox', { name: 'Description' }).fill('The big shop');
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByRole('heading', { name: 'The big shop', level: 2 }).waitFor();
  const [endpoint] = (await ask(app, 'GET /webhooks/endpoints', undefined, owner)).json();
  t.match(endpoint, { name: 'The big shop', headers: { 'x-shop': '•••' }, url: receiver.url });
  t.strictSame(await violations(), [], 'an endpoint');

  // A change from outside, seen at once.
  await ask(app, `PATCH /webhooks/endpoints/${endpoint.id}`, { enabled: false }, owner);
  await page.getByText('disabled', { exact: true }).waitFor();
  t.ok(await page.getByRole('button', { name: 'Send test event' }).isDisabled());
  await page.getByRole('switch', { name: 'Enabled' }).click();
  await page.getByText('disabled', { exact: true }).waitFor({ state: 'detached' });
  await page.getByRole('link', { name: 'All endpoints' }).click();
  await page.getByRole('link', { name: 'The big shop' }).waitFor();
  await picture('webhooks');

  // A phone in the dark, and a viewer, who looks and changes nothing.
  const phone = await dashboardPage(t, browser, origin, {
    viewport: { width: 390, height: 800 },
    colorScheme: 'dark',
  });
  await phone.enter(`/webhooks?endpoint=${endpoint.id}`, 'viewer@example.org');
  await phone.page.getByRole('row').filter({ hasText: 'orders.created' }).first().waitFor();
  for (const name of ['New endpoint', 'Edit', 'Rotate secret', 'Delete']) {
    t.ok(await phone.page.getByRole('button', { name }).isDisabled(), name);
  }
  t.equal(await phone.page.evaluate('document.documentElement.scrollWidth'), 390, 'nothing is wider than a phone');
  t.strictSame(await phone.violations(), []);
  await phone.picture('webhooks-phone');
  const tried = await ask(app, `PATCH /webhooks/endpoints/${endpoint.id}`, { name: 'Mine' }, viewer);
  t.equal(tried.statusCode, 403, 'the server refuses it, too');

  await page.getByRole('link', { name: 'The big shop' }).click();
  await page.getByRole('button', { name: 'Delete' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
  await page.getByText('No endpoints yet').waitFor();
  t.strictSame([...complaints, ...phone.complaints], []);
});
