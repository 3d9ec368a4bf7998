/** Redirects for browsers in development mode, which do not exist in production. */
import t from 'tap';
import { buildTestApp } from '../helpers/app.ts';

t.test('URLs without a page redirect to one', async (t) => {
  const { app } = await buildTestApp(t);
  for (const url of ['/', '/examples', '/examples/', '/examples/board', '/examples/board/']) {
    let at = url;
    let response = await app.inject(at);
    for (let hops = 0; hops < 3 && response.statusCode >= 300 && response.statusCode < 400; hops++) {
      at = String(response.headers['location']);
      response = await app.inject(at);
    }
    t.equal(response.statusCode, 200, `${url} leads to ${at}`);
    t.match(response.headers['content-type'], /^text\/html/, at);
  }
});

t.test('in production the redirects do not exist', async (t) => {
  const { app } = await buildTestApp(t, { MILLRACE_MODE: 'production' });
  const refused = (body: string) =>
    JSON.parse(body, (name, value) => (/^(?:request|instance)$/.test(name) ? '' : value));
  const any = refused((await app.inject('/anything')).body);
  for (const url of ['/', '/examples/']) {
    const response = await app.inject(url);
    t.equal(response.statusCode, 404);
    t.equal(refused(response.body).hint, any.hint);
  }
});
