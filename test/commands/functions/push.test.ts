/** `millrace functions push` and `pull` against a real server. */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import t, { type Test } from 'tap';
import { pullPlugin } from '../../../src/commands/functions/pull.ts';
import { pushPlugin } from '../../../src/commands/functions/push.ts';
import { RemoteServer } from '../../../src/commands/remote/remote.ts';
import { buildTestApp } from '../../helpers/app.ts';
import { until } from '../../helpers/until.ts';
import { ask } from '../../helpers/users.ts';

const MANIFEST = {
  name: 'shop',
  functions: [{ name: 'total', file: 'total.ts', http: { method: 'GET', path: '/total' } }],
  secrets: ['KEY'],
};
const TOTAL = "import { one } from './lib/one.ts';\n\nexport default async (): Promise<number> => one + 1;\n";
const FILES = { 'total.ts': TOTAL, 'lib/one.ts': 'export const one: number = 1;\n' };

async function fixture(t: Test) {
  const cwd = mkdtempSync(join(tmpdir(), 'millrace-push-'));
  t.teardown(() => rmSync(cwd, { recursive: true, force: true }));
  const { app } = await buildTestApp(t, { MILLRACE_PLUGINS_DIR: join(cwd, 'served'), MILLRACE_FUNCTIONS: 'off' });
  const url = await app.listen({ host: '127.0.0.1', port: 0 });
  const write = (path: string, text: string | object) => {
    mkdirSync(dirname(join(cwd, path)), { recursive: true });
    writeFileSync(join(cwd, path), typeof text === 'string' ? text : JSON.stringify(text));
  };
  const remote = new RemoteServer(url, undefined);
  t.teardown(() => remote.close());
  const printed = t.capture(console, 'log');
  /** The output of a command, or its error; paths relative to the test folder. */
  const saidBy = async (command: Promise<true>) => {
    const failed = await command.then(
      () => null,
      (error: unknown) => error,
    );
    const lines = printed().map(({ args }) => `${args.join(' ')}\n`);
    if (failed !== null && !(failed instanceof Error)) throw failed;
    return (failed?.message ?? lines.join('')).replaceAll(`${relative('', cwd)}/`, '');
  };
  return {
    app,
    cwd,
    write,
    push: (note?: string) => saidBy(pushPlugin({ path: join(cwd, 'plugins/shop'), name: 'shop' }, note, remote)),
    pull: (name: string, folder: string, force = false) =>
      saidBy(pullPlugin({ name, folder: join(cwd, folder), force }, remote)),
  };
}

t.test('A folder is stored as versions in the database, and can be pulled.', async (t) => {
  const { app, cwd, write, push, pull } = await fixture(t);
  write('plugins/shop/plugin.json', MANIFEST);
  for (const [path, text] of Object.entries(FILES)) write(`plugins/shop/${path}`, text);
  write('plugins/shop/unused.ts', 'export {};\n');
  t.match(
    await push('The first'),
    /^shop is version 1 at http:.*, active within a second\nIts secret KEY is not set: PUT /,
  );
  t.match(await push(), /^shop is version 2 /);
  const stored = (await ask(app, 'GET /admin/plugins/shop')).json();
  t.match(stored, { version: '2', manifest: MANIFEST, files: FILES });
  t.notOk('unused.ts' in stored.files, 'only what its functions need');
  const versions = (await ask(app, 'GET /admin/plugins/shop/versions')).json();
  t.match(versions, [
    { version: '2', note: null },
    { version: '1', note: 'The first' },
  ]);

  t.equal(await pull('shop', 'other'), 'Wrote version 2 of shop to other/shop\n');
  for (const [path, text] of Object.entries(FILES)) t.equal(readFileSync(join(cwd, 'other/shop', path), 'utf8'), text);
  t.strictSame(JSON.parse(readFileSync(join(cwd, 'other/shop/plugin.json'), 'utf8')), MANIFEST);

  write('plugins/shop/total.ts', 'mine');
  t.match(await pull('shop', 'plugins'), /^plugins\/shop already exists\. --force /);
  t.equal(readFileSync(join(cwd, 'plugins/shop/total.ts'), 'utf8'), 'mine');
  t.match(await pull('shop', 'plugins', true), /Not in that version, left unchanged: unused\.ts\n$/);
  t.equal(readFileSync(join(cwd, 'plugins/shop/total.ts'), 'utf8'), TOTAL);
  t.match(await pull('nothing', 'plugins'), /failed with 404/);
});

t.test('Errors are reported with file, line and column, and nothing is stored.', async (t) => {
  const { app, write, push } = await fixture(t);
  write('plugins/shop/plugin.json', MANIFEST);
  write('plugins/shop/total.ts', 'export default () => {\n  return 1 +;\n};\n');
  t.match(await push(), /^plugins\/shop\/total\.ts:2:\d+: .+$/);
  write('plugins/shop/plugin.json', { ...MANIFEST, functions: [{ name: 'total', file: 'total.ts', cron: 'x' }] });
  t.match(await push(), /^plugins\/shop\/plugin\.json \/functions\/0\/cron: .+$/);
  write('plugins/shop/plugin.json', '{"name": "shop",\n}');
  t.match(await push(), /^plugins\/shop\/plugin\.json.*: is not valid JSON$/);
  t.equal((await ask(app, 'GET /admin/plugins/shop')).statusCode, 404);
});

t.test('A plugin that the server has in a folder is not pushed.', async (t) => {
  const { app, write, push } = await fixture(t);
  for (const folder of ['served', 'plugins']) {
    write(`${folder}/shop/total.ts`, 'export default () => 1;\n');
    write(`${folder}/shop/plugin.json`, MANIFEST);
  }
  const isLoaded = async () => (await ask(app, 'GET /admin/plugins/shop')).statusCode === 200;
  await until(isLoaded, 'the folder is loaded');
  t.match(await push(), /^The server loads shop from its own plugins folder: /);
});
