/** Plugins in several processes: in force everywhere within a second, quarantine too; and what a start finds. */
import { randomBytes } from 'node:crypto';
import t from 'tap';
import { onePlugin, pluginWorld } from '../../helpers/functions/plugin-world.ts';
import { ownTimeOf } from '../../helpers/own-time.ts';
import { until } from '../../helpers/until.ts';

const settings = { MILLRACE_MASTER_KEY: randomBytes(32).toString('base64') };

t.test('a change is in force in another process within a second', async (t) => {
  const one = await pluginWorld(t, { settings });
  const two = await pluginWorld(t, { settings, place: one.place });
  const there = () => two.parts.functions.active.find('a/total');
  const heard = async (fact: () => boolean, what: string) => {
    const ms = await ownTimeOf(() => until(fact, what));
    t.ok(ms < 1_000, `${what}: ${ms.toFixed()} ms`);
  };
  await one.boss('PUT /admin/plugins/a', onePlugin('a', { secrets: ['KEY'], fetch: ['a.example'] }));
  await heard(() => there()?.plugin.version === '1', 'it is made');
  t.match(there()?.plugin, { secrets: {}, fetchHosts: ['a.example'], readsAccounts: true });
  await one.boss('PUT /admin/plugins/a/secrets/KEY', { value: 'the value' });
  await heard(() => there()?.plugin.secrets['KEY'] === 'the value', 'a secret');
  await one.boss('PUT /admin/plugins/a', onePlugin('a', { secrets: ['KEY'] }, 'export default () => 2'));
  await heard(() => there()?.plugin.bundle.files.get('total.ts') === 'export default () => 2', 'a version');
  t.match(there()?.plugin, { version: '2', secrets: { KEY: 'the value' } });
  await two.boss('POST /admin/plugins/a/versions/1/activate');
  await until(() => one.parts.functions.active.find('a/total')?.plugin.version === '1', 'an earlier version');

  await one.parts.functions.plugins.plugins.quarantine('a/total', 'It used too much memory');
  await heard(() => there()?.isQuarantined === true, 'a quarantine');
  const state = async () => (await two.boss('GET /admin/plugins/a')).json().functions[0];
  t.match(await state(), { state: 'quarantined', error: 'It used too much memory' });
  await one.parts.functions.plugins.plugins.quarantine('a/total', 'Again');
  await one.parts.functions.plugins.plugins.quarantine('none/total', 'Gone');
  await two.boss('PUT /admin/plugins/a', onePlugin('a', { secrets: ['KEY'] }));
  t.match(await state(), { state: 'quarantined', error: 'It used too much memory' }, 'also of a new version');
  const activity = one.parts.mongo.data.collection('_activity');
  t.match(await activity.find({ type: 'system.function.quarantined' }).toArray(), [
    { details: { function: 'a/total', reason: 'It used too much memory' }, _meta: { by: null } },
  ]);
  t.match((await two.boss('POST /admin/plugins/a/functions/none/release')).json(), { code: 'function-not-found' });
  t.match((await two.boss('POST /admin/plugins/none/functions/a/release')).json(), { code: 'plugin-not-found' });
  t.match((await two.boss('POST /admin/plugins/a/functions/total/release')).json(), {
    functions: [{ state: 'active' }],
  });
  await until(() => one.parts.functions.active.find('a/total')?.isQuarantined === false, 'released');

  await one.boss('PATCH /admin/plugins/a', { enabled: false });
  await heard(() => there() === undefined, 'switched off');
  await one.boss('PATCH /admin/plugins/a', { enabled: true });
  await heard(() => there() !== undefined, 'switched on');
  const late = await pluginWorld(t, { settings, place: one.place });
  t.match(
    late.parts.functions.active.find('a/total')?.plugin,
    { version: '3', secrets: { KEY: 'the value' } },
    'a start',
  );

  await one.boss('DELETE /admin/plugins/a');
  await heard(() => there() === undefined, 'removed');
  for (const name of ['plugin_versions', 'plugin_secrets']) {
    t.equal(await one.parts.mongo.log.collection(name).countDocuments(), 0, `${name} is empty`);
  }
  const events = (await one.boss('GET /events?since=1-0&limit=1000&types=system.plugin.*')).json().events;
  const [first, last] = [events.at(0), events.at(-1)];
  t.match(first, { type: 'system.plugin.created', documentId: 'a', actor: { kind: 'owner', id: 'o1' } });
  t.match(first.data, { version: '1', enabled: true, quarantined: [] });
  t.match(last, { type: 'system.plugin.deleted', actor: { kind: 'owner', id: 'o1' } });
});

t.test('what another program wrote is told, and harms no other plugin', async (t) => {
  const { boss, parts, lines } = await pluginWorld(t, { settings });
  await boss('PUT /admin/plugins/a', onePlugin('a'));
  await boss('PUT /admin/plugins/b', onePlugin('b'));
  const versions = parts.mongo.log.collection('plugin_versions');
  const rows = parts.mongo.data.collection<{ _id: string }>('_plugins');
  const change = async (manifest: string, digest: string) => {
    await versions.updateOne({ plugin: 'b' }, { $set: { manifest } });
    await rows.updateOne({ _id: 'b' }, { $set: { digest } });
  };
  await change('{', 'other');
  await until(() => lines.some((line) => line.includes("The plugin 'b' has faults")), 'it is told');
  t.match((await boss('GET /admin/plugins')).json(), [
    { name: 'a', faults: [], functions: [{ state: 'active' }] },
    { name: 'b', faults: [/object/], functions: [{ state: 'active' }] },
  ]);
  t.ok(parts.functions.active.find('b/total'), 'the one before stays');
  await versions.deleteMany({ plugin: 'b' });
  await rows.updateOne({ _id: 'b' }, { $set: { digest: 'another' } });
  await until(
    async () => /not kept/.test((await boss('GET /admin/plugins')).json()[1].faults[0]),
    'a version that is gone',
  );
  t.equal((await boss('PUT /admin/plugins/a', onePlugin('a'))).statusCode, 200);
  t.equal((await boss('PUT /admin/plugins/b', onePlugin('b'))).statusCode, 200, 'it can be stored again');
});
