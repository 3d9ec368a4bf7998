/**
 * What all pages of the dashboard promise, in Chromium: texts of others stay text, no token is where a script or a log could
 * find it, nobody frames the pages, what they hide is refused too, and each page fits a phone and everybody (axe-core).
 */
import { gzipSync } from 'node:zlib';
import pino from 'pino';
import t from 'tap';
import { buildApp } from '../../src/app.ts';
import { buildTestApp } from '../helpers/app.ts';
import { dashboardPage } from '../helpers/dashboard/dashboard-page.ts';
import { plantPayloads } from '../helpers/dashboard/plant-payloads.ts';
import { SCRIPT_PAYLOADS } from '../helpers/dashboard/script-payloads.ts';
import { testBrowser, whyNoBrowser } from '../helpers/programs/browser.ts';
import { PASSWORD, signInAdmin } from '../helpers/users.ts';

const options = { skip: whyNoBrowser() ?? false, timeout: 300_000 };

/** What a browser may load as scripts before the first page can be used, compressed, in bytes. */
const MAX_SCRIPT_BYTES = 250_000;

/** Elements that only markup of a payload makes. */
const CREATED_BY_PAYLOADS = [
  'script:not([src])',
  '[src="x"]',
  '[src^="javascript:" i]',
  '[href^="javascript:" i]',
  '[href^="data:"]',
  '[src*="attacker"]',
  '[href*="attacker"]',
  'iframe',
  'object',
  'embed',
  'base',
  'marquee',
  '[onload],[onerror],[onfocus],[ontoggle],[onbegin],[onstart],[onmouseover]',
].join(',');

t.test('the dashboard', options, async (t) => {
  const { services } = await buildTestApp(t, { MILLRACE_MODE: 'production' });
  const lines: string[] = [];
  const app = await buildApp(services, pino({ level: 'trace' }, { write: (line: string) => lines.push(line) }));
  t.teardown(() => app.close());
  const origin = await app.listen({ host: '127.0.0.1', port: 0 });
  const owner = await signInAdmin(app, services);
  await signInAdmin(app, services, ['viewer']);
  const planted = await plantPayloads(app, owner);

  const browser = await testBrowser(t);
  const { page, complaints, open, go, show, violations, sideways } = await dashboardPage(t, browser, origin);
  await page.addInitScript(`globalThis.refused = [];
    addEventListener('securitypolicyviolation', (event) => refused.push(event.violatedDirective + ' ' + event.blockedURI))`);
  page.on('dialog', (dialog) => {
    t.fail(`A script of a payload ran on ${page.url()}`);
    void dialog.dismiss();
  });
  const addresses: string[] = [];
  page.on('request', (request) => addresses.push(request.url()));
  const heading = page.getByRole('heading', { level: 1 });
  const arrive = async (path: string) => {
    await go(path);
    await heading.waitFor();
    await page.locator('[aria-busy=true]').first().waitFor({ state: 'detached' });
  };

  await t.test('is signed in to by the keyboard alone', async (t) => {
    await open('/events');
    await page.getByRole('button', { name: 'Sign in' }).waitFor();
    const tabTo = async (name: string) => {
      for (let step = 0; step < 20; step += 1) {
        if (await page.getByLabel(name, { exact: false }).and(page.locator(':focus')).count()) return;
        await page.keyboard.press('Tab');
      }
      t.fail(`Tab does not reach ${name}`);
    };
    await tabTo('User name or e-mail address');
    await page.keyboard.type('owner@example.org');
    await tabTo('Password');
    await page.keyboard.type(PASSWORD);
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Events', level: 1 }).waitFor();
    await page.reload();
    await page.getByRole('heading', { name: 'Events', level: 1 }).waitFor();
    await page.keyboard.press('Tab');
    t.equal(await page.locator(':focus').textContent(), 'Skip to the content');
  });

  await t.test('shows values of clients as text', async (t) => {
    t.equal(SCRIPT_PAYLOADS.length, 60);
    for (const { path, shows } of planted) {
      await arrive(path);
      await page.getByText(shows, { exact: false }).first().waitFor();
      const created = await page.locator(CREATED_BY_PAYLOADS).evaluateAll((found) => found.map((one) => one.outerHTML));
      t.strictSame(created, [], path);
      t.strictSame(await page.evaluate('refused'), [], `${path}: nothing was tried that the policy refuses`);
    }
  });

  await t.test('each page fits a phone, and has no fault in either scheme', async (t) => {
    await arrive('/events');
    const links = await page
      .getByRole('navigation', { name: 'Pages' })
      .getByRole('link')
      .evaluateAll((found) => found.map((one) => [one.getAttribute('href') ?? '', one.textContent ?? '']));
    t.ok(links.length >= 12);
    for (const [href = '', title = ''] of links) {
      const path = href.replace(/^\/dashboard/, '');
      await page.setViewportSize({ width: 1280, height: 800 });
      await show('light');
      await arrive(path);
      t.equal(await heading.textContent(), title, 'the words of the navigation are the heading');
      t.match(await page.title(), title);
      t.strictSame(await violations('html'), [], `${title}, light`);
      await page.setViewportSize({ width: 390, height: 800 });
      await show('dark');
      await arrive(path);
      t.strictSame(await violations('html', 'colours'), [], `${title}, dark, on a phone`);
      t.equal(await page.evaluate('document.documentElement.scrollWidth'), 390, `${title}: no wider than a phone`);
      t.strictSame(await sideways(), [], `${title}: nothing has to be scrolled sideways`);
      t.strictSame(await page.evaluate('refused'), [], title);
    }
    await page.setViewportSize({ width: 1280, height: 800 });
    await show('light');
  });

  await t.test('keeps no token in storage, URLs or logs', async (t) => {
    const kept = await page.evaluate<string>('JSON.stringify([localStorage, sessionStorage, document.cookie])');
    t.notMatch(kept, /eyJ|mrr_|millrace=/);
    for (const [what, text] of [
      ['addresses', addresses.join('\n')],
      ['log lines', lines.join('\n')],
    ] as const) {
      t.ok(text.length > 0, what);
      t.notMatch(text, /eyJ[\w-]+\.|mrr_[\w-]{20}|millrace=[\w-]{10}/, what);
      t.notMatch(text, PASSWORD, what);
    }
  });

  await t.test('cannot be framed', async (t) => {
    const response = await app.inject('/dashboard/settings');
    t.match(response.headers['content-security-policy'], /frame-ancestors 'none'/);
    t.notMatch(response.headers['content-security-policy'], /unsafe|\*/);
    const other = await (await browser.newContext()).newPage();
    t.teardown(() => other.context().close());
    const [refused] = await Promise.all([
      other.waitForEvent('console', (message) => /frame-ancestors/.test(message.text())),
      other.setContent(`<iframe src="${origin}/dashboard"></iframe>`),
    ]);
    t.ok(refused);
  });

  await t.test('refuses by hand what its pages hide from a viewer', async (t) => {
    const viewer = await dashboardPage(t, browser, origin);
    await viewer.open('/events');
    await viewer.page.getByLabel('User name or e-mail address').fill('viewer@example.org');
    await viewer.page.getByRole('textbox', { name: 'Password' }).fill(PASSWORD);
    await viewer.page.keyboard.press('Enter');
    await viewer.page.getByRole('heading', { name: 'Events', level: 1 }).waitFor();
    for (const [method, path] of BY_HAND) {
      const requested = JSON.stringify([method, path]);
      const status = await viewer.page.evaluate<number>(`(async ([method, path]) => {
        const { accessToken } = await (await fetch('/dashboard/session', { method: 'PUT' })).json();
        const authorization = 'Bearer ' + accessToken;
        if (method === 'GET' || method === 'DELETE') return (await fetch(path, { method, headers: { authorization } })).status;
        const headers = { authorization, 'content-type': 'application/json' };
        return (await fetch(path, { method, headers, body: '{}' })).status;
      })(${requested})`);
      t.equal(status, 403, `${method} ${path}`);
    }
    t.strictSame(viewer.complaints, []);
  });

  await t.test('loads little before the first page can be used', async (t) => {
    const state = await page.context().storageState();
    const fresh = await dashboardPage(t, browser, origin, { storageState: state });
    const scripts: Promise<number>[] = [];
    fresh.page.on('response', (response) => {
      if (/\.js$/.test(new URL(response.url()).pathname)) {
        scripts.push(response.body().then((body) => gzipSync(body, { level: 9 }).length));
      }
    });
    const begun = performance.now();
    await fresh.open('/');
    await fresh.page.getByRole('heading', { level: 1 }).waitFor();
    const took = Math.round(performance.now() - begun);
    const bytes = (await Promise.all(scripts)).reduce((sum, one) => sum + one, 0);
    t.comment(
      `first page: ${Math.round(bytes / 1_000)} kB of script in ${scripts.length} files, usable after ${took} ms`,
    );
    t.ok(bytes > 10_000);
    t.ok(bytes <= MAX_SCRIPT_BYTES, `${bytes} bytes of script, compressed`);
    t.strictSame(fresh.complaints, []);
  });

  t.strictSame(complaints, []);
});

/** What no viewer may do, by a request of a script of the page itself. */
const BY_HAND: readonly (readonly [method: string, path: string])[] = [
  ['POST', '/api/notes'],
  ['DELETE', '/api/notes/none'],
  ['DELETE', '/admin/collections/notes'],
  ['POST', '/admin/policies'],
  ['PUT', '/admin/plugins/made'],
  ['POST', '/webhooks/endpoints'],
  ['POST', '/hooks'],
  ['DELETE', '/hooks/none'],
  ['GET', '/admin/users'],
  ['POST', '/admin/users'],
  ['POST', '/admin/keys'],
  ['GET', '/admin/providers'],
  ['PATCH', '/admin/settings'],
  ['GET', '/admin/settings/effective'],
  ['POST', '/admin/emails/test'],
  ['GET', '/admin/audit'],
];
