/**
 * Contexts that serve further calls: what a call may see of earlier ones, what it never sees, and when a context ends. Also that
 * nothing of an ended call has an effect.
 */
import type { Context, Isolate, Module, Reference } from 'isolated-vm';
import t from 'tap';
import { IsolateSandbox } from '../../../src/functions/sandbox/host/isolate-sandbox.ts';
import { BundleContext } from '../../../src/functions/sandbox/runner/bundle-context.ts';
import type { RunnerCall } from '../../../src/functions/sandbox/runner/runner-call.ts';
import type { HostOperation } from '../../../src/functions/sandbox/sandbox.ts';
import { type CallChanges, callOf, parsed, resultOf } from './calls.ts';

const sandbox = new IsolateSandbox({ onCrash: (call, reason) => t.fail(`${call.facts.run.function}: ${reason}`) });
t.teardown(() => sandbox.stop());

const user = (id: string): CallChanges => ({ principal: { kind: 'user', id } });

/** Counts the calls of its context, and shows what earlier ones left. */
const COUNTS = `let calls = 0;
export default async (input, ctx) => {
  calls += 1;
  const found = [calls, Array.prototype.left ?? null, globalThis.left ?? null];
  Array.prototype.left = globalThis.left = ctx.secrets.KEY ?? 'left';
  return found;
};`;
const FRESH = [1, null, null];

t.test('Calls of a function share the state of its modules unless it is isolated by call.', async (t) => {
  const calls = async (changes: CallChanges) => {
    const found: unknown[] = [];
    for (let n = 0; n < 3; n += 1) found.push(await resultOf(sandbox, COUNTS, changes));
    return found;
  };
  t.strictSame(await calls({}), [FRESH, [2, 'left', 'left'], [3, 'left', 'left']]);
  t.strictSame(await calls({ isolation: 'call' }), [FRESH, FRESH, FRESH]);
});

t.test('State never crosses plugins, groups or versions.', async (t) => {
  const group = (name: string): CallChanges => ({ fn: 'one/main', group: name });
  t.strictSame(await resultOf(sandbox, COUNTS, { ...group('one 1'), secrets: { KEY: 'old' } }), FRESH);
  t.strictSame(await resultOf(sandbox, COUNTS, { ...group('one 2'), secrets: { KEY: 'new' } }), FRESH, 'another group');
  t.strictSame(await resultOf(sandbox, COUNTS, { fn: 'two/main', group: 'two 1' }), FRESH, 'a plugin of equal files');
  t.strictSame(await resultOf(sandbox, COUNTS, { fn: 'one/main', group: null }), FRESH, 'a context of its own');
  t.strictSame(await resultOf(sandbox, `${COUNTS}\n`, group('one 1')), FRESH, 'another version');
  t.strictSame(await resultOf(sandbox, COUNTS, group('one 1')), [2, 'old', 'old'], 'its own are still there');
});

t.test('A poisoned prototype affects its own plugin only, and ends with its context.', async (t) => {
  const poison = `export default async (input, ctx) => {
    if (input === 'loop') for (;;);
    const found = [typeof Map.prototype.get, typeof [].map, JSON.stringify([1])];
    delete Map.prototype.get; delete Array.prototype.map;
    JSON.stringify = () => 'mine'; Promise.prototype.then = () => {}; Object.prototype.kind = 'error';
    return [...found, (await ctx.documents('a').get('1')).n];
  };`;
  const host = async () => '{"n":1}';
  const limits = { wallMs: 500, cpuMs: 100 };
  const call = (input: string) => resultOf(sandbox, poison, { fn: 'poison/main', host, input, limits });
  t.strictSame(await call('1'), ['function', 'function', '[1]', 1]);
  t.strictSame(await call('1'), ['undefined', 'undefined', 'mine', 1], 'the program around the code still works');
  const other = 'export default (_, ctx) => [typeof Map.prototype.get, [1].map(String), JSON.stringify({})];';
  t.strictSame(await resultOf(sandbox, other, { fn: 'good/main' }), ['function', ['1'], '{}']);
  t.match(await call('"loop"'), { code: 'function-timeout' });
  t.strictSame(await call('1'), ['function', 'function', '[1]', 1], 'the context has ended');
});

t.test('What an ended call left behind does nothing during a later call.', async (t) => {
  const code = `let kept = null; let fires = 0;
  export default async (input, ctx) => {
    if (kept === null) {
      kept = { ctx, log: console.log, resolve: null, results: [], timer: setTimeout(() => { fires += 1; }, 1) };
      new Promise((resolve) => { kept.resolve = resolve; }).then(async () => {
        kept.results.push('resumed');
        ctx.log.info('late');
        kept.log('console of the call in progress');
        kept.results.push(await ctx.documents('secrets').get('late').catch((error) => error.message));
        kept.results.push(await ctx.fetch('https://example.org').catch((error) => error.message));
      });
      setTimeout(() => ctx.documents('a').remove('late'), 1);
      return ctx.principal.id;
    }
    const timer = setTimeout(() => kept.results.push('own timer'), 1);
    clearTimeout(kept.timer);
    kept.resolve();
    await new Promise((done) => setTimeout(done, 5));
    const got = await ctx.documents('a').get('own');
    return [ctx.principal.id, kept.ctx.principal.id, got, fires, kept.results];
  };`;
  const asked: string[] = [];
  const lines: string[] = [];
  const first = await resultOf(sandbox, code, {
    ...{ ...user('ada'), onLog: ({ text }) => lines.push(`ada: ${text}`) },
    host: async (operation, argument) => {
      asked.push(`ada ${operation} ${argument}`);
      return 'null';
    },
  });
  t.equal(first, 'ada');
  const second = await resultOf(sandbox, code, {
    ...{ ...user('ben'), onLog: ({ text }) => lines.push(`ben: ${text}`) },
    host: async (operation: HostOperation, argument: string) => {
      asked.push(`ben ${operation} ${argument}`);
      return '{"n":1}';
    },
  });
  const ended = 'The call of this ctx has ended';
  t.strictSame(second, ['ben', 'ada', { n: 1 }, 0, ['resumed', ended, ended, 'own timer']]);
  t.strictSame(asked, ['ben documents.get {"collection":"a","id":"own"}']);
  t.strictSame(lines, ['ben: console of the call in progress']);
});

t.test('A context serves one call at a time: concurrent calls never see each other.', async (t) => {
  const code = `let busy = null;
  export default async (input, ctx) => {
    const before = busy;
    busy = ctx.principal.id;
    const got = await ctx.documents('a').get('1');
    console.log(ctx.principal.id);
    await new Promise((done) => setTimeout(done, 1));
    const after = busy;
    busy = null;
    return [before, after, got];
  };`;
  const calls = Array.from({ length: 60 }, async (_, index) => {
    const lines: string[] = [];
    const id = `u${index}`;
    const host = async () => JSON.stringify(id);
    const result = await resultOf(sandbox, code, { ...user(id), host, onLog: ({ text }) => lines.push(text) });
    t.strictSame([result, lines], [[null, id, id], [id]]);
  });
  await Promise.all(calls);
});

t.test(
  'A context ends after an error that leaves its state unclear, and goes on after an error of its handler.',
  async (t) => {
    const code = `let calls = 0;
  export default async (input, ctx) => {
    calls += 1;
    if (input === 'throw') throw new Error('no');
    if (input === 'rejection') { Promise.reject(new Error('unhandled')); await ctx.documents('a').get('1'); }
    if (input === 'timer') { setTimeout(() => { throw new Error('late'); }, 0); await new Promise((d) => setTimeout(d, 5)); }
    if (input === 'wait') await new Promise(() => {});
    if (input === 'bytes') new Uint8Array(2 ** 29);
    return calls;
  };`;
    const call = async (input: string) => {
      const limits = input === 'wait' ? { wallMs: 50 } : {};
      const outcome = await sandbox.call(callOf(code, { fn: 'errors/main', input: JSON.stringify(input), limits }));
      return outcome.kind === 'error' ? outcome.code : parsed(outcome);
    };
    t.strictSame([await call('throw'), await call('')], ['function-failed', 2]);
    t.strictSame([await call('rejection'), await call('')], [3, 1]);
    t.strictSame([await call('timer'), await call('')], [2, 1]);
    t.strictSame([await call('wait'), await call('')], ['function-timeout', 1]);
    t.strictSame([await call('bytes'), await call('')], ['function-out-of-memory', 1]);
    const top = 'if (Math.random() < 2) throw new Error("top"); export default () => 1;';
    for (let n = 0; n < 2; n += 1) t.match(await resultOf(sandbox, top), { code: 'function-failed', message: 'top' });
  },
);

t.test('What calls leave in memory never takes from the guaranteed memory of a later one.', async (t) => {
  const code = `const kept = [];
  export default (mb) => { kept.push(Array.from({ length: mb }, () => Array(131_072).fill(kept.length + 0.5))); return kept.length; };`;
  const seen: unknown[] = [];
  for (let n = 0; n < 12; n += 1) seen.push(await resultOf(sandbox, code, { fn: 'leak/main', input: '20' }));
  t.ok(
    seen.every((count) => typeof count === 'number'),
    JSON.stringify(seen),
  );
  t.ok(seen.lastIndexOf(1) > 0, 'its context was replaced');
});

t.test('A context ends after 10,000 calls, or 10 minutes.', async (t) => {
  const entered: unknown[] = [];
  const create = () =>
    new BundleContext({
      ...{ file: 'main.ts', isolate: {} as Isolate, context: {} as Context, graph: new Map() },
      root: { evaluate: async () => undefined, namespace: { derefInto: () => null } } as unknown as Module,
      enter: { apply: async (_: unknown, given: unknown[]) => entered.push(given[1]) } as unknown as Reference,
      owner: { call: null, number: 0 },
    });
  const call = { job: () => '{}', input: 'null' } as RunnerCall;
  const context = create();
  for (let n = 0; n < 10_000; n += 1) {
    if (!context.mayServe) t.fail(`it ends before call ${n + 1}`);
    await context.begin(call);
  }
  t.equal(entered.length, 10_000);
  t.notOk(context.mayServe);
  const other = create();
  const { now } = performance;
  t.teardown(() => {
    performance.now = now;
  });
  performance.now = () => now.call(performance) + 599_000;
  t.ok(other.mayServe);
  performance.now = () => now.call(performance) + 601_000;
  t.notOk(other.mayServe);
});

t.test('A rejection that a throwing task leaves behind fails neither the runner nor other calls.', async (t) => {
  const waits = `export default async (input, ctx) => { await ctx.documents('a').get('1'); return 'ok'; };`;
  const { promise, resolve } = Promise.withResolvers<string>();
  const waiting = resultOf(sandbox, waits, { fn: 'waits/main', host: () => promise });
  const inTimer = `export default async () => {
    let done; const over = new Promise((resolve) => { done = resolve; });
    setTimeout(() => { done(); Promise.reject(new Error('left')); throw new Error('thrown'); }, 0);
    await over; return 1;
  };`;
  const inGetter = `export default async () => {
    Promise.reject({ get message() { globalThis.kept = Promise.reject({ get message() { return 'second'; } }); return 'first'; } });
    return 1;
  };`;
  const endless = `export default async () => {
    const next = () => Promise.reject({ get message() { next(); return 'again'; } });
    next(); throw new Error('thrown');
  };`;
  await resultOf(sandbox, waits, { fn: 'before/main' });
  const { pid } = sandbox;
  for (const [index, code] of [inTimer, inGetter, endless].entries())
    await resultOf(sandbox, code, { fn: `left${index}/main` });
  t.equal(sandbox.pid, pid, 'the process still runs');
  resolve('null');
  t.equal(await waiting, 'ok');
});

t.test('A call that ends with an open operation leaves its context to no other call.', async (t) => {
  const keeps = `let config = null;
  export default async (input, ctx) => {
    config ??= ctx.documents('config').get('1');
    // The response arrives while this still runs.
    if (input === 'bad') for (const end = Date.now() + 50; Date.now() < end; );
    if (input === 'bad') throw new Error('not valid');
    await config; return 'fine';
  };`;
  t.match(await resultOf(sandbox, keeps, { fn: 'keeps/main', input: '"bad"' }), { kind: 'error' });
  t.equal(await resultOf(sandbox, keeps, { fn: 'keeps/main' }), 'fine');
});

t.test('What one call puts on prototypes changes no options of operations and responses of a later one.', async (t) => {
  const merges = `const merge = (to, from) => {
    for (const key of Object.keys(from)) {
      if (typeof from[key] === 'object') merge((to[key] ??= {}), from[key]); else to[key] = from[key];
    }
    return to;
  };
  export default async (input, ctx) => {
    merge({}, input);
    await ctx.documents('orders').list();
    await ctx.documents('orders').remove('1', {});
    await ctx.fetch('https://api.example.com/');
    return new Response('hi');
  };`;
  const asked: unknown[] = [];
  const host = async (operation: HostOperation, argument: string) => {
    asked.push([operation, JSON.parse(argument)]);
    return operation === 'fetch' ? '{"status":200,"headers":{},"base64":""}' : '{"items":[]}';
  };
  const evil =
    '{"__proto__":{"filter":{"owner":"eve"},"ifMatch":"x","status":307,"method":"DELETE","headers":{"location":"/"}}}';
  await resultOf(sandbox, merges, { fn: 'merges/main', host, input: evil });
  asked.length = 0;
  const response = await resultOf(sandbox, merges, { fn: 'merges/main', host, input: '{}' });
  t.match(response, { kind: 'response', response: { status: 200 } });
  t.notOk(JSON.stringify(response).includes('location'));
  t.notMatch(JSON.stringify(asked), /eve|ifMatch|DELETE|location/);
});
