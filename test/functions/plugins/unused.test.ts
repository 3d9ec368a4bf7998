/**
 * An instance without plugins loads and starts nothing for them; the first plugin changes that. A hook of Node, set before any
 * other import, records loaded modules.
 */
import { registerHooks } from 'node:module';
import t from 'tap';

const loaded = new Set<string>();
registerHooks({
  load: (url, context, next) => {
    loaded.add(url);
    return next(url, context);
  },
});
const { onePlugin, createPluginFixture: pluginFixture } = await import('../../helpers/functions/plugin-fixture.ts');
const { testMongo } = await import('../../helpers/mongo.ts');

const FOR_FUNCTIONS = /node_modules\/(?:isolated-vm|amaro|croner)\/|isolate-sandbox|strip-thread/;
const forFunctions = () => [...loaded].filter((url) => FOR_FUNCTIONS.test(url));
const programs = () => process.getActiveResourcesInfo().filter((one) => one === 'ProcessWrap').length;

t.test('Without plugins nothing is loaded and no process is started.', async (t) => {
  const testDatabase = await testMongo(t, { isNew: true });
  const { boss, services } = await pluginFixture(t, { settings: { MILLRACE_FUNCTIONS: 'on' }, testDatabase });
  await boss('POST /api/todos', { title: 'tea' });
  t.strictSame((await boss('GET /admin/plugins')).json(), []);
  t.ok(loaded.size > 200, `${loaded.size} modules`);
  t.strictSame(forFunctions(), []);
  t.equal(programs(), 0);
  const names = (await services.mongo.log.listCollections({}, { nameOnly: true }).toArray()).map(({ name }) => name);
  t.strictSame(
    names.filter((name) => /plugin|^runs/.test(name)),
    [],
    'nothing is created for them in the database',
  );
});

t.test('The first plugin starts the sandbox, which reports V8 errors.', async (t) => {
  const { boss, services } = await pluginFixture(t, { settings: { MILLRACE_FUNCTIONS: 'on' } });
  const cron = { name: 'nightly', file: 'total.ts', cron: '0 3 * * *' };
  const { manifest, files } = onePlugin('a');
  const body = { manifest: { ...manifest, functions: [...manifest.functions, cron] }, files };
  const created = await boss('PUT /admin/plugins/a', body);
  t.equal(created.statusCode, 201, created.body);
  t.ok(forFunctions().some((url) => url.includes('isolate-sandbox')));
  t.ok(forFunctions().some((url) => url.includes('croner')));
  t.equal(programs(), 1);
  t.notOk(
    forFunctions().some((url) => /isolated-vm|amaro/.test(url)),
    'they are loaded elsewhere: in the runner and in a thread',
  );

  const js = (more: Record<string, string>) => boss('PUT /admin/plugins/a', { ...body, files: { ...files, ...more } });
  const rows: readonly (readonly [more: Record<string, string>, error: object])[] = [
    [{ 'lib/a.js': 'export const a = 1;\nconst b = ;' }, { file: 'lib/a.js', line: 2, column: 11 }],
    [{ 'total.ts': 'export const total = 1;' }, { file: 'total.ts', detail: /default export/ }],
    [{ 'total.ts': '\nimport "./none.ts"; export default 1;' }, { file: 'total.ts', line: 2, detail: /none\.ts/ }],
    [{ 'total.ts': 'import fs from "node:fs"; export default fs;' }, { file: 'total.ts', line: 1, detail: /node:fs/ }],
    [{ 'total.ts': 'import x from "../../x.ts"; export default x;' }, { file: 'total.ts', line: 1 }],
    [
      { 'total.ts': 'import { x } from "./x.ts"; export default x;', 'x.ts': 'export const y = 1;' },
      { pointer: '/files/total.ts', detail: /'x'/ },
    ],
    [{ 'total.ts': 'export default 1; export default 2;' }, { file: 'total.ts', line: 1 }],
  ];
  for (const [more, error] of rows) {
    const response = await js(more);
    t.match(response.json(), { status: 400, code: 'invalid-plugin', errors: [error] }, response.body);
  }
  t.equal(services.functions.active.find('a/total')?.plugin.version, '1', 'the previous version stays');
});
