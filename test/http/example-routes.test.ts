/** Where a browser is led in development, and that production leads nowhere. */
import t from 'tap';
import { buildTestApp } from '../helpers/app.ts';

t.test('addresses without a page lead to one', async (t) => {
  const { app } = await buildTestApp(t);
  for (const url of ['/', '/examples', '/examples/', '/examples/board', '/examples/board/']) {
    let at = url;
    let answer = await app.inject(at);
    for (let hops = 0; hops < 3 && answer.statusCode >= 300 && answer.statusCode < 400; hops++) {
      at = String(answer.headers['location']);
      answer = await app.inject(at);
    }
    t.equal(answer.statusCode, 200, `${url} leads to ${at}`);
    t.match(answer.headers['content-type'], /^text\/html/, at);
  }
});

t.test('in production there is nothing at them', async (t) => {
  const { app } = await buildTestApp(t, { MILLRACE_MODE: 'production' });
  const refused = (body: string) =>
    JSON.parse(body, (name, value) => (/^(?:request|instance)$/.test(name) ? '' : value));
  const any = refused((await app.inject('/anything')).body);
  for (const url of ['/', '/examples/']) {
    const answer = await app.inject(url);
    t.equal(answer.statusCode, 404);
    t.equal(refused(answer.body).hint, any.hint);
  }
});
