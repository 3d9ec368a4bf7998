/** Typings over HTTP: with the collections that the caller may read, and in production for administrators only. */
import t from 'tap';
import { buildTestApp } from '../../helpers/app.ts';
import { ask, signInAdmin } from '../../helpers/users.ts';

t.test('The typings have the fields of the newest documents.', async (t) => {
  const { app } = await buildTestApp(t);
  await ask(app, 'POST /api/movies', { title: 'Metropolis', year: 1927, cast: [{ name: 'Brigitte Helm' }] });
  const response = await ask(app, 'GET /admin/plugin-types');
  t.equal(response.statusCode, 200);
  t.equal(response.headers['content-type'], 'text/plain; charset=utf-8');
  t.match(
    response.body,
    /movies: \{\s+title\?: string;\s+year\?: number;\s+cast\?: \{\s+name\?: string;\s+\}\[\];\s+\};/,
  );
  t.equal((await ask(app, 'GET /admin/plugin-types?x=1')).json().code, 'unknown-parameter');
});

t.test('In production the typings are for administrators only.', async (t) => {
  const { app, services } = await buildTestApp(t, { MILLRACE_MODE: 'production' });
  t.equal((await ask(app, 'GET /admin/plugin-types')).statusCode, 401);
  const viewer = await signInAdmin(app, services, ['viewer']);
  t.equal((await ask(app, 'GET /admin/plugin-types', undefined, viewer)).statusCode, 200);
});
