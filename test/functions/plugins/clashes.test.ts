/** Plugins in folders with the same routes: the active one stays active, whatever the other's name is. */
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import t from 'tap';
import { createPluginFixture } from '../../helpers/functions/plugin-fixture.ts';
import { until } from '../../helpers/until.ts';

const { folder, services, lines } = await createPluginFixture(t);
const { active } = services.functions;

async function save(name: string, path: string, code = '1'): Promise<void> {
  const http = { method: 'GET', path };
  await mkdir(join(folder, name), { recursive: true });
  await writeFile(join(folder, name, 'f.js'), `export default () => ${code}`);
  const manifest = { name, functions: [{ name: 'f', file: 'f.js', http }] };
  await writeFile(join(folder, name, 'plugin.json'), JSON.stringify(manifest));
}

const codeOf = (name: string) => active.find(`${name}/f`)?.plugin.bundle.files.get('f.js');
const clash = (one: string, other: string) => `'${one}/f' and '${other}/f' both serve GET /fn/same/:`;
const reported = (text: string) => lines.filter((line) => line.includes(text));

t.test('A new plugin with the route of an active one is rejected, even if its name comes first.', async (t) => {
  await save('middle', '/same/:id');
  await until(() => codeOf('middle') !== undefined, 'the first one');
  await save('early', '/same/:name');
  await until(() => reported(clash('early', 'middle')).length > 0, 'the new one is rejected');
  t.match(reported(clash('early', 'middle')), [/'early' has errors\. It is not active\./]);
  t.equal(active.find('early/f'), undefined);
  t.ok(codeOf('middle'));

  await save('middle', '/same/:id', '2');
  await until(() => codeOf('middle') === 'export default () => 2', 'a change of the active one');
  t.equal(active.find('early/f'), undefined);
});

t.test('The other plugin is activated when the route becomes free.', async (t) => {
  await rm(join(folder, 'middle'), { recursive: true });
  await until(() => codeOf('early') !== undefined, 'it is active');
  await save('aaa', '/aaa');
  await until(() => codeOf('aaa') !== undefined, 'one more');
  await save('aaa', '/same/:x', '3');
  await until(() => reported(clash('aaa', 'early')).length > 0, 'its change is rejected');
  t.match(reported(clash('aaa', 'early')), [/'aaa' has errors\. The previous version stays active\./]);
  t.equal(codeOf('aaa'), 'export default () => 1');
  t.ok(codeOf('early'));
});
