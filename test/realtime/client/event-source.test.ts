/**
 * A browser's EventSource on a page of another origin, whose connection is cut: it follows a list without a new ticket.
 */
import t from 'tap';
import { buildTestApp } from '../../helpers/app.ts';
import { breakable } from '../../helpers/network/breakable.ts';
import { inPage, otherOrigin, testBrowser, whyNoBrowser } from '../../helpers/programs/browser.ts';
import { until } from '../../helpers/until.ts';
import { ask, signUp } from '../../helpers/users.ts';

/** Runs in the page. */
const FOLLOW = `(url) => {
  globalThis.changes = [];
  globalThis.opened = 0;
  globalThis.isLive = false;
  globalThis.stream = new EventSource(url);
  stream.onopen = () => { opened += 1; };
  stream.addEventListener('live', () => { isLive = true; });
  stream.addEventListener('change', ({ data }) => changes.push(JSON.parse(data).documentId));
}`;

t.test(
  'an EventSource of another origin reconnects after each cut and misses nothing',
  { skip: whyNoBrowser() ?? false },
  async (t) => {
    const { app } = await buildTestApp(t);
    await app.listen({ host: '127.0.0.1', port: 0 });
    const address = app.server.address();
    const line = await breakable(t, address === null || typeof address === 'string' ? 0 : address.port);
    const { ticket } = (await ask(app, 'POST /auth/ticket', undefined, await signUp(app, 'ada'))).json();
    const page = await (await testBrowser(t)).newPage();
    await page.goto(await otherOrigin(t));
    await inPage(page, FOLLOW, `http://127.0.0.1:${line.port}/api/notes?ticket=${ticket}`);
    const opened = () => inPage<number>(page, '() => opened');
    await until(async () => (await opened()) === 1, 'the stream opens');
    // Before that the browser has no position to resume from: what is created then is in the next snapshot.
    await until(() => inPage<boolean>(page, '() => isLive'), 'the stream is live');
    const expected: string[] = [];
    for (const round of [1, 2]) {
      line.cut();
      expected.push(`n${round}`);
      await ask(app, 'POST /api/notes', { id: `n${round}` });
      line.fix();
      await until(async () => (await opened()) > round, 'it reconnects');
    }
    const changes = () => inPage<string[]>(page, '() => changes');
    await until(async () => (await changes()).length >= expected.length, 'all changes arrive');
    t.strictSame(await changes(), expected);
  },
);
