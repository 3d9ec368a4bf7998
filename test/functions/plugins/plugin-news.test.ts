/** What a person at the terminal is told of plugins: which came into force, changed and went. */
import t from 'tap';
import { faultLine } from '../../../src/functions/plugins/manifest/plugin-fault.ts';
import type { FunctionUse, Plugin, PluginFunction } from '../../../src/functions/plugins/plugin.ts';
import { PluginBook } from '../../../src/functions/plugins/plugin-book.ts';
import { tellNews } from '../../../src/functions/plugins/plugin-news.ts';

function plugin(name: string, uses: readonly FunctionUse[], enabled = true): Plugin {
  const functions: PluginFunction[] = [];
  const made: Plugin = {
    name,
    from: 'folder',
    version: 'a',
    enabled,
    isStandIn: false,
    bundle: { id: 'a', files: new Map() },
    fetchHosts: [],
    secrets: {},
    readsAccounts: true,
    functions,
  };
  for (const [index, use] of uses.entries()) {
    const own = {
      id: `${name}/f${index}`,
      name: `f${index}`,
      plugin: made,
      file: 'f.ts',
      use,
      roles: [],
      timeoutMs: 1,
    };
    functions.push({ ...own, as: 'function', isQuarantined: false });
  }
  return made;
}

t.test('plugins that come, change and go', async (t) => {
  const book = new PluginBook((error) => t.fail(String(error)));
  const one = plugin('one', [
    { kind: 'endpoint', methods: ['GET', 'POST'], path: '/one/:id' },
    { kind: 'trigger', on: ['todos.created'], filter: null },
    { kind: 'cron', schedule: '0 3 * * *', timeZone: 'UTC' },
    { kind: 'before', collections: ['todos'], actions: ['create'] },
    { kind: 'job' },
  ]);
  book.use([one]);
  const told: string[] = [];
  const end = tellNews(book, (text) => told.push(text));
  t.strictSame(told.splice(0), [
    "The plugin 'one' is in force: GET|POST /fn/one/:id, f1 on todos.created, f2 at 0 3 * * * (UTC), " +
      'f3 before writes to todos, f4 as a job',
  ]);
  const two = plugin('two', [{ kind: 'job' }]);
  book.use([one, two]);
  t.strictSame(told.splice(0), ["The plugin 'two' is in force: f0 as a job"]);
  book.use([plugin('two', [{ kind: 'job' }], false)]);
  t.strictSame(told.splice(0), ["The plugin 'one' is gone", "The plugin 'two' is switched off"]);
  end();
  book.use([]);
  t.strictSame(told, []);
});

t.test('a fault has a path that a terminal opens', async (t) => {
  const fault = { file: 'lib/a.ts', line: 3, column: 7, message: 'Expression expected' };
  t.equal(faultLine(fault), 'lib/a.ts:3:7: Expression expected');
  t.equal(faultLine(fault, 'plugins/x'), 'plugins/x/lib/a.ts:3:7: Expression expected');
  t.equal(faultLine({ pointer: '/name', message: 'wrong' }, 'plugins/x'), 'plugins/x/plugin.json /name: wrong');
});
