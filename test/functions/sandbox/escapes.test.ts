/**
 * Escape attempts from the sandbox: none reaches Node, the environment, files, another plugin's secret, or remains of an earlier
 * call.
 */
import t from 'tap';
import { IsolateSandbox } from '../../../src/functions/sandbox/host/isolate-sandbox.ts';
import type { HostOperation } from '../../../src/functions/sandbox/sandbox.ts';
import { MillraceError } from '../../../src/lib/errors.ts';
import { callOf, ISOLATIONS, parsed, resultOf } from './calls.ts';
import { ESCAPES } from './escape-attempts.ts';
import { IN_ENVIRONMENT, reportsNothing, SECRET } from './escape-checks.ts';

t.test('Attempts to escape from the sandbox fail.', async (t) => {
  process.env['MILLRACE_TEST_OF_ESCAPES'] = IN_ENVIRONMENT;
  const sandbox = new IsolateSandbox({ onCrash: () => t.fail('strike') });
  t.teardown(() => sandbox.stop());
  const requested: unknown[] = [];
  const host = async (operation: HostOperation, argument: string) => {
    requested.push([operation, JSON.parse(argument)]);
    if (argument.includes('fail')) throw new MillraceError('forbidden', 'No');
    return '{"id":"1"}';
  };
  const limits = { wallMs: 5_000 };
  // Another plugin has run in the same runner, with a secret.
  await resultOf(
    sandbox,
    'globalThis.kept = 1; export default (i, ctx) => { globalThis.secret = ctx.secrets.OTHER; };',
    {
      fn: 'other/main',
      secrets: { OTHER: SECRET },
    },
  );
  const lines: string[] = [];
  for (const [name, code] of Object.entries(ESCAPES)) {
    // Twice in a reused context: the second attempt begins with what the first one has changed.
    for (const isolation of ['plugin', ...ISOLATIONS] as const) {
      await t.test(`${name}, isolated by ${isolation}`, async (t) => {
        const onLog = ({ text }: { readonly text: string }) => lines.push(text);
        const call = callOf(code, { host, limits, secrets: { OWN: 'mine' }, onLog, isolation });
        const outcome = await sandbox.call(call);
        reportsNothing(t, JSON.stringify(outcome) + lines.join('\n'));
        t.not(outcome.kind === 'error' ? outcome.code : '', 'function-runtime-restarted');
        t.equal(({} as { polluted?: string }).polluted, undefined, 'nothing is polluted here');
      });
    }
  }
  t.ok(
    requested.every((each) => Array.isArray(each) && /^(documents\.get|hmac)$/.test(each[0])),
    'no other host operation was called',
  );
});

t.test('nothing of a call is visible to the next one where each has its own context', async (t) => {
  const sandbox = new IsolateSandbox({ onCrash: () => t.fail('strike') });
  t.teardown(() => sandbox.stop());
  const code = `
    let calls = 0;
    export default async (input, ctx) => {
      calls += 1;
      const found = [calls, globalThis.left, Array.prototype.left, Symbol.for('left').left, RegExp.$1, typeof later];
      globalThis.left = ctx.principal.id; Array.prototype.left = ctx.principal.id; Object.prototype.later = 1;
      /(.*)/.test(ctx.principal.id); JSON.parse = () => ctx.principal.id;
      Promise.resolve().then(() => { globalThis.later = ctx.principal.id; });
      setTimeout(() => { globalThis.later = ctx.principal.id; }, 5);
      return found;
    };`;
  for (const id of ['ada', 'ben', 'ada', 'eve']) {
    const found = await resultOf(sandbox, code, { principal: { kind: 'user', id }, isolation: 'call' });
    t.strictSame(found, [1, null, null, null, '', 'undefined'], id);
  }
  const together = await Promise.all(
    Array.from({ length: 20 }, (_, index) =>
      resultOf(sandbox, code, { principal: { kind: 'user', id: `u${index}` }, isolation: 'call' }),
    ),
  );
  for (const found of together) t.strictSame(found, [1, null, null, null, '', 'undefined']);
});

t.test('a call gets the results of its own host', async (t) => {
  const sandbox = new IsolateSandbox({ onCrash: () => t.fail('strike') });
  t.teardown(() => sandbox.stop());
  const code = `export default async (input, ctx) => {
    const got = await Promise.all([1, 2, 3].map((n) => ctx.documents('a').get(String(n))));
    return [ctx.principal.id, ...got];
  };`;
  const calls = Array.from({ length: 50 }, (_, index) => {
    const host = async (_: HostOperation, argument: string) => JSON.stringify(`${index}:${JSON.parse(argument).id}`);
    const isolation = ISOLATIONS[index % 2] ?? 'call';
    const principal = { kind: 'user', id: `u${index}` };
    return sandbox.call(callOf(code, { host, fn: `p${index % 3}/main`, principal, isolation }));
  });
  for (const [index, outcome] of (await Promise.all(calls)).entries()) {
    t.strictSame(parsed(outcome), [`u${index}`, `${index}:1`, `${index}:2`, `${index}:3`]);
  }
});
