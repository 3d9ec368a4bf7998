/**
 * The API reference: a page that shows the operations of this server, tries them, and has code samples; it sends no
 * request to another host and complies with its own Content-Security-Policy. In production it requires a sign-in.
 */
import type { Page } from 'playwright-core';
import t, { type Test } from 'tap';
import { apiReferenceVersion } from '../../../src/http/docs/api-reference-script.ts';
import { buildTestApp } from '../../helpers/app.ts';
import { testBrowser, whyNoBrowser } from '../../helpers/programs/browser.ts';
import { PASSWORD, signInAdmin } from '../../helpers/users.ts';

const HOSTILE = '<img src=x onerror=alert(1)>&"\'';
// A browser on a busy machine.
t.setTimeout(180_000);

const skip = whyNoBrowser() ?? false;

interface Watched {
  readonly page: Page;
  /** Errors in the console, violations of the policy, requests to other hosts, and alerts. */
  readonly complaints: string[];
}

/** Opens `/docs` in a browser that records everything it should not do. */
async function open(t: Test, url: string): Promise<Watched> {
  const page = await (await testBrowser(t)).newPage({ viewport: { width: 1_400, height: 900 } });
  page.setDefaultTimeout(60_000);
  const complaints: string[] = [];
  page.on('console', (message) => {
    if (message.type() !== 'info') complaints.push(`${message.type()}: ${message.text()}`);
  });
  page.on('pageerror', (error) => complaints.push(`error: ${error.message}`));
  page.on('dialog', (dialog) => complaints.push(`dialog: ${dialog.message()}`));
  page.on('request', (request) => {
    const requested = request.url();
    if (!requested.startsWith(`${url}/`) && !requested.startsWith('data:')) complaints.push(`request: ${requested}`);
  });
  await page.addInitScript(
    "addEventListener('securitypolicyviolation', (e) => console.error('policy', e.violatedDirective, e.blockedURI))",
  );
  await page.goto(`${url}/docs`);
  return { page, complaints };
}

t.test('the API reference in development mode', { skip }, async (t) => {
  const { app } = await buildTestApp(t);
  await app.inject({ method: 'POST', url: '/api/books', payload: [{ id: 'one', title: 'A book', [HOSTILE]: 1 }] });
  const url = await app.listen({ host: '127.0.0.1', port: 0 });
  const { page, complaints } = await open(t, url);

  await t.test('the API reference shows an operation of a collection, with its fields and samples', async (t) => {
    await page.getByRole('button', { name: 'Open Group - documents/books' }).click();
    await page.getByRole('link', { name: /^List books HTTP/ }).click();
    const section = page.locator('section', { has: page.getByRole('heading', { name: 'List books' }) }).last();
    await section.getByText('curl', { exact: true }).waitFor();
    await section.getByText('"title"').first().waitFor();
    await page.getByRole('tab', { name: 'JavaScript' }).click();
    await section.getByText('fetch', { exact: true }).waitFor();
    t.pass();
  });

  await t.test('the API reference tries an operation', async (t) => {
    const response = page.waitForResponse(`${url}/api/books`);
    await page.getByRole('button', { name: /^Test Request \(get \/api\/books\)/i }).click();
    await page.getByRole('button', { name: 'Send', exact: false }).first().click();
    t.equal((await response).status(), 200);
    await page.getByText('"A book"').first().waitFor();
  });

  t.strictSame(complaints, [], 'no error, no violation of the policy, no other host');
});

t.test('in production the reader of the API reference signs in', { skip }, async (t) => {
  const { app, services } = await buildTestApp(t, { MILLRACE_MODE: 'production' });
  const url = await app.listen({ host: '127.0.0.1', port: 0 });
  await signInAdmin(app, services);
  const { page, complaints } = await open(t, url);
  const signIn = async (password: string) => {
    await page.getByLabel('Password').fill(password);
    await page.getByRole('button', { name: 'Sign in' }).click();
  };

  await page.getByLabel('E-mail address or user name').fill('owner@example.org');
  await signIn('a wrong one');
  await page
    .getByRole('status')
    .getByText(/is wrong/)
    .waitFor();
  t.equal(await page.getByRole('link', { name: /^List documents HTTP/ }).count(), 0, 'nothing is shown before');

  await signIn(PASSWORD);
  await page.getByRole('link', { name: /^List documents HTTP/ }).waitFor();
  t.equal(await page.getByLabel('Password').isVisible(), false);
  const [openApi, attempt, ...others] = complaints;
  t.match([openApi, attempt], [/status of 401/, /status of 401/], 'the browser itself reports the two errors');
  t.strictSame(others, []);
});

t.test('the files of the API reference', async (t) => {
  const { app } = await buildTestApp(t);
  const reference = `/docs/reference-${await apiReferenceVersion()}.js`;

  await t.test('the page loads scripts only from its own server', async (t) => {
    const { body, headers } = await app.inject('/docs');
    t.match(headers['content-security-policy'], /^default-src 'none'; script-src 'self'; .*connect-src 'self';/);
    t.strictSame([...body.matchAll(/(?:src|href)="([^"]*)"/g)].map(([, at]) => at).sort(), [
      'data:,',
      'docs/page.css',
      'docs/page.js',
      reference.slice(1),
    ]);
  });

  await t.test(
    'the reference script is sent compressed to clients that accept gzip, and cached permanently',
    async (t) => {
      const plain = await app.inject(reference);
      const packed = await app.inject({ url: reference, headers: { 'accept-encoding': 'br, gzip' } });
      t.match(plain.headers, { 'cache-control': /immutable/, vary: /Accept-Encoding/, 'content-encoding': undefined });
      t.equal(packed.headers['content-encoding'], 'gzip');
      t.ok(packed.rawPayload.length < plain.rawPayload.length / 3, `${packed.rawPayload.length} bytes`);
    },
  );
});
