/** Terminal output about plugins: activated, changed and removed ones. */
import t from 'tap';
import { PluginRegistry } from '../../../src/functions/plugins/active-plugins.ts';
import { logPluginChanges } from '../../../src/functions/plugins/log-plugin-changes.ts';
import { formatDiagnostic } from '../../../src/functions/plugins/manifest/plugin-error.ts';
import type { FunctionOptions, Plugin, PluginFunction } from '../../../src/functions/plugins/plugin.ts';

function plugin(name: string, uses: readonly FunctionOptions[], enabled = true): Plugin {
  const functions: PluginFunction[] = [];
  const created: Plugin = {
    name,
    from: 'folder',
    version: 'a',
    enabled,
    isPlaceholder: false,
    bundle: { id: 'a', files: new Map() },
    fetchHosts: [],
    isolation: 'plugin',
    secrets: {},
    readsUsers: true,
    functions,
  };
  for (const [index, use] of uses.entries()) {
    const own = {
      id: `${name}/f${index}`,
      name: `f${index}`,
      plugin: created,
      file: 'f.ts',
      options: use,
      roles: [],
      timeoutMs: 1,
    };
    functions.push({ ...own, as: 'function', isQuarantined: false });
  }
  return created;
}

t.test('Activated, changed and removed plugins are logged.', async (t) => {
  const registry = new PluginRegistry((error) => t.fail(String(error)));
  const one = plugin('one', [
    { kind: 'http', methods: ['GET', 'POST'], path: '/one/:id' },
    { kind: 'trigger', on: ['todos.created'], filter: null },
    { kind: 'cron', schedule: '0 3 * * *', timeZone: 'UTC' },
    { kind: 'beforeWrite', collections: ['todos'], actions: ['create'] },
    { kind: 'job' },
  ]);
  registry.setPlugins([one]);
  const reported: string[] = [];
  const end = logPluginChanges(registry, (text) => reported.push(text));
  t.strictSame(reported.splice(0), [
    "The plugin 'one' is active: GET|POST /fn/one/:id, f1 on todos.created, f2 at 0 3 * * * (UTC), " +
      'f3 before writes to todos, f4 as a job',
  ]);
  const two = plugin('two', [{ kind: 'job' }]);
  registry.setPlugins([one, two]);
  t.strictSame(reported.splice(0), ["The plugin 'two' is active: f0 as a job"]);
  registry.setPlugins([plugin('two', [{ kind: 'job' }], false)]);
  t.strictSame(reported.splice(0), ["The plugin 'one' was removed", "The plugin 'two' is disabled"]);
  end();
  registry.setPlugins([]);
  t.strictSame(reported, []);
});

t.test('An error has a path that terminals open.', async (t) => {
  const issue = { file: 'lib/a.ts', line: 3, column: 7, message: 'Expression expected' };
  t.equal(formatDiagnostic(issue), 'lib/a.ts:3:7: Expression expected');
  t.equal(formatDiagnostic(issue, 'plugins/x'), 'plugins/x/lib/a.ts:3:7: Expression expected');
  t.equal(formatDiagnostic({ pointer: '/name', message: 'wrong' }, 'plugins/x'), 'plugins/x/plugin.json /name: wrong');
});
