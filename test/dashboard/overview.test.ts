/** The pages Overview and API in Chromium: how one begins, what needs attention, what happens, and requests that work as they stand. */
import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import t from 'tap';
import { buildTestApp } from '../helpers/app.ts';
import { dashboardPage } from '../helpers/dashboard/dashboard-page.ts';
import { emptyFolder } from '../helpers/functions/plugin-fixture.ts';
import { testBrowser, whyNoBrowser } from '../helpers/programs/browser.ts';
import { until } from '../helpers/until.ts';
import { ask, signInAdmin } from '../helpers/users.ts';
import { startReceiver } from '../helpers/webhooks/receiver.ts';

t.test('overview', { skip: whyNoBrowser() ?? false, timeout: 120_000 }, async (t) => {
  const folder = await emptyFolder(t);
  const { app, services } = await buildTestApp(t, {
    MILLRACE_MODE: 'production',
    MILLRACE_PLUGINS_DIR: folder,
    MILLRACE_MASTER_KEY: randomBytes(32).toString('base64'),
    MILLRACE_EGRESS_ALLOW: '127.0.0.0/8',
  });
  const origin = await app.listen({ host: '127.0.0.1', port: 0 });
  const owner = await signInAdmin(app, services);
  const viewer = await signInAdmin(app, services, ['viewer']);
  const browser = await testBrowser(t);
  const receiver = await startReceiver(t);
  receiver.response = () => 500;
  const { page, complaints, enter, go, picture, violations } = await dashboardPage(t, browser, origin);
  const advice = page.getByRole('list', { name: 'Needs attention' });

  await enter('/', 'owner@example.org');

  await t.test('teaches how the first document comes, and shows its event', async (t) => {
    const part = page.locator('section', { has: page.getByRole('heading', { name: 'Create your first document' }) });
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
    const calm = page.getByRole('list', { name: 'Recommendations' });
    await calm.getByRole('link', { name: 'No policies yet: only administrators have access.' }).waitFor();
    await calm.getByRole('link', { name: /^Set MILLRACE_PUBLIC_URL/ }).waitFor();
    t.equal(await advice.count(), 0, 'nothing is wrong');
    const policy = {
      name: 'all',
      effect: 'allow',
      actions: ['read'],
      resources: ['todos'],
      principals: { roles: ['reader'] },
    };
    t.equal((await ask(app, 'POST /admin/policies', policy, owner)).statusCode, 201);
    await calm.getByText('No policies yet').waitFor({ state: 'detached' });
    const endpoint = { url: receiver.url, types: ['todos.*'] };
    t.equal((await ask(app, 'POST /webhooks/endpoints', endpoint, owner)).statusCode, 201);
    await ask(app, 'PATCH /api/todos/milk', { done: true }, owner);
    await advice.getByRole('link', { name: '1 endpoint failing.' }).waitFor();
  });

  await t.test('shows how the server is doing', async (t) => {
    await page.getByRole('listitem').filter({ hasText: 'Recorder' }).getByText('In this process.').waitFor();
    const connections = page.getByRole('listitem').filter({ hasText: 'Connections' });
    await connections.getByText('1', { exact: true }).waitFor();
    await mkdir(join(folder, 'stamp'));
    const check = { name: 'stamp', file: 'missing.ts', beforeWrite: { collections: ['orders'] } };
    await writeFile(join(folder, 'stamp', 'plugin.json'), JSON.stringify({ name: 'stamp', functions: [check] }));
    await until(async () => (await ask(app, 'GET /admin/plugins/stamp', undefined, owner)).statusCode === 200, 'read');
    await page.reload();
    await page.getByRole('row', { name: /todos.updated milk/ }).waitFor();
    await advice
      .getByRole('link', { name: 'Writes to orders are rejected: the write hooks of the plugin stamp' })
      .waitFor();
    t.equal(await page.getByRole('heading', { name: 'Create your first document' }).count(), 0, 'something is there');
    await picture('overview');
    t.strictSame(await violations(), []);
    await page.getByRole('link', { name: 'todos.updated' }).click();
    await page.getByRole('dialog', { name: 'todos.updated' }).waitFor();
    await page.goBack();
    await page.getByRole('heading', { name: 'Overview', level: 1 }).waitFor();
  });
  await t.test('writes requests as commands and in TypeScript, and the commands work', async (t) => {
    await go('/api');
    const code = page.getByLabel('the request', { exact: true });
    await page.getByText('export interface Todos').waitFor();
    t.match(await code.innerText(), /^curl http.*\/api\/todos[\s\S]*limit=10/);
    await page.getByRole('textbox', { name: 'Filter' }).fill('{"title": {"$in": ["Buy milk", "it\'s"]}}');
    const env = { ...process.env, TOKEN: owner.accessToken };
    const { stdout } = await promisify(execFile)('sh', ['-c', await code.innerText()], { env });
    t.match(JSON.parse(stdout), [{ id: 'milk' }], 'also with a quote in it');
    await page.getByRole('button', { name: 'Send' }).click();
    await page.getByRole('status').getByText('200').waitFor();
    t.match(JSON.parse(await page.getByLabel('the response', { exact: true }).innerText()), [{ id: 'milk' }]);
    await page.getByText('TypeScript', { exact: true }).click();
    await page.waitForURL(/language=typescript/);
    t.match(await code.innerText(), /collection\.list\(\{ filter: \{"title":.*limit: 10 \}\)/);
    t.match(await page.getByLabel('the type', { exact: true }).innerText(), /title: string;\n {2}done: boolean;/);
    await picture('api');
    t.strictSame(await violations(), []);
  });

  await t.test('tries the requests that write, and follows a subscription', async (t) => {
    await go('/api?collection=todos&request=create');
    await page.getByRole('textbox', { name: 'Document' }).fill('{"id":"tea","title":"Buy tea"}');
    await page.getByRole('button', { name: 'Send' }).click();
    await page.getByRole('status').getByText('201').waitFor();
    await page.getByRole('button', { name: 'Send' }).click();
    await page.getByRole('status').getByText('409').waitFor();
    await page.getByRole('tab', { name: 'Update' }).click();
    await page.getByRole('textbox', { name: 'Id' }).fill('tea');
    await page.getByRole('textbox', { name: 'Changes' }).fill('{"done":true}');
    await page.getByRole('button', { name: 'Send' }).click();
    await page.getByRole('status').getByText('200').waitFor();
    t.match((await ask(app, 'GET /api/todos/tea', undefined, owner)).json(), { title: 'Buy tea', done: true });
    await page.getByRole('tab', { name: 'Subscribe' }).click();
    await page.getByRole('button', { name: 'Subscribe' }).click();
    await page.getByText('2 documents').waitFor();
    await page.getByRole('tab', { name: 'Delete' }).click();
    t.strictSame(await violations(), []);
    await page.getByRole('button', { name: 'Send' }).click();
    await page.getByRole('status').getByText('204').waitFor();
    t.equal((await ask(app, 'GET /api/todos/tea', undefined, owner)).statusCode, 404);
  });
  t.strictSame(complaints, []);

  await t.test('a viewer on a phone sees it without what administrators are advised', async (t) => {
    const phone = await dashboardPage(t, browser, origin, {
      viewport: { width: 390, height: 800 },
      colorScheme: 'dark',
    });
    await phone.enter('/', 'viewer@example.org');
    await phone.page.getByRole('link', { name: '1 endpoint failing.' }).waitFor();
    await phone.page.getByRole('row', { name: /todos.updated milk/ }).waitFor();
    t.equal(await phone.page.getByText('MILLRACE_PUBLIC_URL').count(), 0);
    t.equal(await phone.page.evaluate('document.documentElement.scrollWidth'), 390, 'nothing is wider than a phone');
    t.strictSame(await phone.violations(), []);
    await phone.picture('overview-phone');
    await phone.go('/api?request=create');
    await phone.page.getByRole('heading', { name: 'Create todos' }).waitFor();
    t.ok(await phone.page.getByRole('button', { name: 'Send' }).isDisabled());
    t.equal((await ask(app, 'POST /api/todos', {}, viewer)).statusCode, 403);
    t.equal(await phone.page.evaluate('document.documentElement.scrollWidth'), 390, 'nothing is wider than a phone');
    t.strictSame(await phone.violations(), []);
    t.strictSame(phone.complaints, []);
  });
});
