/** Which calls of a stored plugin share a context: never before and after a change of its version, secrets or grants. */
import t from 'tap';
import { buildTestApp } from '../../helpers/app.ts';
import { ask, signInAdmin } from '../../helpers/users.ts';

const CODE = `let calls = 0;
export default (input, ctx) => { calls += 1; return [calls, ctx.secrets.KEY ?? null]; };`;

t.test('A context ends when the plugin, its secrets or its grants change.', async (t) => {
  const { app, services } = await buildTestApp(t, { MILLRACE_PLUGINS_DIR: '' });
  const boss = await signInAdmin(app, services);
  const manifest = (more: object = {}) => ({
    name: 'counts',
    secrets: ['KEY'],
    functions: [{ name: 'count', file: 'count.js', http: { method: 'GET', path: '/count' } }],
    ...more,
  });
  const body = (more?: object, code = CODE) => ({ manifest: manifest(more), files: { 'count.js': code } });
  const put = async (payload: object, url: `/${string}` = '/admin/plugins/counts') => {
    const { statusCode, body: text } = await ask(app, `PUT ${url}`, payload, boss);
    t.ok(statusCode < 300, text);
  };
  const call = async () => (await app.inject('/fn/count')).json();
  const twice = async () => [await call(), await call()];
  await put(body());
  t.strictSame(await twice(), [
    [1, null],
    [2, null],
  ]);
  await put({ value: 'old' }, '/admin/plugins/counts/secrets/KEY');
  t.strictSame(await twice(), [
    [1, 'old'],
    [2, 'old'],
  ]);
  await put({ value: 'new' }, '/admin/plugins/counts/secrets/KEY');
  t.strictSame(await call(), [1, 'new']);
  await put({ value: 'old' }, '/admin/plugins/counts/secrets/KEY');
  t.strictSame(await call(), [1, 'old'], 'the context of the same value before has ended, too');
  await put(body({ fetch: ['api.example.com'] }));
  t.strictSame(await call(), [1, 'old'], 'another host that it may fetch from');
  await put(body({ fetch: ['api.example.com'] }, `${CODE}\n`));
  t.strictSame(await twice(), [
    [1, 'old'],
    [2, 'old'],
  ]);
  const first = body().manifest.functions.map((fn) => ({ ...fn, as: 'function', roles: ['clerk'] }));
  await put(body({ functions: first }));
  t.strictSame(await call(), [1, 'old'], 'other roles');
  const draft = { function: 'count', input: null, ...body({ functions: first }) };
  const tried = await ask(app, 'POST /admin/plugins/counts/dry-run', draft, boss);
  t.match([tried.statusCode, await call()], [200, [2, 'old']], 'a dry run has a context of its own');

  await put(body({ isolation: 'call' }));
  t.strictSame(await twice(), [
    [1, 'old'],
    [1, 'old'],
  ]);
  const shown = await ask(app, 'GET /admin/plugins/counts', undefined, boss);
  t.match(shown.json(), { isolation: 'call' });
  const refused = await ask(app, 'PUT /admin/plugins/counts', body({ isolation: 'none' }), boss);
  t.match(refused.json(), { code: 'invalid-plugin', status: 400 });
});
