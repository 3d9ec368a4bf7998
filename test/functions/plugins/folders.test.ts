/** Plugins in folders: active when saved, errors reported with the previous version kept, and nothing read from outside. */
import { mkdir, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import t from 'tap';
import { createPluginFixture, emptyFolder, onePlugin } from '../../helpers/functions/plugin-fixture.ts';
import { until } from '../../helpers/until.ts';

const outside = await emptyFolder(t);
const { folder, services, boss, lines } = await createPluginFixture(t, {
  folder: join(await emptyFolder(t), 'not', 'yet'),
});
const { active } = services.functions;

async function save(name: string, files: Record<string, string | object>): Promise<void> {
  for (const [path, content] of Object.entries(files)) {
    const file = join(folder, name, path);
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, typeof content === 'string' ? content : JSON.stringify(content));
  }
}

const saved = (name: string, script: string, more: object = {}) =>
  save(name, { 'total.ts': script, 'plugin.json': onePlugin(name, more).manifest });
const codeOf = (name: string, path = 'total.ts') => active.find(`${name}/total`)?.plugin.bundle.files.get(path);
const reported = (text: string) => lines.some((line) => line.includes(text));
const shown = async (name: string) => (await boss(`GET /admin/plugins/${name}`)).json();

t.test('A folder that appears later is found.', async (t) => {
  t.strictSame((await boss('GET /admin/plugins')).json(), []);
  await saved('one', 'export default (): number => 1;');
  await until(() => codeOf('one') === 'export default ()         => 1;', 'it is active');
  t.match(await shown('one'), {
    name: 'one',
    source: 'folder',
    version: /^[\w-]{12}$/,
    enabled: true,
    diagnostics: [],
    files: { 'total.ts': 'export default (): number => 1;' },
    functions: [{ name: 'total', state: 'active' }],
  });
  t.equal(active.find('one/total')?.plugin.readsUsers, true);
});

t.test('A change is active when it is saved.', async () => {
  await save('one', { 'total.ts': 'import { two } from "./lib/two.ts";\nexport default () => two;' });
  await save('one', { 'lib/two.ts': 'export const two = 2;' });
  await until(() => codeOf('one', 'lib/two.ts') === 'export const two = 2;', 'what it imports');
  await save('one', { 'lib/two.ts': 'export const two = 22;' });
  await until(() => codeOf('one', 'lib/two.ts') === 'export const two = 22;', 'a change of that');
  await save('one', { 'total.test.ts': 'import t from "tap"; enum Wrong {}', 'README.md': 'Words' });
  await save('one', { 'lib/two.ts': 'export const two = 3;' });
  await until(() => codeOf('one', 'lib/two.ts') === 'export const two = 3;', 'other files do not matter');
});

t.test('An error is reported with its location, and the previous version stays active.', async (t) => {
  const { version } = await shown('one');
  await save('one', { 'total.ts': 'export default () => 1;\nconst a: number = ;' });
  await until(() => reported('total.ts:2:19: Expression expected'), 'the log says where');
  t.ok(reported('The previous version stays active'));
  t.match(await shown('one'), {
    version,
    diagnostics: [/^total\.ts:2:19/],
    functions: [{ state: 'active', error: null }],
  });
  await save('one', { 'plugin.json': '{\n  "name": "one",,\n}' });
  await until(() => reported('plugin.json:2:17: is not valid JSON'), 'the manifest');
  await save('one', { 'plugin.json': { name: 'other', functions: [] } });
  await until(() => reported('plugin.json /functions'), 'its fields');
  t.match(await shown('one'), { version, functions: [{ name: 'total', state: 'active' }] });
  await saved('one', 'export default () => 4;');
  await until(() => codeOf('one') === 'export default () => 4;', 'it is right again');
  t.strictSame((await shown('one')).diagnostics, []);

  await saved('two', 'export default (');
  await until(() => reported("The plugin 'two' has errors. It is not active"), 'one that was never right');
  t.match(await shown('two'), {
    diagnostics: [/^total\.ts:1/],
    functions: [{ state: 'invalid', error: /^total\.ts:1/ }],
  });
  t.equal(active.find('two/total'), undefined);
});

t.test('nothing outside the folder is read', async (t) => {
  await writeFile(join(outside, 'secret.ts'), 'export default () => "outside";');
  await mkdir(join(outside, 'linked'));
  await writeFile(join(outside, 'linked', 'plugin.json'), JSON.stringify(onePlugin('linked').manifest));
  await writeFile(join(outside, 'linked', 'total.ts'), 'export default () => "outside";');
  await mkdir(folder, { recursive: true });
  await symlink(join(outside, 'linked'), join(folder, 'linked'));
  await until(() => reported('linked is a symbolic link that leaves the plugins folder'), 'a folder');
  await mkdir(join(folder, 'three'));
  await symlink(join(outside, 'secret.ts'), join(folder, 'three', 'total.ts'));
  await save('three', { 'plugin.json': onePlugin('three').manifest });
  await until(() => reported('total.ts: is a symbolic link that leaves the folder'), 'a file');
  await symlink(outside, join(folder, 'three', 'lib'));
  await rm(join(folder, 'three', 'total.ts'));
  await save('three', { 'total.ts': 'import "./lib/secret.ts"; import "../../../secret.ts"; export default 1;' });
  await until(() => reported('lib/secret.ts: is a symbolic link'), 'a folder in it');
  await mkdir(join(folder, 'four'));
  await symlink('total.ts', join(folder, 'four', 'alias.ts'));
  await save('four', {
    'total.ts': 'import "./alias.ts"; export default 1;',
    'plugin.json': onePlugin('four').manifest,
  });
  await until(() => active.find('four/total') !== undefined, 'a link inside is followed');
  await save('five', { 'total.ts': 'x'.repeat(1_048_577), 'plugin.json': onePlugin('five').manifest });
  await until(() => reported('total.ts: is too large'), 'a huge file');
  for (const name of ['linked', 'three', 'five']) t.equal(active.find(`${name}/total`), undefined, name);
  t.notOk(reported('outside";'), 'outside content is not shown');
});

t.test('A plugin in a folder can only be enabled or disabled over HTTP, not changed.', async (t) => {
  await saved('six', 'export default () => 6;', { secrets: ['KEY'] });
  await until(() => active.find('six/total') !== undefined, 'it is active');
  for (const [request, body] of [
    ['PUT /admin/plugins/six', onePlugin('six')],
    ['DELETE /admin/plugins/six', undefined],
    ['POST /admin/plugins/six/versions/1/activate', undefined],
  ] as const) {
    t.match((await boss(request, body)).json(), { status: 409, code: 'plugin-in-folder' }, request);
  }
  t.strictSame((await boss('GET /admin/plugins/six/versions')).json(), []);
  t.match((await boss('PATCH /admin/plugins/six', { enabled: false })).json(), { functions: [{ state: 'disabled' }] });
  t.equal(active.find('six/total'), undefined);
  await save('six', { 'total.ts': 'export default () => 66;' });
  await until(async () => (await shown('six')).files['total.ts'] === 'export default () => 66;', 'it is read');
  t.equal((await shown('six')).enabled, false, 'it stays disabled');
  t.equal((await boss('PUT /admin/plugins/six/secrets/KEY', { value: 'the value' })).statusCode, 204);
  await boss('PATCH /admin/plugins/six', { enabled: true });
  t.strictSame(active.find('six/total')?.plugin.secrets, { KEY: 'the value' });
  t.equal((await boss('PUT /admin/plugins/in-database', onePlugin('in-database'))).statusCode, 201);
  await saved('in-database', 'export default () => "folder";');
  await until(() => reported('Another plugin has this name in the database'), 'the one in the database was first');
  t.equal((await shown('in-database')).source, 'database');
  t.equal((await boss('PATCH /admin/plugins/in-database', { enabled: true })).statusCode, 200, 'it can be changed');
  t.equal((await boss('DELETE /admin/plugins/in-database')).statusCode, 204);
  t.equal(codeOf('in-database'), 'export default () => "folder";', 'then the folder replaces it');
  t.match((await boss('DELETE /admin/plugins/in-database')).json(), { code: 'plugin-in-folder' });
  const clash = { manifest: onePlugin('six').manifest.functions[0], name: 'seven' };
  const body = { manifest: { name: 'seven', functions: [clash.manifest] }, files: { 'total.ts': 'export default 1' } };
  t.match((await boss('PUT /admin/plugins/seven', body)).json(), { code: 'invalid-plugin', detail: /'six\/total'/ });
});

t.test('A plugin whose folder is deleted is removed, even if another folder replaces it.', async (t) => {
  await rename(join(folder, 'six'), join(outside, 'six'));
  await until(() => active.find('six/total') === undefined, 'it is removed');
  t.equal((await boss('GET /admin/plugins/six')).statusCode, 404);
  t.equal((await boss('PUT /admin/plugins/six', onePlugin('six', { secrets: ['KEY'] }))).statusCode, 201);
  t.strictSame(active.find('six/total')?.plugin.secrets, {}, 'other code of its name does not get its secrets');
  t.equal((await boss('DELETE /admin/plugins/six')).statusCode, 204);
  await saved('six', 'export default () => "new";');
  await until(() => codeOf('six') === 'export default () => "new";', 'a new one');
  await rename(folder, `${folder}-before`);
  await until(() => active.find('six/total') === undefined, 'all are removed');
  await saved('six', 'export default () => "newer";');
  await until(() => codeOf('six') === 'export default () => "newer";', 'a new folder');
});
