/** The first page in Chromium: how one begins, the state of the server, what needs attention, and what happens. */
import { randomBytes } from 'node:crypto';
import t from 'tap';
import { ask, signInOwner } from '../helpers/accounts.ts';
import { buildTestApp } from '../helpers/app.ts';
import { dashboardPage } from '../helpers/dashboard/dashboard-page.ts';
import { signInAt } from '../helpers/dashboard/sign-in.ts';
import { testBrowser, whyNoBrowser } from '../helpers/programs/browser.ts';
import { startReceiver } from '../helpers/webhooks/receiver.ts';

t.test('overview', { skip: whyNoBrowser() ?? false, timeout: 120_000 }, async (t) => {
  const { app, parts } = await buildTestApp(t, {
    MILLRACE_MODE: 'production',
    MILLRACE_MASTER_KEY: randomBytes(32).toString('base64'),
    MILLRACE_EGRESS_ALLOW: '127.0.0.0/8',
  });
  const origin = await app.listen({ host: '127.0.0.1', port: 0 });
  const owner = await signInOwner(app, parts);
  await signInOwner(app, parts, ['viewer']);
  const browser = await testBrowser(t);
  const receiver = await startReceiver(t);
  receiver.answer = () => 500;
  const { page, complaints, open, picture, violations } = await dashboardPage(t, browser, origin);
  const advice = page.getByRole('list', { name: 'Needs attention' });

  await open('/');
  await signInAt(page, 'owner@example.org');

  await t.test('teaches how the first document comes, and shows its event', async (t) => {
    const part = page.locator('section', { has: page.getByRole('heading', { name: 'Make a first document' }) });
    await part.getByText(`curl ${origin}/api/todos`).waitFor();
    await part.getByText('Waiting for the first event').waitFor();
    t.strictSame(await violations(), []);
    await ask(app, 'POST /api/todos', { id: 'milk', title: 'Buy milk' }, owner);
    await part.getByText('"title": "Buy milk"').waitFor();
    const collections = page.getByRole('table', { name: 'Collections' });
    await collections.getByRole('row', { name: 'todos 1' }).waitFor();
    await page
      .getByRole('table', { name: 'Newest events' })
      .getByRole('row', { name: /todos.created milk/ })
      .waitFor();
  });

  await t.test('says what needs attention, as it comes and goes', async (t) => {
    await advice.getByRole('link', { name: 'No policy yet: only owners can do something.' }).waitFor();
    await advice.getByRole('link', { name: /^Set MILLRACE_PUBLIC_URL/ }).waitFor();
    const policy = {
      name: 'all',
      effect: 'allow',
      actions: ['read'],
      collections: ['todos'],
      principals: { roles: ['reader'] },
    };
    t.equal((await ask(app, 'POST /admin/policies', policy, owner)).statusCode, 201);
    await advice.getByText('No policy yet').waitFor({ state: 'detached' });
    const endpoint = { url: receiver.url, types: ['todos.*'] };
    t.equal((await ask(app, 'POST /webhooks/endpoints', endpoint, owner)).statusCode, 201);
    await ask(app, 'PATCH /api/todos/milk', { done: true }, owner);
    await advice.getByRole('link', { name: '1 endpoint failing.' }).waitFor();
  });

  await t.test('shows how the server is doing', async (t) => {
    await page.getByRole('listitem').filter({ hasText: 'Recorder' }).getByText('In this process.').waitFor();
    const connections = page.getByRole('listitem').filter({ hasText: 'Connections' });
    await connections.getByText('1', { exact: true }).waitFor();
    await page.reload();
    await page.getByRole('row', { name: /todos.updated milk/ }).waitFor();
    t.equal(await page.getByRole('heading', { name: 'Make a first document' }).count(), 0, 'something is there');
    await picture('overview');
    t.strictSame(await violations(), []);
    await page.getByRole('link', { name: 'todos.updated' }).click();
    await page.getByRole('dialog', { name: 'todos.updated' }).waitFor();
    await page.goBack();
    await page.getByRole('heading', { name: 'Overview', level: 1 }).waitFor();
  });
  t.strictSame(complaints, []);

  await t.test('a viewer on a phone sees it without what owners are advised', async (t) => {
    const phone = await dashboardPage(t, browser, origin, {
      viewport: { width: 390, height: 800 },
      colorScheme: 'dark',
    });
    await phone.open('/');
    await signInAt(phone.page, 'viewer@example.org');
    await phone.page.getByRole('link', { name: '1 endpoint failing.' }).waitFor();
    await phone.page.getByRole('row', { name: /todos.updated milk/ }).waitFor();
    t.equal(await phone.page.getByText('MILLRACE_PUBLIC_URL').count(), 0);
    t.equal(await phone.page.evaluate('document.documentElement.scrollWidth'), 390, 'nothing is wider than a phone');
    t.strictSame(await phone.violations(), []);
    await phone.picture('overview-phone');
    t.strictSame(phone.complaints, []);
  });
});
