/** A real Chromium for tests if one is installed; otherwise the reason for skipping the test. */
import { existsSync } from 'node:fs';
import { createServer } from 'node:http';
import { type Browser, chromium, type Page } from 'playwright-core';
import type { Test } from 'tap';
import { endWithProcess } from './end-with-process.ts';

/** Chromium without windows needs up to a third less CPU. It has no viewer for PDF. */
const WITHOUT_WINDOWS = '/usr/bin/chromium-headless-shell';
const WITH_WINDOWS = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'];
/**
 * V8 without its optimizing compilers. A page of a test lives for seconds, too short to recover their cost; and with
 * young objects collected as seldom as in the processes of tests (scripts/run-tests.ts).
 */
const V8 = '--no-maglev --no-turbofan --min-semi-space-size=16';
const ARGUMENTS = [
  `--js-flags=${V8}`,
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  '--autoplay-policy=no-user-gesture-required',
];

/** Why no browser can run here, or undefined when one can. */
export function whyNoBrowser(): string | undefined {
  return executable() === undefined ? 'no Chromium is installed (Debian: apt-get install chromium)' : undefined;
}

/** The browser of this process: starting one takes a second of CPU. */
let shared: Browser | undefined;

/**
 * A browser, shared by all tests of the process. Contexts and pages that the test opens in it are closed at the test's
 * end; cookies and storage belong to a context.
 * @param hasViewers a complete browser, with its viewer for PDF, where one is installed; only for the first browser of
 * a process
 */
export async function testBrowser(t: Pick<Test, 'teardown'>, hasViewers = false): Promise<Browser> {
  const browser = shared?.isConnected() ? shared : await startBrowser(t, executable(hasViewers));
  const others = new Set(browser.contexts());
  t.teardown(async () => {
    await Promise.all(browser.contexts().map((context) => (others.has(context) ? undefined : context.close())));
  });
  return browser;
}

/** It ends with the process, as scripts/test-process.ts decides, or with the test where a file runs without that. */
async function startBrowser(t: Pick<Test, 'teardown'>, executablePath = ''): Promise<Browser> {
  const browser = await chromium.launch({ executablePath, headless: true, args: ARGUMENTS });
  if (endWithProcess(() => browser.close())) shared = browser;
  else t.teardown(() => browser.close());
  return browser;
}

function executable(hasViewers = false): string | undefined {
  const spots = hasViewers ? [...WITH_WINDOWS, WITHOUT_WINDOWS] : [WITHOUT_WINDOWS, ...WITH_WINDOWS];
  return process.env['CHROMIUM_BINARY'] ?? spots.find((path) => existsSync(path));
}

/** Calls a function in a page. It is passed as text, because tests are not compiled with the browser's types. */
export function inPage<T>(page: Page, code: string, ...values: readonly unknown[]): Promise<T> {
  return page.evaluate(`(${code})(...${JSON.stringify(values)})`);
}

/** The URL of a page with another origin than the program's. */
export async function otherOrigin(t: Pick<Test, 'teardown'>): Promise<string> {
  const server = createServer((_request, response) => {
    response.setHeader('content-type', 'text/html').end('<!doctype html><title>Elsewhere</title><body></body>');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('There is no port');
  return `http://localhost:${address.port}/`;
}
