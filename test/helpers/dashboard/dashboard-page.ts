/**
 * The dashboard in a real Chromium, on the app inside the test's own process. Everything that a page must never do is
 * recorded while it is used: errors in the console, reports of the content security policy, requests to other hosts.
 */
import { mkdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import type { Test } from 'tap';
import { isLong } from '../long-profile.ts';
import { inPage } from '../programs/browser.ts';
import { PASSWORD } from '../users.ts';

const SCREENSHOTS = fileURLToPath(new URL('../../../dashboard/screenshots/', import.meta.url));
const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
/**
 * Rules of WCAG 2.2 up to AA, and best practices. Without copies of style sheets, which the page's own policy would
 * report.
 */
const AXE_RULES = ['wcag2a', 'wcag2aa', 'wcag21aa', 'wcag22aa', 'best-practice'];
/** Where axe looks when dialogs are open. They cover the page, which tests check while none is open. */
const OPEN_DIALOGS = '[role=dialog][aria-modal=true]';
/** A selector means all elements that match it: a dialog may be open above another. */
const AXE_RUN = `(place, runOnly) => axe.run(document.querySelector(place) === null ? document : place, { runOnly, preload: false, resultTypes: ['violations'] })`;

/** Only the grid of documents may scroll sideways. */
const SIDEWAYS = `[...document.querySelectorAll('body *')]
  .filter((one) => one.role !== 'grid' && /auto|scroll/.test(getComputedStyle(one).overflowX))
  .filter((one) => one.scrollWidth > one.clientWidth + 1)
  .map((one) => one.outerHTML.slice(0, 200))`;

/**
 * Elements beyond the right edge of the window, or beyond an edge that hides them. A text may end in an ellipsis where
 * there is no room, and text only for screen readers, such as the head of a table on a phone, is cut on purpose.
 */
const CUT = `[...document.querySelectorAll('body *:not(svg *)')]
  .filter((one) => one.closest('[role=grid]') === null && one.checkVisibility({ visibilityProperty: true }))
  .filter((one) => {
    const { width, height, right } = one.getBoundingClientRect();
    if (width <= 1 || height <= 1 || one.textContent.trim() === '' || one.closest('thead') !== null) return false;
    const { overflowX, textOverflow, webkitLineClamp } = getComputedStyle(one);
    const hides = /hidden|clip/.test(overflowX) && textOverflow !== 'ellipsis' && webkitLineClamp === 'none';
    return right > innerWidth + 1 || (hides && one.scrollWidth > one.clientWidth + 1);
  })
  .map((one) => one.outerHTML.slice(0, 200))`;

/**
 * Runs in each loaded document, and removes transitions, animations and the blinking caret: an animation is drawn sixty
 * times a second, and axe cannot judge the contrast of a changing color. A constructed style sheet is not subject to
 * the content security policy.
 */
const STILL = `{
  const sheet = new CSSStyleSheet();
  sheet.replaceSync('*, ::before, ::after { transition: none !important; animation: none !important; caret-color: transparent !important }');
  document.adoptedStyleSheets = [sheet];
}`;
/** Goes to another route of the dashboard without a reload. */
const GO = `(path) => {
  history.pushState(null, '', '/dashboard' + path);
  dispatchEvent(new PopStateEvent('popstate'));
}`;
/** Waits until the page is drawn in a color scheme. */
const DRAWN = `async (scheme) => {
  const { dataset } = document.documentElement;
  while (dataset.mantineColorScheme !== scheme) await new Promise(requestAnimationFrame);
  for (let frames = 0; frames < 2; frames += 1) await new Promise(requestAnimationFrame);
}`;

export interface DashboardPage {
  readonly page: Page;
  /** Violations so far: an empty list in a passing test. */
  readonly complaints: readonly string[];
  /** Opens a route of the dashboard: `/data/movies?sort=-year`. */
  open(path: string): Promise<void>;
  /**
   * Opens a route as a user or administrator. Signed in by the session's cookie: `sign-in.ts` fills the form.
   * @param name the user name or e-mail address
   */
  enter(path: string, name: string): Promise<void>;
  /**
   * Goes to another route of the dashboard as its links do, once it is loaded and signed in, without loading and
   * compiling the scripts again. Via an empty route: open views are discarded. Data that was requested in the last ten
   * seconds may come from the cache: after a change by another client, `open` the route.
   */
  go(path: string): Promise<void>;
  /** Changes the color scheme of the system, and waits until the page is drawn in it. */
  show(colorScheme: 'light' | 'dark'): Promise<void>;
  /** Saves a screenshot of the page, `data.png`; only with MILLRACE_LONG=1, because each takes half a second. */
  picture(name: string): Promise<void>;
  /**
   * Violations that axe-core finds, one line each.
   * @param where only within these elements, if there are any; otherwise on the whole page. Without it, the open
   * dialogs, and only with MILLRACE_LONG=1, because it takes half a second: in every run security.test.ts looks at each
   * page, and phone/phone.test.ts at each drawer and dialog
   * @param rules those that only colors can violate, or all
   */
  violations(where?: string, rules?: 'all' | 'colours'): Promise<readonly string[]>;
  /** The elements that need horizontal scrolling, besides the grid of documents. */
  sideways(): Promise<readonly string[]>;
  /** The elements that do not fit: cut at the edge of the window or of their container. */
  cut(): Promise<readonly string[]>;
}

/**
 * A page in a context of its own, with its own cookies.
 * @param origin where the app listens
 */
export async function dashboardPage(
  t: Pick<Test, 'teardown'>,
  browser: Browser,
  origin: string,
  options: BrowserContextOptions = {},
): Promise<DashboardPage> {
  // Without motion: nothing that slides in has to be awaited, and drawn meanwhile.
  const context = await browser.newContext({
    viewport: { width: 1280, height: 800 },
    reducedMotion: 'reduce',
    ...options,
  });
  t.teardown(() => context.close());
  await context.addInitScript(STILL);
  const page = await context.newPage();
  const complaints: string[] = [];
  page.on('pageerror', (error) => complaints.push(`error: ${error.message}`));
  page.on('console', (message) => {
    // Errors of the server appear on the page; the browser logs a line for each as well.
    if (message.type() === 'error' && !/Failed to load resource/.test(message.text())) complaints.push(message.text());
  });
  page.on('request', (request) => {
    const { protocol, host } = new URL(request.url());
    if (/^(?:https?|wss?):$/.test(protocol) && host !== new URL(origin).host) complaints.push(`asked ${request.url()}`);
  });
  return {
    page,
    complaints,
    open: async (path) => {
      await page.goto(`${origin}/dashboard${path}`);
    },
    enter: async (path, name) => {
      const data = { username: name, password: PASSWORD };
      const response = await context.request.post(`${origin}/dashboard/session`, { headers: { origin }, data });
      if (!response.ok()) throw new Error(`The sign-in of ${name} got status ${response.status()}`);
      await page.goto(`${origin}/dashboard${path}`);
      await page.getByRole('button', { name: `Account of ${name}` }).waitFor();
    },
    go: async (path) => {
      const nowhere = page.getByRole('heading', { name: 'Page not found' });
      await inPage(page, GO, '/nowhere');
      await nowhere.waitFor();
      await inPage(page, GO, path);
      await nowhere.waitFor({ state: 'detached' });
    },
    show: async (colorScheme) => {
      await page.emulateMedia({ colorScheme });
      await inPage(page, DRAWN, colorScheme);
    },
    picture: async (name) => {
      if (!isLong) return;
      mkdirSync(SCREENSHOTS, { recursive: true });
      await page.screenshot({ path: join(SCREENSHOTS, `${name}.png`), fullPage: true, animations: 'disabled' });
    },
    sideways: () => page.evaluate<readonly string[]>(SIDEWAYS),
    cut: () => page.evaluate<readonly string[]>(CUT),
    violations: async (where, rules = 'all') => {
      if (where === undefined && !isLong) return [];
      if (!(await page.evaluate('"axe" in globalThis'))) await page.evaluate(AXE);
      const runOnly = rules === 'all' ? AXE_RULES : { type: 'rule', values: ['color-contrast'] };
      const { violations } = await inPage<AxeResult>(page, AXE_RUN, where ?? OPEN_DIALOGS, runOnly);
      return violations.map(
        ({ id, help, nodes }) =>
          `${id}: ${help}\n${nodes.map((node) => `${node.html} ${node.failureSummary}`).join('\n')}`,
      );
    },
  };
}

interface AxeResult {
  readonly violations: readonly {
    readonly id: string;
    readonly help: string;
    readonly nodes: readonly { readonly html: string; readonly failureSummary: string }[];
  }[];
}
