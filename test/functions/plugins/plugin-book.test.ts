/** Plugins in force in memory: found by kind and by id, told once a change, and the same objects until something changes. */
import t from 'tap';
import { LazySandbox } from '../../../src/functions/lazy-sandbox.ts';
import { PluginBook } from '../../../src/functions/plugins/plugin-book.ts';
import { Strikes } from '../../../src/functions/plugins/strikes.ts';
import { toPlugin } from '../../../src/functions/plugins/to-plugin.ts';
import type { CallOutcome, Sandbox } from '../../../src/functions/sandbox/sandbox.ts';

const FUNCTIONS = [
  { name: 'get', file: 'a.js', http: { method: 'GET' as const, path: '/a' } },
  { name: 'act', file: 'a.js', http: { method: 'GET' as const, path: '/b' }, as: 'function' as const, roles: ['r'] },
  { name: 'greet', file: 'a.js', on: ['*'], filter: {} },
  { name: 'stamp', file: 'a.js', before: { collections: ['orders'] } },
  { name: 'later', file: 'a.js', job: true as const, timeoutMs: 5 },
];

function made(name: string, enabled = true, id = name) {
  const manifest = { name, functions: FUNCTIONS, secrets: ['KEY', 'toString'] };
  const bundle = { id, files: new Map([['a.js', 'export default 1']]) };
  const usable = { manifest, bundle, version: '1', readsAccounts: false };
  return toPlugin(usable, { from: 'database', enabled, quarantined: ['greet'], secrets: { KEY: 'k', OTHER: 'o' } });
}

t.test('functions are found by kind and by id', async (t) => {
  const book = new PluginBook((error) => t.fail(String(error)));
  t.strictSame(book.ofKind('endpoint'), []);
  const [a, off] = [made('a'), made('off', false)];
  book.use([a, off]);
  t.same(
    book.ofKind('endpoint').map(({ id }) => id),
    ['a/get', 'a/act'],
  );
  t.same(book.ofKind('cron'), []);
  t.match(book.find('a/get'), { as: 'caller', timeoutMs: 10_000, roles: [], isQuarantined: false });
  t.match(book.find('a/act'), { as: 'function', roles: ['r'] });
  t.match(book.find('a/greet'), { as: 'function', use: { filter: null }, timeoutMs: 60_000, isQuarantined: true });
  t.match(book.find('a/stamp'), { as: 'caller', use: { actions: ['create', 'update', 'delete'] }, timeoutMs: 3_000 });
  t.match(book.find('a/later'), { as: 'function', timeoutMs: 5 });
  t.equal(book.find('off/get'), undefined, 'none of a plugin that is switched off');
  t.strictSame(a.secrets, { KEY: 'k' }, 'secrets that the manifest names and that are set');
  t.ok(Object.isFrozen(a) && Object.isFrozen(a.functions) && a.functions.every(Object.isFrozen));
  t.same(book.plugins, [a, off]);
});

t.test('a change is told once, and nothing is told without one', async (t) => {
  const errors: unknown[] = [];
  const book = new PluginBook((error) => errors.push(error));
  let told = 0;
  book.onChange(() => {
    throw new Error('A listener that fails');
  });
  const end = book.onChange(() => {
    told += 1;
  });
  const a = made('a');
  book.use([a]);
  const before = book.ofKind('job');
  book.use([a]);
  t.equal(told, 1);
  t.equal(book.ofKind('job'), before);
  book.use([a, made('b')]);
  t.equal(told, 2);
  book.use([]);
  end();
  book.use([a]);
  t.equal(told, 3);
  t.equal(errors.length, 4, 'the one that fails does not keep the others from being told');
});

t.test('three strikes in ten minutes are too many', async (t) => {
  const book = new PluginBook(() => undefined);
  book.use([made('a')]);
  let now = 0;
  const quarantined: string[] = [];
  const strikes = new Strikes({
    active: book,
    quarantine: async (id, reason) => void quarantined.push(`${id}: ${reason}`),
    onError: (error) => t.fail(String(error)),
    now: () => now,
  });
  const strike = (id: string, bundle = 'a') =>
    strikes.add(
      {
        bundle: { id: bundle, files: new Map() },
        facts: { principal: {}, secrets: {}, run: { id: 'r', key: 'k', attempt: 1, function: id, version: '1' } },
      },
      'memory',
    );
  strike('a/get');
  strike('a/get');
  strike('a/act');
  now = 10 * 60_000;
  strike('a/get');
  t.strictSame(quarantined, [], 'the first two are too long ago');
  for (let n = 0; n < 9; n += 1) strike('a/get', 'draft');
  strike('gone/get');
  strike('a/get');
  t.strictSame(quarantined, [], 'calls of a draft are not calls of the function');
  strike('a/get');
  t.strictSame(quarantined, ['a/get: memory']);
});

t.test('a sandbox is made when it is needed, and again when that failed', async (t) => {
  let times = 0;
  const stopped: number[] = [];
  const outcome: CallOutcome = { kind: 'value', value: '1', cpuMs: 0 };
  const sandbox: Sandbox = {
    check: async () => [],
    call: async () => outcome,
    stop: async () => void stopped.push(times),
  };
  const lazy = new LazySandbox(async () => {
    times += 1;
    if (times === 1) throw new Error('Not yet');
    return sandbox;
  });
  t.equal(times, 0);
  const bundle = { id: '', files: new Map() };
  await t.rejects(lazy.check(bundle, []), { message: 'Not yet' });
  await Promise.all([lazy.check(bundle, []), lazy.check(bundle, [])]);
  t.equal(times, 2);
  await lazy.stop();
  t.strictSame(stopped, [2]);
  await t.rejects(lazy.check(bundle, []), { message: 'The sandbox is stopped' });
  const unused = new LazySandbox(async () => {
    throw new Error('Nobody asked');
  });
  await unused.stop();
});
