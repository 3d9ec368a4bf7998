/** The example page in a real Chromium: it shows changes by others at once, and survives a restart of the server. */
import t from 'tap';
import { createClient } from '../../client/client.ts';
import { buildTestApp } from '../helpers/app.ts';
import { testMongo } from '../helpers/mongo.ts';
import { inPage, testBrowser, whyNoBrowser } from '../helpers/programs/browser.ts';

interface Flight {
  readonly airport: string;
  readonly time: number;
  readonly delay: number;
  readonly distance: number;
  readonly status: string;
}

/** Resolves with the time, in milliseconds since 1970, at which the page says so. */
const SHOWS = `(selector, text) => new Promise((resolve) => {
  const look = () => {
    const place = document.querySelector(selector);
    if (place === null || !place.textContent.includes(text)) return false;
    resolve(Date.now());
    return true;
  };
  if (look()) return;
  const observer = new MutationObserver(() => look() && observer.disconnect());
  observer.observe(document.body, { subtree: true, childList: true, characterData: true });
})`;

t.test(
  'the board in a browser follows changes and survives a restart',
  { skip: whyNoBrowser() ?? false, timeout: 180_000 },
  async (t) => {
    const testDatabase = await testMongo(t);
    const { app } = await buildTestApp(t, {}, testDatabase);
    const url = await app.listen({ host: '127.0.0.1', port: 0 });
    const flights = createClient(url).collection<Flight>('departures');
    const flight = { airport: 'ATL', delay: 0, distance: 100, status: 'scheduled' };
    await flights.create({ ...flight, id: 'ATL-1', time: 10 });

    const browser = await testBrowser(t);
    const page = await browser.newPage();
    const issues: string[] = [];
    page.on('pageerror', (error) => issues.push(String(error)));
    await page.goto(`${url}/examples/board/`);
    await inPage(page, SHOWS, '#flights', 'ATL-1');
    await inPage(page, SHOWS, '#status', 'live');

    const delays: number[] = [];
    for (let n = 2; n <= 8; n++) {
      const shown = inPage<number>(page, SHOWS, '#flights', `ATL-${n}`);
      const body = JSON.stringify({ ...flight, id: `ATL-${n}`, time: 10 + n });
      await fetch(`${url}/api/departures`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body,
      });
      const response = Date.now();
      delays.push((await shown) - response);
    }
    const median = delays.toSorted((a, b) => a - b)[Math.floor(delays.length / 2)] ?? Number.NaN;
    t.comment(`from the answer to the page: ${delays.join(', ')} ms`);
    t.ok(median < 1_000, 'the page follows at once');

    const offline = inPage(page, SHOWS, '#status', 'offline');
    await app.close();
    await offline;
    const second = await buildTestApp(t, {}, testDatabase);
    await second.app.listen({ host: '127.0.0.1', port: Number(new URL(url).port) });
    await createClient(url)
      .collection<Flight>('departures')
      .create({ ...flight, id: 'ATL-99', time: 1 });
    await inPage(page, SHOWS, '#flights', 'ATL-99');
    await inPage(page, SHOWS, '#status', 'live');
    t.equal(await inPage(page, `() => performance.getEntriesByType('navigation').length`), 1, 'without a reload');
    t.strictSame(issues, []);
  },
);
