/** Plugins in several processes: active everywhere within a second, including quarantine; and the state after a start. */
import { randomBytes } from 'node:crypto';
import t from 'tap';
import { createPluginFixture, onePlugin } from '../../helpers/functions/plugin-fixture.ts';
import { ownTimeOf } from '../../helpers/own-time.ts';
import { until } from '../../helpers/until.ts';

const settings = { MILLRACE_MASTER_KEY: randomBytes(32).toString('base64') };

t.test('A change is active in another process within a second.', async (t) => {
  const one = await createPluginFixture(t, { settings });
  const two = await createPluginFixture(t, { settings, testDatabase: one.testDatabase });
  const there = () => two.services.functions.active.find('a/total');
  const heard = async (fact: () => boolean, what: string) => {
    const ms = await ownTimeOf(() => until(fact, what));
    t.ok(ms < 1_000, `${what}: ${ms.toFixed()} ms`);
  };
  await one.boss('PUT /admin/plugins/a', onePlugin('a', { secrets: ['KEY'], fetch: ['a.example'] }));
  await heard(() => there()?.plugin.version === '1', 'it is created');
  t.match(there()?.plugin, { secrets: {}, fetchHosts: ['a.example'], readsUsers: true });
  await one.boss('PUT /admin/plugins/a/secrets/KEY', { value: 'the value' });
  await heard(() => there()?.plugin.secrets['KEY'] === 'the value', 'a secret');
  await one.boss('PUT /admin/plugins/a', onePlugin('a', { secrets: ['KEY'] }, 'export default () => 2'));
  await heard(() => there()?.plugin.bundle.files.get('total.ts') === 'export default () => 2', 'a version');
  t.match(there()?.plugin, { version: '2', secrets: { KEY: 'the value' } });
  await two.boss('POST /admin/plugins/a/versions/1/activate');
  await until(() => one.services.functions.active.find('a/total')?.plugin.version === '1', 'an earlier version');

  await one.services.functions.plugins.quarantine('a/total', 'The function used too much memory');
  await heard(() => there()?.isQuarantined === true, 'a quarantine');
  const state = async () => (await two.boss('GET /admin/plugins/a')).json().functions[0];
  t.match(await state(), { state: 'quarantined', error: 'The function used too much memory' });
  await one.services.functions.plugins.quarantine('a/total', 'Again');
  await one.services.functions.plugins.quarantine('none/total', 'Gone');
  await two.boss('PUT /admin/plugins/a', onePlugin('a', { secrets: ['KEY'] }));
  t.match(await state(), { state: 'quarantined', error: 'The function used too much memory' }, 'also of a new version');
  const activity = one.services.mongo.data.collection('_activity');
  t.match(await activity.find({ type: 'system.function.quarantined' }).toArray(), [
    { details: { function: 'a/total', reason: 'The function used too much memory' }, _meta: { by: null } },
  ]);
  t.match((await two.boss('POST /admin/plugins/a/functions/none/unquarantine')).json(), { code: 'function-not-found' });
  t.match((await two.boss('POST /admin/plugins/none/functions/a/unquarantine')).json(), { code: 'plugin-not-found' });
  t.match((await two.boss('POST /admin/plugins/a/functions/total/unquarantine')).json(), {
    functions: [{ state: 'active' }],
  });
  await until(() => one.services.functions.active.find('a/total')?.isQuarantined === false, 'released');

  await one.boss('PATCH /admin/plugins/a', { enabled: false });
  await heard(() => there() === undefined, 'disabled');
  await one.boss('PATCH /admin/plugins/a', { enabled: true });
  await heard(() => there() !== undefined, 'enabled');
  const late = await createPluginFixture(t, { settings, testDatabase: one.testDatabase });
  t.match(
    late.services.functions.active.find('a/total')?.plugin,
    { version: '3', secrets: { KEY: 'the value' } },
    'a start',
  );

  await one.boss('DELETE /admin/plugins/a');
  await heard(() => there() === undefined, 'removed');
  for (const name of ['plugin_versions', 'plugin_secrets']) {
    t.equal(await one.services.mongo.log.collection(name).countDocuments(), 0, `${name} is empty`);
  }
  const events = (await one.boss('GET /events?since=1-0&limit=1000&types=system.plugin.*')).json().events;
  const [first, last] = [events.at(0), events.at(-1)];
  t.match(first, { type: 'system.plugin.created', documentId: 'a', actor: { kind: 'admin', id: 'o1' } });
  t.match(first.data, { version: '1', enabled: true, quarantined: [] });
  t.match(last, { type: 'system.plugin.deleted', actor: { kind: 'admin', id: 'o1' } });
});

t.test('Rows written by another program are reported, and harm no other plugin.', async (t) => {
  const { boss, services, lines } = await createPluginFixture(t, { settings });
  await boss('PUT /admin/plugins/a', onePlugin('a'));
  await boss('PUT /admin/plugins/b', onePlugin('b'));
  const versions = services.mongo.log.collection('plugin_versions');
  const rows = services.mongo.data.collection<{ _id: string }>('_plugins');
  const change = async (manifest: string, digest: string) => {
    await versions.updateOne({ plugin: 'b' }, { $set: { manifest } });
    await rows.updateOne({ _id: 'b' }, { $set: { digest } });
  };
  await change('{', 'other');
  await until(() => lines.some((line) => line.includes("The plugin 'b' has errors")), 'it is reported');
  t.match((await boss('GET /admin/plugins')).json(), [
    { name: 'a', diagnostics: [], functions: [{ state: 'active' }] },
    { name: 'b', diagnostics: [/object/], functions: [{ state: 'active' }] },
  ]);
  t.ok(services.functions.active.find('b/total'), 'the previous one stays');
  await versions.deleteMany({ plugin: 'b' });
  await rows.updateOne({ _id: 'b' }, { $set: { digest: 'another' } });
  await until(
    async () => /not stored/.test((await boss('GET /admin/plugins')).json()[1].diagnostics[0]),
    'a missing version',
  );
  t.equal((await boss('PUT /admin/plugins/a', onePlugin('a'))).statusCode, 200);
  t.equal((await boss('PUT /admin/plugins/b', onePlugin('b'))).statusCode, 200, 'it can be stored again');
});
