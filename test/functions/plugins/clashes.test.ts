/** Plugins in folders that answer the same requests: the one in force stays, whatever the other one is called. */
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import t from 'tap';
import { pluginWorld } from '../../helpers/functions/plugin-world.ts';
import { until } from '../../helpers/until.ts';

const { folder, parts, lines } = await pluginWorld(t);
const { active } = parts.functions;

async function save(name: string, path: string, code = '1'): Promise<void> {
  const http = { method: 'GET', path };
  await mkdir(join(folder, name), { recursive: true });
  await writeFile(join(folder, name, 'f.js'), `export default () => ${code}`);
  const manifest = { name, functions: [{ name: 'f', file: 'f.js', http }] };
  await writeFile(join(folder, name, 'plugin.json'), JSON.stringify(manifest));
}

const codeOf = (name: string) => active.find(`${name}/f`)?.plugin.bundle.files.get('f.js');
const clash = (one: string, other: string) => `'${one}/f' and '${other}/f' both answer GET /fn/same/:`;
const told = (text: string) => lines.filter((line) => line.includes(text));

t.test('a new plugin is refused, also when its name comes first', async (t) => {
  await save('middle', '/same/:id');
  await until(() => codeOf('middle') !== undefined, 'the first one');
  await save('early', '/same/:name');
  await until(() => told(clash('early', 'middle')).length > 0, 'the new one is refused');
  t.match(told(clash('early', 'middle')), [/'early' has faults\. It is not in force\./]);
  t.equal(active.find('early/f'), undefined);
  t.ok(codeOf('middle'));

  await save('middle', '/same/:id', '2');
  await until(() => codeOf('middle') === 'export default () => 2', 'a change of the one in force');
  t.equal(active.find('early/f'), undefined);
});

t.test('the other one comes when the way is free', async (t) => {
  await rm(join(folder, 'middle'), { recursive: true });
  await until(() => codeOf('early') !== undefined, 'it is in force');
  await save('aaa', '/aaa');
  await until(() => codeOf('aaa') !== undefined, 'one more');
  await save('aaa', '/same/:x', '3');
  await until(() => told(clash('aaa', 'early')).length > 0, 'its change is refused');
  t.match(told(clash('aaa', 'early')), [/'aaa' has faults\. The version before stays in force\./]);
  t.equal(codeOf('aaa'), 'export default () => 1');
  t.ok(codeOf('early'));
});
