/** Writes whose hook cannot run: they are rejected until an administrator fixes or disables the plugin. */
import { mkdir, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import t from 'tap';
import { readDeclaredHooks } from '../../../src/functions/plugins/manifest/declared-hooks.ts';
import { createPluginFixture, emptyFolder, onePlugin } from '../../helpers/functions/plugin-fixture.ts';
import { withPolicies } from '../../helpers/policies.ts';
import { until } from '../../helpers/until.ts';

const stamp = (collection: string) => ({ name: 'stamp', file: 'stamp.ts', beforeWrite: { collections: [collection] } });
const total = { name: 'total', file: 'stamp.ts', http: { method: 'GET', path: '/total' } };
const SCRIPT = 'export default () => undefined;';

t.test('A write is rejected while its hook cannot run.', async (t) => {
  const folder = await emptyFolder(t);
  const write = async (name: string, manifest: string, script: string | null = SCRIPT) => {
    await mkdir(join(folder, name));
    if (script !== null) await writeFile(join(folder, name, 'stamp.ts'), script);
    await writeFile(join(folder, name, 'plugin.json'), manifest);
  };
  const manifest = (name: string, more: object = {}) =>
    JSON.stringify({ name, functions: [stamp(name), total], ...more });
  await write('fine', manifest('fine'));
  await write('broken', manifest('broken'), 'export default (');
  await write('missing', manifest('missing'), null);
  await write('large', manifest('large'), `//${'x'.repeat(1_048_576)}\n${SCRIPT}`);
  await write('directory', manifest('directory'), null);
  await mkdir(join(folder, 'directory', 'stamp.ts'));
  await write('outside', manifest('outside'), null);
  await symlink(join(folder, 'fine', 'stamp.ts'), join(folder, 'outside', 'stamp.ts'));
  await write('invalid', manifest('invalid', { fetch: 'no list' }));
  await write('two words', manifest('named'));
  // Functions are disabled on this server.
  const fixture = await createPluginFixture(t, { folder });
  const { services, boss, somebody } = fixture;
  withPolicies(services, [{ resources: ['*'], actions: ['create', 'read', 'update', 'delete'] }]);
  const create = async (name: string) => (await somebody(`POST /api/${name}`, { n: 1 })).json().code;

  await t.test('Writes with hooks are rejected while functions are disabled.', async (t) => {
    t.equal(await create('fine'), 'functions-disabled');
    t.equal(await create('others'), undefined, 'a write without hooks succeeds');
  });

  await t.test('The plugin has an error in its scripts or in its manifest.', async (t) => {
    for (const name of ['broken', 'missing', 'large', 'directory', 'outside', 'invalid', 'named']) {
      t.equal(await create(name), 'write-hook-unavailable', name);
    }
    t.strictSame(
      services.functions.active.ofKind('http').map(({ id }) => id),
      ['fine/total'],
      'nothing else of it is active',
    );
    const reported = await boss('POST /api/missing', { n: 1 });
    t.match(reported.json(), { status: 503, detail: /^'missing\/stamp' must check/, hint: /Fix the plugin 'missing'/ });
    const anonymous = await somebody('POST /api/missing', { n: 1 });
    t.notMatch(anonymous.body, /stamp/, 'others do not learn which function it is');
    const line = /The plugin 'missing' has errors\. It is not active\. Writes to missing are rejected/;
    t.ok(fixture.lines.some((one) => line.test(one)));
    t.match((await boss('GET /admin/plugins/missing')).json(), {
      blockedCollections: ['missing'],
      diagnostics: ['stamp.ts: does not exist'],
      functions: [{ name: 'stamp', state: 'invalid' }, { name: 'total' }],
    });
  });

  await t.test('An administrator disables the plugin, and then its writes succeed.', async (t) => {
    for (const [name, code] of [
      ['fine', 'functions-disabled'],
      ['broken', 'write-hook-unavailable'],
      ['invalid', 'write-hook-unavailable'],
    ] as const) {
      t.equal((await boss(`PATCH /admin/plugins/${name}`, { enabled: false })).statusCode, 200);
      t.equal(await create(name), undefined, name);
      await boss(`PATCH /admin/plugins/${name}`, { enabled: true });
      t.equal(await create(name), code, name);
    }
  });

  await t.test('A plugin that cannot be read rejects every write until it can.', async (t) => {
    const stops = async (name: string, what: string, make: () => Promise<unknown>) => {
      await make();
      await until(async () => (await create('others')) === 'write-hook-unavailable', what);
      t.match((await boss(`GET /admin/plugins/${encodeURIComponent(name)}`)).json(), { blockedCollections: ['*'] });
      await rm(join(folder, name), { recursive: true });
      await until(async () => (await create('others')) === undefined, `${what}: it is removed`);
    };
    await stops('unreadable', 'no JSON', () => write('unreadable', '{'));
    await stops('nameless', 'a function of no kind', () =>
      write('nameless', JSON.stringify({ name: 'nameless', functions: [{ ...stamp('c'), beforeWrite: undefined }] })),
    );
    await stops('nothing', 'a link to nothing', () => symlink(join(folder, 'not-there'), join(folder, 'nothing')));
    await stops('away', 'a manifest that links to nothing', async () => {
      await mkdir(join(folder, 'away'));
      await symlink(join(folder, 'not-there'), join(folder, 'away', 'plugin.json'));
    });
    const manifest = JSON.stringify(onePlugin('endpoints', { fetch: 'no list' }).manifest);
    await write('endpoints', manifest);
    await until(() => fixture.lines.some((one) => one.includes("The plugin 'endpoints' has errors")), 'it is read');
    t.equal(await create('others'), undefined, 'a plugin without hooks rejects no writes');
  });
});

t.test('The hooks of an invalid manifest are read as far as possible.', async (t) => {
  const all = { collections: ['*'], actions: ['create', 'update', 'delete'] };
  const of = (...functions: unknown[]) => readDeclaredHooks({ functions });
  for (const written of [undefined, null, [], 'x', {}, { functions: {} }]) {
    t.match(readDeclaredHooks(written), [all], JSON.stringify(written));
  }
  t.strictSame(of(), []);
  t.strictSame(of({ name: 'a', http: 'wrong' }, { cron: 7 }, { job: 'x' }), [], 'other kinds check nothing');
  for (const beforeWrite of [
    null,
    'c',
    {},
    { collections: 'c' },
    { collections: [] },
    { collections: ['c', 'no name!'] },
  ]) {
    t.match(of({ name: 'a', beforeWrite }), [{ name: 'a', ...all }], JSON.stringify(beforeWrite));
  }
  t.match(of(7), [all]);
  t.match(of({ name: 'a', beforeWrit: { collections: ['c'] } }), [all], 'a misspelled key may have been a hook');
  const narrow = { collections: ['c'], actions: ['create'] };
  t.match(of({ name: 'a', beforeWrite: narrow, on: ['x'] }), [{ name: 'a', ...narrow }], 'of two kinds');
  t.match(of({ beforeWrite: { collections: ['c'], actions: ['create', 'creat'] } }), [{ ...all, collections: ['c'] }]);
});
