/** The types for authors over HTTP: with the collections that the asker may read, and for owners alone in production. */
import t from 'tap';
import { ask, signInOwner } from '../../helpers/accounts.ts';
import { buildTestApp } from '../../helpers/app.ts';

t.test('the types show what the newest documents have', async (t) => {
  const { app } = await buildTestApp(t);
  await ask(app, 'POST /api/movies', { title: 'Metropolis', year: 1927, cast: [{ name: 'Brigitte Helm' }] });
  const answer = await ask(app, 'GET /admin/plugin-types');
  t.equal(answer.statusCode, 200);
  t.equal(answer.headers['content-type'], 'text/plain; charset=utf-8');
  t.match(
    answer.body,
    /movies: \{\s+title\?: string;\s+year\?: number;\s+cast\?: \{\s+name\?: string;\s+\}\[\];\s+\};/,
  );
  t.equal((await ask(app, 'GET /admin/plugin-types?x=1')).json().code, 'unknown-parameter');
});

t.test('in production they are for owners', async (t) => {
  const { app, parts } = await buildTestApp(t, { MILLRACE_MODE: 'production' });
  t.equal((await ask(app, 'GET /admin/plugin-types')).statusCode, 401);
  const viewer = await signInOwner(app, parts, ['viewer']);
  t.equal((await ask(app, 'GET /admin/plugin-types', undefined, viewer)).statusCode, 200);
});
