/** Pages that stay open while the server ends and another one begins at its address: they go on by themselves. */
import type { BrowserContext } from 'playwright-core';
import t from 'tap';
import { dashboardPage } from '../helpers/dashboard/dashboard-page.ts';
import { testMongo } from '../helpers/mongo.ts';
import { testBrowser, whyNoBrowser } from '../helpers/programs/browser.ts';
import { startProgram } from '../helpers/programs/program.ts';

const LOADED = 'window.loadedOnce = true';

t.test('a restart under open pages', { skip: whyNoBrowser() ?? false, timeout: 180_000 }, async (t) => {
  const mongo = await testMongo(t);
  const settings = {
    MONGODB_URL: mongo.url,
    MILLRACE_DB: mongo.database,
    MILLRACE_EGRESS_ALLOW: '127.0.0.0/8',
  };
  const first = await startProgram(t, settings);
  const { url } = first;
  const send = async (path: string, body: object) => {
    const headers = { 'content-type': 'application/json' };
    const response = await fetch(`${url}${path}`, { method: 'POST', headers, body: JSON.stringify(body) });
    t.equal(response.status, 201, `${path} ${await response.text()}`);
  };
  await send('/api/notes', { id: 'n1', text: 'before' });
  await send('/webhooks/endpoints', { name: 'Before', url: 'http://127.0.0.1:8999/', types: ['orders.created'] });

  const { page: data, open } = await dashboardPage(t, await testBrowser(t), url);
  await open('/data/notes?sort=id');
  const context: BrowserContext = data.context();
  const other = async (path: string) => {
    const page = await context.newPage();
    await page.goto(`${url}/dashboard${path}`);
    return page;
  };
  const [events, webhooks] = [await other('/events?types=notes.*'), await other('/webhooks')];
  const grid = data.getByRole('grid', { name: 'Documents of notes' });
  await grid.getByText('before').waitFor();
  await events.getByRole('status').filter({ hasText: 'Live' }).waitFor();
  await events.getByRole('row').filter({ hasText: 'n1' }).waitFor();
  await webhooks.getByText('Before', { exact: true }).first().waitFor();
  for (const page of [data, events, webhooks]) await page.evaluate(LOADED);

  await first.kill();
  await data.getByText('disconnected, reconnecting automatically').waitFor();
  await events.getByRole('status').filter({ hasText: 'Connecting' }).waitFor();
  await startProgram(t, { ...settings, PORT: new URL(url).port });
  await send('/api/notes', { id: 'n2', text: 'after' });
  await send('/webhooks/endpoints', { name: 'After', url: 'http://127.0.0.1:8999/', types: ['orders.created'] });

  await grid.getByText('after').waitFor();
  await data.getByText('2 documents', { exact: true }).waitFor();
  await events.getByRole('row').filter({ hasText: 'n2' }).waitFor();
  await events.getByRole('status').filter({ hasText: 'Live' }).waitFor();
  await webhooks.getByText('After', { exact: true }).first().waitFor();
  await send('/api/notes', { id: 'n3', text: 'and then' });
  await grid.getByText('and then').waitFor();
  await events.getByRole('row').filter({ hasText: 'n3' }).waitFor();
  for (const page of [data, events, webhooks]) {
    t.equal(await page.evaluate('window.loadedOnce'), true, 'none was loaded again');
  }
});
