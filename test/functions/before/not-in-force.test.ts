/** Writes that a function would have to see, while it cannot run: they are refused, until an owner switches the plugin off. */
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import t from 'tap';
import { emptyFolder, pluginWorld } from '../../helpers/functions/plugin-world.ts';
import { withPolicies } from '../../helpers/policies.ts';

const stamp = (collection: string) => ({ name: 'stamp', file: 'stamp.ts', before: { collections: [collection] } });
const total = { name: 'total', file: 'stamp.ts', http: { method: 'GET', path: '/total' } };
const SCRIPT = 'export default () => undefined;';

t.test('functions that cannot run', async (t) => {
  const folder = await emptyFolder(t);
  const write = async (name: string, manifest: string, script: string) => {
    await mkdir(join(folder, name));
    await writeFile(join(folder, name, 'stamp.ts'), script);
    await writeFile(join(folder, name, 'plugin.json'), manifest);
  };
  await write('fine', JSON.stringify({ name: 'fine', functions: [stamp('fine'), total] }), SCRIPT);
  await write('broken', JSON.stringify({ name: 'broken', functions: [stamp('broken'), total] }), 'export default (');
  await write('unreadable', '{', SCRIPT);
  // Functions are off in this world.
  const world = await pluginWorld(t, { folder });
  const { parts, boss, somebody } = world;
  withPolicies(parts, [{ collections: ['*'], actions: ['create', 'read'] }]);
  const create = async (name: string) => (await somebody(`POST /api/${name}`, { n: 1 })).json().code;

  await t.test('are switched off', async (t) => {
    t.equal(await create('fine'), 'functions-off');
    t.equal(await create('others'), undefined, 'what nothing has to see is made');
  });

  await t.test('have a fault', async (t) => {
    t.equal(await create('broken'), 'functions-off');
    const functions = parts.functions.active.ofKind('before');
    t.strictSame(functions.map(({ id }) => id).sort(), ['broken/stamp', 'fine/stamp']);
    const [standIn] = functions.filter(({ id }) => id === 'broken/stamp');
    t.match(standIn?.plugin.bundle.files.get('stamp.ts'), /throw new Error/);
    t.strictSame(
      parts.functions.active.ofKind('endpoint').map(({ id }) => id),
      ['fine/total'],
      'nothing else of it is in force',
    );
    t.ok(world.lines.some((line) => line.includes("The plugin 'broken' has faults")));
    t.ok(world.lines.some((line) => line.includes("The plugin 'unreadable' has faults")));
  });

  await t.test('an owner switches the plugin off', async (t) => {
    for (const name of ['fine', 'broken']) {
      t.equal((await boss(`PATCH /admin/plugins/${name}`, { enabled: false })).statusCode, 200);
      t.equal(await create(name), undefined, name);
      await boss(`PATCH /admin/plugins/${name}`, { enabled: true });
      t.equal(await create(name), 'functions-off', name);
    }
  });
});
