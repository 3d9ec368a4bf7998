/**
 * Active plugins in memory: found by kind and by id, one notification per change, and the same objects until something changes.
 */
import t from 'tap';
import { LazySandbox } from '../../../src/functions/lazy-sandbox.ts';
import { PluginRegistry } from '../../../src/functions/plugins/active-plugins.ts';
import { toPlugin } from '../../../src/functions/plugins/build-plugin.ts';
import { CrashCounter } from '../../../src/functions/plugins/crash-counter.ts';
import type { CallOutcome, Sandbox } from '../../../src/functions/sandbox/sandbox.ts';

const FUNCTIONS = [
  { name: 'get', file: 'a.js', http: { method: 'GET' as const, path: '/a' } },
  { name: 'act', file: 'a.js', http: { method: 'GET' as const, path: '/b' }, as: 'function' as const, roles: ['r'] },
  { name: 'greet', file: 'a.js', on: ['*'], filter: {} },
  { name: 'stamp', file: 'a.js', beforeWrite: { collections: ['orders'] } },
  { name: 'later', file: 'a.js', job: true as const, timeoutMs: 5 },
];

function created(name: string, enabled = true, id = name) {
  const manifest = { name, functions: FUNCTIONS, secrets: ['KEY', 'toString'] };
  const bundle = { id, files: new Map([['a.js', 'export default 1']]) };
  const usable = { manifest, bundle, version: '1', readsUsers: false };
  return toPlugin(usable, { from: 'database', enabled, quarantined: ['greet'], secrets: { KEY: 'k', OTHER: 'o' } });
}

t.test('Functions are found by kind and by id.', async (t) => {
  const registry = new PluginRegistry((error) => t.fail(String(error)));
  t.strictSame(registry.ofKind('http'), []);
  const [a, off] = [created('a'), created('off', false)];
  registry.setPlugins([a, off]);
  t.same(
    registry.ofKind('http').map(({ id }) => id),
    ['a/get', 'a/act'],
  );
  t.same(registry.ofKind('cron'), []);
  t.match(registry.find('a/get'), { as: 'caller', timeoutMs: 10_000, roles: [], isQuarantined: false });
  t.match(registry.find('a/act'), { as: 'function', roles: ['r'] });
  t.match(registry.find('a/greet'), {
    as: 'function',
    options: { filter: null },
    timeoutMs: 60_000,
    isQuarantined: true,
  });
  t.match(registry.find('a/stamp'), {
    as: 'caller',
    options: { actions: ['create', 'update', 'delete'] },
    timeoutMs: 3_000,
  });
  t.match(registry.find('a/later'), { as: 'function', timeoutMs: 5 });
  t.equal(registry.find('off/get'), undefined, 'none of a disabled plugin');
  t.strictSame(a.secrets, { KEY: 'k' }, 'secrets that the manifest names and that are set');
  t.ok(Object.isFrozen(a) && Object.isFrozen(a.functions) && a.functions.every(Object.isFrozen));
  t.same(registry.plugins, [a, off]);
});

t.test('Listeners are notified once per change, and only of changes.', async (t) => {
  const errors: unknown[] = [];
  const registry = new PluginRegistry((error) => errors.push(error));
  let reported = 0;
  registry.onChange(() => {
    throw new Error('A listener that fails');
  });
  const end = registry.onChange(() => {
    reported += 1;
  });
  const a = created('a');
  registry.setPlugins([a]);
  const before = registry.ofKind('job');
  registry.setPlugins([a]);
  t.equal(reported, 1);
  t.equal(registry.ofKind('job'), before);
  registry.setPlugins([a, created('b')]);
  t.equal(reported, 2);
  registry.setPlugins([]);
  end();
  registry.setPlugins([a]);
  t.equal(reported, 3);
  t.equal(errors.length, 4, 'a failing listener does not block the others');
});

t.test('Three crashes in ten minutes exceed the limit.', async (t) => {
  const registry = new PluginRegistry(() => undefined);
  registry.setPlugins([created('a')]);
  let now = 0;
  const quarantined: string[] = [];
  const crashCounter = new CrashCounter({
    active: registry,
    quarantine: async (id, reason) => void quarantined.push(`${id}: ${reason}`),
    onError: (error) => t.fail(String(error)),
    now: () => now,
  });
  const crash = (id: string, bundle = 'a') =>
    crashCounter.add(
      {
        bundle: { id: bundle, files: new Map() },
        facts: { principal: {}, secrets: {}, run: { id: 'r', key: 'k', attempt: 1, function: id, version: '1' } },
      },
      'memory',
    );
  crash('a/get');
  crash('a/get');
  crash('a/act');
  now = 10 * 60_000;
  crash('a/get');
  t.strictSame(quarantined, [], 'the first two are too long ago');
  for (let n = 0; n < 9; n += 1) crash('a/get', 'draft');
  crash('gone/get');
  crash('a/get');
  t.strictSame(quarantined, [], 'calls of a draft are not calls of the function');
  crash('a/get');
  t.strictSame(quarantined, ['a/get: memory']);
});

t.test('A sandbox is created on first use, and again after a failure.', async (t) => {
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
