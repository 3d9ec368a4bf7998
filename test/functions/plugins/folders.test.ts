/** Plugins in folders: in force when they are saved, with faults told and the version before kept, and nothing from outside. */
import { mkdir, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import t from 'tap';
import { emptyFolder, onePlugin, pluginWorld } from '../../helpers/functions/plugin-world.ts';
import { until } from '../../helpers/until.ts';

const outside = await emptyFolder(t);
const { folder, parts, boss, lines } = await pluginWorld(t, { folder: join(await emptyFolder(t), 'not', 'yet') });
const { active } = parts.functions;

async function save(name: string, files: Record<string, string | object>): Promise<void> {
  for (const [path, content] of Object.entries(files)) {
    const place = join(folder, name, path);
    await mkdir(dirname(place), { recursive: true });
    await writeFile(place, typeof content === 'string' ? content : JSON.stringify(content));
  }
}

const saved = (name: string, script: string, more: object = {}) =>
  save(name, { 'total.ts': script, 'plugin.json': onePlugin(name, more).manifest });
const codeOf = (name: string, path = 'total.ts') => active.find(`${name}/total`)?.plugin.bundle.files.get(path);
const told = (text: string) => lines.some((line) => line.includes(text));
const shown = async (name: string) => (await boss(`GET /admin/plugins/${name}`)).json();

t.test('a folder that appears later is found', async (t) => {
  t.strictSame((await boss('GET /admin/plugins')).json(), []);
  await saved('one', 'export default (): number => 1;');
  await until(() => codeOf('one') === 'export default ()         => 1;', 'it is in force');
  t.match(await shown('one'), {
    name: 'one',
    from: 'folder',
    version: /^[\w-]{12}$/,
    enabled: true,
    faults: [],
    files: { 'total.ts': 'export default (): number => 1;' },
    functions: [{ name: 'total', state: 'active' }],
  });
  t.equal(active.find('one/total')?.plugin.readsAccounts, true);
});

t.test('a change is in force when it is saved', async () => {
  await save('one', { 'total.ts': 'import { two } from "./lib/two.ts";\nexport default () => two;' });
  await save('one', { 'lib/two.ts': 'export const two = 2;' });
  await until(() => codeOf('one', 'lib/two.ts') === 'export const two = 2;', 'what it imports');
  await save('one', { 'lib/two.ts': 'export const two = 22;' });
  await until(() => codeOf('one', 'lib/two.ts') === 'export const two = 22;', 'a change of that');
  await save('one', { 'total.test.ts': 'import t from "tap"; enum Wrong {}', 'README.md': 'Words' });
  await save('one', { 'lib/two.ts': 'export const two = 3;' });
  await until(() => codeOf('one', 'lib/two.ts') === 'export const two = 3;', 'other files do not matter');
});

t.test('a fault is told with its place, and the version before stays', async (t) => {
  const { version } = await shown('one');
  await save('one', { 'total.ts': 'export default () => 1;\nconst a: number = ;' });
  await until(() => told('total.ts:2:19: Expression expected'), 'the log says where');
  t.ok(told('The version before stays in force'));
  t.match(await shown('one'), { version, faults: [/^total\.ts:2:19/], functions: [{ state: 'active', error: null }] });
  await save('one', { 'plugin.json': '{\n  "name": "one",,\n}' });
  await until(() => told('plugin.json:2:17: is not JSON'), 'the manifest');
  await save('one', { 'plugin.json': { name: 'other', functions: [] } });
  await until(() => told('plugin.json /functions'), 'its members');
  t.match(await shown('one'), { version, functions: [{ name: 'total', state: 'active' }] });
  await saved('one', 'export default () => 4;');
  await until(() => codeOf('one') === 'export default () => 4;', 'it is right again');
  t.strictSame((await shown('one')).faults, []);

  await saved('two', 'export default (');
  await until(() => told("The plugin 'two' has faults. It is not in force"), 'one that was never right');
  t.match(await shown('two'), { faults: [/^total\.ts:1/], functions: [{ state: 'invalid', error: /^total\.ts:1/ }] });
  t.equal(active.find('two/total'), undefined);
});

t.test('nothing outside of the folder is read', async (t) => {
  await writeFile(join(outside, 'secret.ts'), 'export default () => "outside";');
  await mkdir(join(outside, 'linked'));
  await writeFile(join(outside, 'linked', 'plugin.json'), JSON.stringify(onePlugin('linked').manifest));
  await writeFile(join(outside, 'linked', 'total.ts'), 'export default () => "outside";');
  await mkdir(folder, { recursive: true });
  await symlink(join(outside, 'linked'), join(folder, 'linked'));
  await until(() => told('linked is a symbolic link out of the folder'), 'a folder');
  await mkdir(join(folder, 'three'));
  await symlink(join(outside, 'secret.ts'), join(folder, 'three', 'total.ts'));
  await save('three', { 'plugin.json': onePlugin('three').manifest });
  await until(() => told('total.ts: is a symbolic link out of the folder'), 'a file');
  await symlink(outside, join(folder, 'three', 'lib'));
  await rm(join(folder, 'three', 'total.ts'));
  await save('three', { 'total.ts': 'import "./lib/secret.ts"; import "../../../secret.ts"; export default 1;' });
  await until(() => told('lib/secret.ts: is a symbolic link'), 'a folder in it');
  await mkdir(join(folder, 'four'));
  await symlink('total.ts', join(folder, 'four', 'alias.ts'));
  await save('four', {
    'total.ts': 'import "./alias.ts"; export default 1;',
    'plugin.json': onePlugin('four').manifest,
  });
  await until(() => active.find('four/total') !== undefined, 'a link inside is followed');
  await save('five', { 'total.ts': 'x'.repeat(1_048_577), 'plugin.json': onePlugin('five').manifest });
  await until(() => told('total.ts: is too large'), 'a huge file');
  for (const name of ['linked', 'three', 'five']) t.equal(active.find(`${name}/total`), undefined, name);
  t.notOk(told('outside";'), 'what is outside is not told');
});

t.test('a plugin of a folder is changed there, and only switched over HTTP', async (t) => {
  await saved('six', 'export default () => 6;', { secrets: ['KEY'] });
  await until(() => active.find('six/total') !== undefined, 'it is in force');
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
  t.equal((await shown('six')).enabled, false, 'it stays switched off');
  t.equal((await boss('PUT /admin/plugins/six/secrets/KEY', { value: 'the value' })).statusCode, 204);
  await boss('PATCH /admin/plugins/six', { enabled: true });
  t.strictSame(active.find('six/total')?.plugin.secrets, { KEY: 'the value' });
  t.equal((await boss('PUT /admin/plugins/in-database', onePlugin('in-database'))).statusCode, 201);
  await saved('in-database', 'export default () => "folder";');
  await until(() => told('There is a plugin of this name in the database'), 'the one in the database was first');
  t.equal((await shown('in-database')).from, 'database');
  t.equal((await boss('PATCH /admin/plugins/in-database', { enabled: true })).statusCode, 200, 'it can be changed');
  t.equal((await boss('DELETE /admin/plugins/in-database')).statusCode, 204);
  t.equal(codeOf('in-database'), 'export default () => "folder";', 'then the folder takes its place');
  t.match((await boss('DELETE /admin/plugins/in-database')).json(), { code: 'plugin-in-folder' });
  const clash = { manifest: onePlugin('six').manifest.functions[0], name: 'seven' };
  const body = { manifest: { name: 'seven', functions: [clash.manifest] }, files: { 'total.ts': 'export default 1' } };
  t.match((await boss('PUT /admin/plugins/seven', body)).json(), { code: 'invalid-plugin', detail: /'six\/total'/ });
});

t.test('a plugin whose folder goes is gone, also when another folder takes its place', async (t) => {
  await rename(join(folder, 'six'), join(outside, 'six'));
  await until(() => active.find('six/total') === undefined, 'it is gone');
  t.equal((await boss('GET /admin/plugins/six')).statusCode, 404);
  t.equal((await boss('PUT /admin/plugins/six', onePlugin('six', { secrets: ['KEY'] }))).statusCode, 201);
  t.strictSame(active.find('six/total')?.plugin.secrets, {}, 'other code of its name does not get its secrets');
  t.equal((await boss('DELETE /admin/plugins/six')).statusCode, 204);
  await saved('six', 'export default () => "new";');
  await until(() => codeOf('six') === 'export default () => "new";', 'a new one');
  await rename(folder, `${folder}-before`);
  await until(() => active.find('six/total') === undefined, 'all are gone');
  await saved('six', 'export default () => "newer";');
  await until(() => codeOf('six') === 'export default () => "newer";', 'a new folder');
});
