/** The page Events in Chromium: follows, holds, narrows, goes back in time, shows what changed, and replays to a webhook and a trigger. */
import { randomBytes } from 'node:crypto';
import t from 'tap';
import { buildTestApp } from '../helpers/app.ts';
import { dashboardPage } from '../helpers/dashboard/dashboard-page.ts';
import { testBrowser, whyNoBrowser } from '../helpers/programs/browser.ts';
import { until } from '../helpers/until.ts';
import { ask, signInAdmin } from '../helpers/users.ts';
import { startReceiver } from '../helpers/webhooks/receiver.ts';

t.test('events', { skip: whyNoBrowser() ?? false, timeout: 120_000 }, async (t) => {
  const { app, services } = await buildTestApp(t, {
    MILLRACE_MODE: 'production',
    MILLRACE_MASTER_KEY: randomBytes(32).toString('base64'),
    MILLRACE_EGRESS_ALLOW: '127.0.0.0/8',
  });
  const origin = await app.listen({ host: '127.0.0.1', port: 0 });
  const owner = await signInAdmin(app, services);
  const viewer = await signInAdmin(app, services, ['viewer']);
  const browser = await testBrowser(t);
  const receiver = await startReceiver(t);
  const endpoint = { name: 'Shop', url: receiver.url, types: ['orders.*'] };
  t.equal((await ask(app, 'POST /webhooks/endpoints', endpoint, owner)).statusCode, 201);
  const write = async (request: Parameters<typeof ask>[1], body?: object) => {
    const { statusCode, headers } = await ask(app, request, body, owner);
    t.ok(statusCode < 300, request);
    return String(headers['x-request-id']);
  };
  for (let n = 1; n <= 3; n += 1) await write('POST /api/orders', { id: `o${n}`, status: 'new', n });
  await write('POST /api/todos', { id: 'milk', title: 'Buy milk' });

  const { page, complaints, enter, go, picture, violations } = await dashboardPage(t, browser, origin);
  /** The rows, which are found by the word on their button. */
  const rows = page.getByRole('table', { name: 'Events' }).getByRole('row');
  const row = (type: string, id: string) => rows.filter({ hasText: type }).filter({ hasText: id });
  const seen = async () => (await rows.locator('td:nth-child(3)').allTextContents()).join();

  await enter('/events?types=orders.*,todos.*', 'owner@example.org');

  await t.test('shows what was, and follows what comes', async (t) => {
    await row('todos.created', 'milk').waitFor();
    t.equal(await seen(), 'milk,o3,o2,o1');
    await page.getByRole('status').filter({ hasText: 'Live' }).waitFor();
    await write('PATCH /api/orders/o1', { status: 'paid' });
    await row('orders.updated', 'o1').waitFor();
    await picture('events');
    t.strictSame(await violations(), []);
  });

  await t.test('holds the list, and goes on without a gap', async (t) => {
    await page.getByRole('button', { name: 'Pause' }).click();
    await write('PATCH /api/orders/o2', { status: 'paid' });
    await page.getByRole('button', { name: 'Show 1 new' }).waitFor();
    t.equal(await row('orders.updated', 'o2').count(), 0);
    await page.getByRole('button', { name: 'Continue' }).click();
    await row('orders.updated', 'o2').waitFor();
    t.equal(await seen(), 'o2,o1,milk,o3,o2,o1');
  });

  await t.test('shows one event with what changed, by a link too', async (t) => {
    const request = await write('PATCH /api/orders/o3', { status: 'sent' });
    await row('orders.updated', 'o3').getByRole('button').click();
    const detail = page.getByRole('dialog', { name: 'orders.updated' });
    await detail
      .getByRole('row', { name: /status changed/ })
      .getByText('"sent"')
      .waitFor();
    await detail.getByRole('link', { name: 'admin owner@example.org' }).waitFor();
    t.match(page.url(), /event=\d+-\d+/);
    await page.reload();
    await detail.getByText(request).waitFor();
    await picture('events-detail');
    t.strictSame(await violations(), []);
    t.equal(
      await detail.getByRole('link', { name: 'o3 in orders' }).getAttribute('href'),
      '/dashboard/data/orders?doc=o3',
    );
    await detail.getByRole('button', { name: 'Only of this request' }).click();
    await detail.waitFor({ state: 'detached' });
    await until(async () => (await seen()) === 'o3', 'only what this request did');
    await page.goBack();
    await page.goBack();
    await until(async () => (await seen()) === 'o3,o2,o1,milk,o3,o2,o1', 'everything again');
  });

  await t.test('narrows by the language of lists, and by types that are refused with a hint', async () => {
    await page.getByRole('textbox', { name: 'Filter' }).fill('{"data.status":"paid"}');
    await page.keyboard.press('Enter');
    await until(async () => (await seen()) === 'o2,o1', 'only what is paid');
    await write('POST /api/orders', { id: 'o4', status: 'paid' });
    await write('POST /api/orders', { id: 'o5', status: 'new' });
    await until(async () => (await seen()) === 'o4,o2,o1', 'live as well');
    await go('/events?types=orders.create');
    await page.getByRole('alert').getByText("Did you mean 'orders.created'?").waitFor();
  });

  await t.test('begins at a moment, and reads on', async (t) => {
    const { position } = (await ask(app, 'GET /events', undefined, owner)).json();
    const [epoch, number] = position.split('-').map(Number);
    await write('POST /api/orders', { id: 'later' });
    await go(`/events?types=orders.*&since=${epoch}-${number}`);
    await row('orders.created', 'later').waitFor();
    t.equal(await seen(), 'later');
    await page.getByRole('button', { name: 'Load older' }).click();
    await until(async () => (await seen()) === 'later,o5,o4,o3,o2,o1,o3,o2,o1', 'what was before');
    await page.getByText('The log has no older events').waitFor();
    await page.getByRole('button', { name: `Since ${position}` }).click();
    await page.getByLabel('Time').fill('2020-01-01T00:00:00');
    await page.getByRole('button', { name: 'Show', exact: true }).click();
    await page.waitForURL((url) => url.searchParams.get('since') !== position);
    await until(async () => (await seen()).endsWith('o3,o2,o1'), 'from the first one on');
  });

  await t.test('replays a range to a webhook', async (t) => {
    await until(() => receiver.received.length >= 9, 'everything was delivered once');
    const before = receiver.received.length;
    await row('orders.created', 'o4').getByRole('button').click();
    await page.getByRole('button', { name: 'Replay from here' }).click();
    const dialog = page.getByRole('dialog', { name: 'Replay events' });
    await dialog.getByRole('combobox', { name: 'Endpoint or trigger' }).click();
    await page.getByRole('option', { name: 'Shop' }).click();
    t.strictSame(await violations(), []);
    await dialog.getByRole('button', { name: 'Replay' }).click();
    await dialog.getByText('Done: 3 events queued.').waitFor();
    await until(() => receiver.received.length === before + 3, 'they have come again');
    t.strictSame(
      receiver.received
        .slice(before)
        .map(({ body }) => JSON.parse(body).documentId)
        .sort(),
      ['later', 'o4', 'o5'],
    );
  });

  await t.test('replays a range to a trigger', async (t) => {
    const manifest = { name: 'shop', functions: [{ name: 'note', file: 'note.ts', on: ['orders.created'] }] };
    const files = { 'note.ts': 'export default (event) => event.documentId;' };
    await write('PUT /admin/plugins/shop', { manifest, files });
    await go('/events?types=orders.*');
    await row('orders.created', 'o4').getByRole('button').click();
    await page.getByRole('button', { name: 'Replay from here' }).click();
    const dialog = page.getByRole('dialog', { name: 'Replay events' });
    await dialog.getByRole('combobox', { name: 'Endpoint or trigger' }).click();
    await page.getByRole('option', { name: 'shop/note' }).click();
    t.strictSame(await violations(), []);
    await dialog.getByRole('button', { name: 'Replay' }).click();
    await dialog.getByText('Done: 3 runs created.').waitFor();
    const ran = async () => (await ask(app, 'GET /admin/runs?plugin=shop&state=succeeded', undefined, owner)).json();
    await until(async () => (await ran()).length === 3, 'they have run');
  });
  t.strictSame(complaints, []);

  await t.test('a viewer on a phone looks and may not replay', async (t) => {
    const phone = await dashboardPage(t, browser, origin, {
      viewport: { width: 390, height: 800 },
      colorScheme: 'dark',
    });
    await phone.enter('/events?types=orders.*', 'viewer@example.org');
    await phone.page.getByRole('table', { name: 'Events' }).waitFor();
    t.ok(await phone.page.getByRole('button', { name: 'Replay events' }).isDisabled());
    t.equal(await phone.page.evaluate('document.documentElement.scrollWidth'), 390, 'nothing is wider than a phone');
    t.strictSame(await phone.violations(), []);
    const [{ id }] = (await ask(app, 'GET /webhooks/endpoints', undefined, owner)).json();
    const refused = await ask(app, `POST /webhooks/endpoints/${id}/replay`, { since: '1-1' }, viewer);
    t.equal(refused.statusCode, 403);
    const trigger = 'POST /admin/plugins/shop/functions/note/replay';
    t.equal((await ask(app, trigger, { since: '1-1' }, viewer)).statusCode, 403);
    await phone.picture('events-phone');
    t.strictSame(phone.complaints, []);
  });
});
