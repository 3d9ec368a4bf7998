/** The small pages behind links, in a browser: they work under their own policy, on a phone, and keep nothing of the secret. */
import t from 'tap';
import { ask, PASSWORD, signIn } from '../../helpers/accounts.ts';
import { buildTestApp } from '../../helpers/app.ts';
import { inPage, testBrowser, whyNoBrowser } from '../../helpers/programs/browser.ts';

t.test('the set-up page', { skip: whyNoBrowser() ?? false }, async (t) => {
  const { app, parts } = await buildTestApp(t, { MILLRACE_MODE: 'production' });
  const url = await app.listen({ host: '127.0.0.1', port: 0 });
  const browser = await testBrowser(t);
  const page = await browser.newPage({ viewport: { width: 360, height: 740 } });
  const complaints: string[] = [];
  page.on('console', (message) => complaints.push(message.text()));
  page.on('pageerror', (error) => complaints.push(error.message));
  const asked: string[] = [];
  page.on('request', (request) => asked.push(request.url()));
  const says = () => page.locator('#says').textContent();

  await page.goto(await parts.auth.owners.link(url));
  t.equal(page.url(), `${url}/setup`, 'the secret leaves the address');
  t.equal(await inPage<number>(page, 'function width() { return document.documentElement.scrollWidth }'), 360);
  await page.getByLabel('E-mail address').fill('ada@example.org');
  await page.getByLabel('New password').fill('password1');
  await page.getByRole('button').click();
  await page.getByText('one that attackers try first').waitFor();
  await page.getByLabel('New password').fill(PASSWORD);
  await page.getByRole('button').click();
  await page.getByText('Done.').waitFor();
  t.match(await says(), /Sign in with this address/);
  t.equal(await page.locator('form').isVisible(), false);
  t.ok((await signIn(app, 'ada@example.org')).id);

  await page.goto(`${url}/setup`);
  t.match(await says(), /not complete/);
  t.strictSame(
    complaints.filter((line) => !/status of 400/.test(line)),
    [],
    'nothing is refused by its own policy',
  );
  t.strictSame(
    asked.filter((one) => !one.startsWith(url)),
    [],
    'nothing comes from elsewhere',
  );
  t.equal((await ask(app, 'GET /setup')).statusCode, 200);
});
