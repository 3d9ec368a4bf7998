/** Writes that a function must check while it cannot run: they are refused until an owner repairs the plugin or switches it off. */
import { mkdir, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import t from 'tap';
import { declaredHooks } from '../../../src/functions/plugins/manifest/declared-hooks.ts';
import { emptyFolder, onePlugin, pluginWorld } from '../../helpers/functions/plugin-world.ts';
import { withPolicies } from '../../helpers/policies.ts';
import { until } from '../../helpers/until.ts';

const stamp = (collection: string) => ({ name: 'stamp', file: 'stamp.ts', before: { collections: [collection] } });
const total = { name: 'total', file: 'stamp.ts', http: { method: 'GET', path: '/total' } };
const SCRIPT = 'export default () => undefined;';

t.test('A write is refused while a function that must check it cannot run.', async (t) => {
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
  // Functions are off in this world.
  const world = await pluginWorld(t, { folder });
  const { parts, boss, somebody } = world;
  withPolicies(parts, [{ collections: ['*'], actions: ['create', 'read', 'update', 'delete'] }]);
  const create = async (name: string) => (await somebody(`POST /api/${name}`, { n: 1 })).json().code;

  await t.test('Functions are switched off.', async (t) => {
    t.equal(await create('fine'), 'functions-off');
    t.equal(await create('others'), undefined, 'a write that no function checks is made');
  });

  await t.test('The plugin has a fault in its scripts or in its manifest.', async (t) => {
    for (const name of ['broken', 'missing', 'large', 'directory', 'outside', 'invalid', 'named']) {
      t.equal(await create(name), 'function-unavailable', name);
    }
    t.strictSame(
      parts.functions.active.ofKind('endpoint').map(({ id }) => id),
      ['fine/total'],
      'nothing else of it is in force',
    );
    const told = await boss('POST /api/missing', { n: 1 });
    t.match(told.json(), { status: 503, detail: /^'missing\/stamp' must check/, hint: /Repair the plugin 'missing'/ });
    const stranger = await somebody('POST /api/missing', { n: 1 });
    t.notMatch(stranger.body, /stamp/, 'others do not learn which function it is');
    const line = /The plugin 'missing' has faults\. It is not in force\. Writes to missing are refused/;
    t.ok(world.lines.some((one) => line.test(one)));
    t.match((await boss('GET /admin/plugins/missing')).json(), {
      blockedCollections: ['missing'],
      faults: ['stamp.ts: does not exist'],
      functions: [{ name: 'stamp', state: 'invalid' }, { name: 'total' }],
    });
  });

  await t.test('An owner switches the plugin off, and then its writes are made.', async (t) => {
    for (const [name, code] of [
      ['fine', 'functions-off'],
      ['broken', 'function-unavailable'],
      ['invalid', 'function-unavailable'],
    ] as const) {
      t.equal((await boss(`PATCH /admin/plugins/${name}`, { enabled: false })).statusCode, 200);
      t.equal(await create(name), undefined, name);
      await boss(`PATCH /admin/plugins/${name}`, { enabled: true });
      t.equal(await create(name), code, name);
    }
  });

  await t.test('A plugin that cannot be read refuses every write until it can.', async (t) => {
    const stops = async (name: string, what: string, make: () => Promise<unknown>) => {
      await make();
      await until(async () => (await create('others')) === 'function-unavailable', what);
      t.match((await boss(`GET /admin/plugins/${encodeURIComponent(name)}`)).json(), { blockedCollections: ['*'] });
      await rm(join(folder, name), { recursive: true });
      await until(async () => (await create('others')) === undefined, `${what}: it is gone`);
    };
    await stops('unreadable', 'no JSON', () => write('unreadable', '{'));
    await stops('nameless', 'a function of no kind', () =>
      write('nameless', JSON.stringify({ name: 'nameless', functions: [{ ...stamp('c'), before: undefined }] })),
    );
    await stops('nothing', 'a link to nothing', () => symlink(join(folder, 'not-there'), join(folder, 'nothing')));
    await stops('away', 'a manifest that links to nothing', async () => {
      await mkdir(join(folder, 'away'));
      await symlink(join(folder, 'not-there'), join(folder, 'away', 'plugin.json'));
    });
    const manifest = JSON.stringify(onePlugin('endpoints', { fetch: 'no list' }).manifest);
    await write('endpoints', manifest);
    await until(() => world.lines.some((one) => one.includes("The plugin 'endpoints' has faults")), 'it is read');
    t.equal(await create('others'), undefined, 'one that checks no writes refuses none');
  });
});

t.test('The writes that a faulty manifest wants to check are read as far as they can be.', async (t) => {
  const all = { collections: ['*'], actions: ['create', 'update', 'delete'] };
  const of = (...functions: unknown[]) => declaredHooks({ functions });
  for (const written of [undefined, null, [], 'x', {}, { functions: {} }]) {
    t.match(declaredHooks(written), [all], JSON.stringify(written));
  }
  t.strictSame(of(), []);
  t.strictSame(of({ name: 'a', http: 'wrong' }, { cron: 7 }, { job: 'x' }), [], 'other kinds check nothing');
  for (const before of [null, 'c', {}, { collections: 'c' }, { collections: [] }, { collections: ['c', 'no name!'] }]) {
    t.match(of({ name: 'a', before }), [{ name: 'a', ...all }], JSON.stringify(before));
  }
  t.match(of(7), [all]);
  t.match(of({ name: 'a', befor: { collections: ['c'] } }), [all], 'a misspelled member may have been one');
  const narrow = { collections: ['c'], actions: ['create'] };
  t.match(of({ name: 'a', before: narrow, on: ['x'] }), [{ name: 'a', ...narrow }], 'of two kinds');
  t.match(of({ before: { collections: ['c'], actions: ['create', 'creat'] } }), [{ ...all, collections: ['c'] }]);
});
