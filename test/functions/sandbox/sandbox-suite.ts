/** The suite that every sandbox implementation must pass. */
import type t from 'tap';
import type { PluginIsolation } from '../../../src/functions/plugins/manifest/manifest.ts';
import type { HostOperation, LogLine, Sandbox, SandboxEvents } from '../../../src/functions/sandbox/sandbox.ts';
import { MillraceError } from '../../../src/lib/errors.ts';
import { bundleOf, type CallChanges, callOf, parsed, resultOf } from './calls.ts';

type Test = Pick<typeof t, 'test' | 'teardown' | 'fail'>;

/** Runs the suite on the sandboxes that `make` creates. */
export async function sandboxSuite(
  t: Test,
  isolation: PluginIsolation,
  make: (events: SandboxEvents) => Sandbox,
): Promise<void> {
  const sandbox = make({ onCrash: (call, reason) => t.fail(`strike of ${call.facts.run.function}: ${reason}`) });
  t.teardown(() => sandbox.stop());
  const run = (code: string, changes: CallChanges = {}) => sandbox.call(callOf(code, { isolation, ...changes }));
  const value = (code: string, changes: CallChanges = {}) => resultOf(sandbox, code, { isolation, ...changes });

  await t.test('The sandbox passes input and result as JSON.', async (t) => {
    const echo = 'export default async (input) => input;';
    const input = { a: [1, 'ä€😀', null, { b: true }], __proto__: null, n: 1e21 };
    t.strictSame(await value(echo, { input: JSON.stringify(input) }), JSON.parse(JSON.stringify(input)));
    t.equal(await value('export default () => 7'), 7);
    t.equal(await value('export default () => ({ toJSON: () => "own" })'), 'own');
    t.equal(await value('export default async () => undefined', { kind: 'cron' }), null);
    const bare = await run('export default () => {}');
    t.match(bare, { kind: 'response', response: { status: 204, body: null } });
  });

  await t.test('The sandbox returns the Response of an HTTP function.', async (t) => {
    const json = await run('export default () => Response.json({ a: 1 }, { status: 201, headers: { "X-Own": "b" } });');
    t.match(json, { kind: 'response', response: { status: 201, body: '{"a":1}' } });
    const headers = json.kind === 'response' ? { ...json.response.headers } : {};
    t.strictSame(headers, { 'x-own': 'b', 'content-type': 'application/json; charset=utf-8' });
    const text = await run('export default () => new Response("hi", { headers: [["content-type", "text/html"]] });');
    t.match(text, { response: { status: 200, headers: { 'content-type': 'text/html' }, body: 'hi' } });
    t.match(await run('export default () => new Response(null, { status: 304 });'), { response: { body: null } });
    t.match(await run('export default () => new Response("x", { status: 99 });'), { code: 'function-failed' });
  });

  await t.test('A Response has the bytes of its body, whatever their type.', async (t) => {
    const bytes = '[0, 255, 1, 128]';
    for (const body of [
      `new Uint8Array(${bytes})`,
      `new Uint8Array(${bytes}).buffer`,
      `new DataView(new Uint8Array([9, ${bytes.slice(1)}).buffer, 1)`,
      `new Uint8Array([9, ${bytes.slice(1, -1)}, 9]).subarray(1, 5)`,
      `new Uint16Array([0xff00, 0x8001])`,
      `new Blob([new Uint8Array([0, 255]), new Blob([new Uint8Array([1])]), new Uint8Array([128]).buffer])`,
      `new Blob([new Uint8Array([9, ${bytes.slice(1)})]).slice(1)`,
      `(async function* () { yield new Uint8Array([0]); yield new Uint8Array([255, 1, 128]); })()`,
      `(function* () { yield new Uint8Array([0, 255]); yield new Uint8Array([1, 128]); })()`,
      `new ReadableStream({ start(c) { c.enqueue(new Uint8Array(${bytes})); c.close(); } })`,
      `new ReadableStream({ n: 0, pull(c) { if (this.n === 4) c.close(); else c.enqueue(new Uint8Array([${bytes}[this.n++]])); } })`,
      `new ReadableStream({ start(c) { setTimeout(() => { c.enqueue(new Uint8Array(${bytes})); c.close(); }, 1); } })`,
      `new Blob([new Uint8Array(${bytes})]).stream()`,
    ]) {
      const found = await run(`export default () => new Response(${body}, { status: 201 });`);
      const response = { status: 201, headers: {}, body: 'AP8BgA==', base64: true };
      t.same(found.kind === 'response' ? found.response : found, response, body);
    }
    const typed = await run('export default () => new Response(new Blob(["hé"], { type: "Text/CSV" }));');
    t.match(typed, { response: { headers: { 'content-type': 'text/csv' }, body: 'aMOp', base64: true } });
    const changed = 'const b = new Uint8Array([1]); const r = new Response(b); b[0] = 2;';
    t.match(await run(`export default () => { ${changed} return r; }`), { response: { body: 'AQ==' } }, 'as they were');
    t.match(await run('export default () => new Response(7);'), { response: { body: '7' } });
    const most = 'export default () => new Response(new Uint8Array(5 * 1_048_576));';
    t.match(await run(most), { response: { base64: true } });
    for (const body of [
      '{ a: 1 }',
      'new Uint8Array(5 * 1_048_576 + 1)',
      '(async function* () { for (;;) yield new Uint8Array(1_048_576); })()',
      '(async function* () { yield { a: 1 }; })()',
      '(async function* () { throw new Error("no"); })()',
      'new ReadableStream({ start(c) { c.error(new Error("no")); } })',
    ]) {
      t.match(await run(`export default () => new Response(${body});`), { code: 'function-failed' }, body);
    }
    const kept = 'const blob = new Blob(["a", new Uint8Array([98])]); return [blob.size, await blob.text(), blob.type]';
    t.same(await value(`export default async () => { ${kept} }`), [2, 'ab', '']);
  });

  await t.test('The sandbox links the files of a bundle, including import cycles.', async (t) => {
    const bundle = bundleOf({
      'main.ts': 'import { twice } from "./lib/math.ts";\nexport default (n) => twice(n);',
      'lib/math.ts': 'import { base } from "../base.ts";\nexport const twice = (n) => 2 * n + base();',
      'base.ts':
        'import * as math from "./lib/math.ts";\nexport const base = () => typeof math.twice === "function" ? 1 : 0;',
      'other.ts': 'export default () => "other";',
    });
    t.equal(parsed(await run('', { bundle, input: '20' })), 41);
    t.equal(parsed(await run('', { bundle, file: 'other.ts' })), 'other');
  });

  await t.test('The sandbox calls the host of its own call.', async (t) => {
    const requested: [HostOperation, unknown][] = [];
    const host = async (operation: HostOperation, argument: string) => {
      requested.push([operation, JSON.parse(argument)]);
      return operation === 'documents.list' ? '{"items":[{"id":"1"}],"next":null}' : '{"id":"2"}';
    };
    const code = `export default async (input, ctx) => {
      const orders = ctx.documents('orders');
      const { items } = await orders.list({ filter: { total: { $gt: 1 } }, sort: ['-total', 'id'], limit: 5 });
      const made = await orders.create({ of: items[0].id });
      await orders.patch('2', { a: null }, { ifMatch: '"1"' });
      await orders.remove('2');
      await ctx.schedule('later', { n: 1 }, { after: 5000 });
      return [items.length, made.id];
    };`;
    t.strictSame(await value(code, { host }), [1, '2']);
    t.strictSame(requested, [
      ['documents.list', { collection: 'orders', filter: { total: { $gt: 1 } }, sort: '-total,id', limit: 5 }],
      ['documents.create', { collection: 'orders', document: { of: '1' } }],
      ['documents.patch', { collection: 'orders', id: '2', changes: { a: null }, ifMatch: '"1"' }],
      ['documents.remove', { collection: 'orders', id: '2' }],
      ['schedule', { name: 'later', input: { n: 1 }, after: 5000 }],
    ]);
  });

  await t.test('The sandbox passes bytes both ways.', async (t) => {
    const bytes = Buffer.from([0, 255, 128, 10, 65, 66]);
    const requested: unknown[] = [];
    const host = async (operation: HostOperation, argument: string) => {
      requested.push(JSON.parse(argument));
      if (operation === 'files.bytes') return JSON.stringify(bytes.toString('base64'));
      const base64 = Buffer.from('{"ok":"ä"}').toString('base64');
      return operation === 'fetch' ? JSON.stringify({ status: 200, headers: { etag: 'x' }, base64 }) : '{"id":"f"}';
    };
    const code = `export default async (input, ctx) => {
      const bytes = await ctx.files.bytes('1');
      await ctx.files.create({ name: 'a.bin', type: 'x/y', body: bytes.slice(1, 3) });
      const answer = await ctx.fetch('https://api.example.com/', { method: 'POST', body: 'text', headers: { A: 1 } });
      return [[...bytes], answer.status, answer.headers.etag, await answer.json(), await answer.text()];
    };`;
    t.strictSame(await value(code, { host }), [[...bytes], 200, 'x', { ok: 'ä' }, '{"ok":"ä"}']);
    t.strictSame(requested.slice(1), [
      { name: 'a.bin', type: 'x/y', base64: '/4A=' },
      { url: 'https://api.example.com/', method: 'POST', headers: { a: '1' }, text: 'text' },
    ]);
  });

  await t.test('Errors of the host appear as MillraceError; other errors reveal nothing.', async (t) => {
    const code = `export default async (input, ctx) => {
      try { await ctx.documents('a').get('1'); } catch (error) {
        return [error instanceof MillraceError, error.name, error.code, error.status, error.message, error.details];
      }
    };`;
    const refusing = async () => {
      throw new MillraceError('forbidden', 'Not this one', { hint: 'Ask', issues: [] });
    };
    t.strictSame(await value(code, { host: refusing }), [
      true,
      'MillraceError',
      'forbidden',
      403,
      'Not this one',
      { hint: 'Ask' },
    ]);
    const broken = async () => {
      throw new TypeError('the password is 1234');
    };
    t.match(await value(code, { host: broken }), [
      true,
      'MillraceError',
      'internal',
      500,
      'An unexpected error occurred',
    ]);
  });

  await t.test('A call knows its caller, run and secrets.', async (t) => {
    const code = 'export default (input, ctx) => [ctx.principal, ctx.run, ctx.secrets.KEY, Object.isFrozen(ctx)];';
    const principal = { kind: 'key', id: 'k1', roles: ['a'], claims: {} };
    t.strictSame(await value(code, { principal, secrets: { KEY: 's3cret' } }), [
      principal,
      { id: 'run_1', key: 'key_1', attempt: 1, function: 'shop/main', version: '1' },
      's3cret',
      true,
    ]);
  });

  await t.test('Logs arrive in bounded lines.', async (t) => {
    const lines: LogLine[] = [];
    const code = `export default (input, ctx) => {
      console.log('a', { b: 1 }, 2n); console.warn(new TypeError('w')); ctx.log.error('e');
      for (let i = 0; i < 1000; i++) console.log('x'.repeat(100));
      return 1;
    };`;
    t.equal(await value(code, { onLog: (line) => lines.push(line) }), 1);
    t.strictSame(
      lines.slice(0, 3).map(({ level, text }) => [level, text.split('\n')[0]]),
      [
        ['info', 'a {"b":1} 2'],
        ['warn', 'TypeError: w'],
        ['error', 'e'],
      ],
    );
    t.equal(lines.length, 200);
    await value('export default () => { console.log("y".repeat(1e6)); }', { onLog: (line) => lines.push(line) });
    t.equal(lines.at(-1)?.text.length, 65_536);
  });

  await t.test('A write hook is called once for each element, in order.', async (t) => {
    const code = `export default async (input) => {
      globalThis.seen = input.a === 1 ? 1 : globalThis.seen + 1;
      if (input.bad) throw new Refusal('Not so', { code: 'bad', pointer: '/bad' });
      return input.keep ? undefined : { ...input, seen: globalThis.seen };
    };`;
    const before = (input: unknown) => run(code, { kind: 'beforeWrite', input: JSON.stringify(input) });
    t.strictSame(parsed(await before([{ a: 1 }, { keep: true }, {}])), [{ a: 1, seen: 1 }, null, { seen: 3 }]);
    const refused = { kind: 'refusal', message: 'Not so', code: 'bad', pointer: '/bad', index: 1 };
    t.match(await before([{}, { bad: true }, {}]), refused);
    t.match(await run('export default () => { throw new Refusal("x"); }'), { kind: 'error', code: 'function-failed' });
  });

  await t.test('An error has the location in the code.', async (t) => {
    const bundle = bundleOf({
      'main.ts': 'import { fail } from "./lib/fail.ts";\n\nexport default async () => {\n  fail();\n};',
      'lib/fail.ts': 'export function fail() {\n  throw new TypeError("no total");\n}',
    });
    const outcome = await run('', { bundle });
    t.match(outcome, { kind: 'error', code: 'function-failed', message: 'TypeError: no total' });
    const stack = outcome.kind === 'error' ? (outcome.stack ?? '') : '';
    t.match(stack, /lib\/fail\.ts:2:9[\s\S]*main\.ts:4:3/);
    t.notMatch(stack, /millrace|node:|file:|isolated/);
    const top = await run('const none = null;\nnone.member;\nexport default 1;');
    t.match(top, { code: 'function-failed', message: /Cannot read properties of null/, stack: /main\.ts:2:\d+/ });
    t.match(await run('export const a = 1; export default 5;'), { message: /default export is not a function/ });
    const refused = await run(
      'export default async (_, ctx) => {\n  const a = ctx.documents("a");\n  await a.list();\n}',
      {
        host: async () => {
          throw new MillraceError('forbidden', 'Not this one');
        },
      },
    );
    t.match(refused, { message: /Not this one/, stack: /main\.ts:3:\d+/ }, 'a rejected operation has its line');
    t.match(await run('export default () => { throw "text"; }'), { message: 'text', stack: null });
  });

  await t.test('Bundles are checked without running them.', async (t) => {
    const issues = await sandbox.check(
      bundleOf({
        'a.ts': 'export default () => {\n  let x = ;\n};',
        'b.ts': '\nimport x from "lodash";\nexport default x;',
        'c.ts': 'import x from "node:fs";\nexport default x;',
        'd.ts': 'import { x } from "./none.ts";\nexport default x;',
      }),
      ['a.ts', 'b.ts', 'gone.ts'],
    );
    t.strictSame(
      issues.map(({ file, line, column }) => [file, line, column]),
      [
        ['a.ts', 2, 11],
        ['b.ts', 2, 15],
        ['c.ts', 1, 15],
        ['d.ts', 1, 19],
        ['gone.ts', null, null],
      ],
    );
    const exports = bundleOf({
      'none.ts': 'export const a = 1;',
      'wrong.ts': 'import { b } from "./none.ts";\nexport default b;',
      'good.ts': 'import { a } from "./none.ts";\nthrow new Error("run");\nexport default a;',
    });
    t.match(await sandbox.check(exports, ['none.ts', 'good.ts', 'wrong.ts']), [
      { file: 'none.ts', message: 'The file has no default export' },
      { file: 'wrong.ts', line: 1, message: /does not provide an export named 'b'/ },
    ]);
    t.strictSame(await sandbox.check(exports, ['good.ts']), []);
  });

  await t.test('Stopping the sandbox ends its calls.', async (t) => {
    const other = make({ onCrash: () => t.fail('strike') });
    const requested = Promise.withResolvers<void>();
    const waiting = other.call(
      callOf('export default async (input, ctx) => await ctx.documents("a").get("1");', {
        host: () => {
          requested.resolve();
          return new Promise(() => undefined);
        },
      }),
    );
    await requested.promise;
    await other.stop();
    t.match(await waiting, { kind: 'error', code: 'function-runtime-restarted' });
    t.match(await other.call(callOf('export default () => 1;')), { code: 'function-runtime-restarted' });
  });
}
