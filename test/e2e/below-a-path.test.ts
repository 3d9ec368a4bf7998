/** The dashboard, its realtime socket and the hosted pages behind a real nginx below a path, in Chromium. */
import t from 'tap';
import { createClient } from '../../client/client.ts';
import { buildTestApp } from '../helpers/app.ts';
import { onlyLong } from '../helpers/long-profile.ts';
import { startNginx, whyNoNginx } from '../helpers/network/nginx.ts';
import { testBrowser, whyNoBrowser } from '../helpers/programs/browser.ts';
import { PASSWORD, signInAdmin } from '../helpers/users.ts';

const skip = whyNoNginx() ?? whyNoBrowser() ?? false;
const BASE = '/backend';

for (const strips of [true, false]) {
  t.test(
    `nginx that ${strips ? 'removes' : 'passes on'} the path works for client and dashboard`,
    { skip, timeout: 120_000 },
    async (t) => {
      const settings = { MILLRACE_MODE: 'production', MILLRACE_BASE_PATH: BASE, MILLRACE_TRUST_PROXY: '127.0.0.1' };
      const { app, services } = await buildTestApp(t, settings);
      const direct = await app.listen({ host: '127.0.0.1', port: 0 });
      const origin = await startNginx(t, new URL(direct).host, BASE, strips);
      const url = `${origin}${BASE}`;
      await signInAdmin(app, services);

      await t.test('the client behind nginx writes, follows and uploads', async (t) => {
        const client = createClient(url);
        t.teardown(() => client.close());
        await client.signIn('owner@example.org', PASSWORD);
        const todos = client.collection<{ title: string }>('todos');
        const shown = new Promise<readonly string[]>((resolve) => {
          const stop = todos.live({}, ({ status, documents }) => {
            if (status !== 'live' || documents.length === 0) return;
            stop();
            resolve(documents.map(({ title }) => title));
          });
        });
        await todos.create({ title: 'Milk' });
        t.strictSame(await shown, ['Milk']);
        const file = await client.upload(new Blob(['hello']), 'a.txt');
        t.equal(file.url, `${url}/files/${file.id}/a.txt`);
      });

      // A server behind the other kind of nginx gets the same requests but for their path.
      const options = strips ? {} : onlyLong;
      await t.test('the dashboard behind nginx signs in, follows and reloads', options, async (t) => {
        const context = await (await testBrowser(t)).newContext();
        const page = await context.newPage();
        const complaints: string[] = [];
        page.on('pageerror', (error) => complaints.push(error.message));
        page.on('console', (message) => message.type() === 'error' && complaints.push(message.text()));
        const elsewhere: string[] = [];
        page.on('request', (request) => {
          const requested = request.url();
          if (/^(?:blob|data):/.test(requested) || requested.replace(/^ws/, 'http').startsWith(`${url}/`)) return;
          elsewhere.push(requested);
        });
        await page.goto(`${url}/dashboard/data/todos`);
        await page.getByLabel('User name or e-mail address').fill('owner@example.org');
        await page.getByRole('textbox', { name: 'Password' }).fill(PASSWORD);
        await page.keyboard.press('Enter');
        await page.getByRole('gridcell', { name: 'Milk' }).waitFor();
        const [cookie] = await context.cookies(url);
        t.match(cookie, { name: 'millrace', path: BASE, httpOnly: true });
        await services.mongo.data.collection('todos').insertOne({ title: 'Bread' });
        await page.getByRole('gridcell', { name: 'Bread' }).waitFor();
        await page.reload();
        await page.getByRole('gridcell', { name: 'Bread' }).waitFor();
        await page.getByRole('link', { name: 'Files' }).click();
        await page.waitForURL(`${url}/dashboard/files`);
        await page.getByText('a.txt').waitFor();
        t.strictSame(complaints, []);
        t.strictSame(elsewhere, [], 'no request leaves the path');

        await page.goto(`${url}/signin`);
        await page.getByRole('button', { name: 'Sign in', exact: true }).waitFor();
        await page.getByLabel('User name or e-mail address').fill('owner@example.org');
        await page.getByLabel('Password').fill(PASSWORD);
        await page.keyboard.press('Enter');
        await page.getByText('You are signed in as owner@example.org.').waitFor();
        await page.goto(`${url}/docs`);
        await page.getByRole('heading', { name: 'Sign in to read the API reference' }).waitFor();
        t.strictSame(elsewhere, [], 'and none of the small pages');
        await page.goto(`${direct}/dashboard/files`);
        await page.waitForURL(`${direct}${BASE}/dashboard/files`);
      });
    },
  );
}
