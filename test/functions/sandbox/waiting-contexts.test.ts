/** Guarantees of a call whose context was created in advance, as those of plugins with isolation by call are. */
import { readFileSync } from 'node:fs';
import t from 'tap';
import { IsolateSandbox } from '../../../src/functions/sandbox/host/isolate-sandbox.ts';
import { until } from '../../helpers/until.ts';
import { bundleOf, type CallChanges, callOf, ISOLATIONS, parsed, resultOf } from './calls.ts';

/** More than the contexts of one isolate, so that another one takes over meanwhile. */
const MANY = 120;
/** Memory of a runner while many plugins leave much behind: it is ended at 768. */
const MOST_MB = 600;

/** Reports traces of other calls, and leaves marks everywhere it can. */
const MARKS = `const found = [globalThis.mark, [].mark, (() => 1).mark, ({}).mark, Response.mark, console.mark, typeof Map.prototype.get];
globalThis.mark = Array.prototype.mark = Function.prototype.mark = Object.prototype.mark = 'mine';
let calls = 0;
export default () => {
  calls += 1;
  delete Map.prototype.get;
  return [...found.map((each) => each ?? null), calls];
};`;

t.test('Prepared contexts are clean and within limits.', async (t) => {
  const sandbox = new IsolateSandbox({ onCrash: (call, reason) => t.fail(`${call.facts.run.function}: ${reason}`) });
  t.teardown(() => sandbox.stop());

  const own: CallChanges = { isolation: 'call' };

  await t.test('a call sees nothing of earlier calls, whenever its context was created', async (t) => {
    const fresh = [null, null, null, null, null, null, 'function', 1];
    for (let n = 0; n < MANY; n += 1) t.strictSame(await resultOf(sandbox, MARKS, own), fresh);
    t.strictSame(
      await Promise.all(Array.from({ length: 10 }, () => resultOf(sandbox, MARKS, own))),
      Array(10).fill(fresh),
    );
  });

  await t.test('No code runs before its call, and its log belongs to the call.', async (t) => {
    const code = 'console.log("evaluated"); export default (n) => { console.log(n); };';
    for (let n = 0; n < 6; n += 1) {
      const lines: string[] = [];
      await sandbox.call(callOf(code, { ...own, input: `${n}`, onLog: ({ text }) => lines.push(text) }));
      t.strictSame(lines, ['evaluated', `${n}`]);
    }
  });

  await t.test('Principal, secrets and version are those of the call.', async (t) => {
    const code = 'export default (n, ctx) => [ctx.principal.id, ctx.secrets.KEY ?? null];';
    for (const [id, secrets] of [
      ['ada', { KEY: 'old' }],
      ['bob', { KEY: 'new' }],
      ['eve', {}],
    ] as const) {
      const changes = { ...own, principal: { kind: 'user', id }, secrets };
      t.strictSame(await resultOf(sandbox, code, changes), [id, 'KEY' in secrets ? secrets.KEY : null]);
    }
    const versions = [1, 2].map((n) => bundleOf({ 'main.ts': `export default () => ${n};` }));
    for (const [index, bundle] of [...versions, ...versions].entries()) {
      t.equal(parsed(await sandbox.call(callOf('', { ...own, bundle }))), (index % 2) + 1);
    }
  });

  await t.test('Random values of two calls differ.', async (t) => {
    const created = new Set<unknown>();
    const code =
      'const top = crypto.randomUUID(); let n = 0; export default () => (n++ === 0 ? top : crypto.randomUUID());';
    for (let n = 0; n < 20; n += 1)
      for (const isolation of ISOLATIONS) created.add(await resultOf(sandbox, code, { isolation }));
    t.equal(created.size, 40);
  });

  await t.test('Limits count from the call, not from the creation of its context.', async (t) => {
    const code = 'export default (n) => new Promise((done) => setTimeout(() => done(n), 10));';
    const limits = { wallMs: 1_000, cpuMs: 100 };
    t.equal(await resultOf(sandbox, code, { ...own, input: '1', limits }), 1);
    const since = performance.now();
    await until(() => performance.now() - since > 1.2 * limits.wallMs, 'its context is older than a call may be');
    const outcome = await sandbox.call(callOf(code, { ...own, input: '2', limits }));
    t.equal(parsed(outcome), 2);
    t.ok(outcome.cpuMs < limits.cpuMs, `${outcome.cpuMs} ms of CPU`);
  });

  await t.test('Prepared contexts leave a call its whole memory limit.', async (t) => {
    const code =
      'export default (mb) => { globalThis.held = Array.from({ length: mb }, () => Array(131_072).fill(1.5)); return held.length; };';
    for (let n = 0; n < 40; n += 1) t.equal(await resultOf(sandbox, code, { ...own, input: '0' }), 0);
    for (let n = 0; n < 8; n += 1) t.equal(await resultOf(sandbox, code, { ...own, input: '20' }), 20, '20 MB of 64');
  });

  await t.test('the remains of many plugins do not add up', async (t) => {
    if (process.platform !== 'linux') return t.comment('only Linux shows how much a runner holds');
    let most = 0;
    for (let plugin = 0; plugin < 50; plugin += 1) {
      const code = `globalThis.kept = Array(131_072).fill(1.5); export default () => ${plugin};`;
      const isolation = ISOLATIONS[plugin % 2] ?? 'call';
      const calls = Array.from({ length: 24 }, () => resultOf(sandbox, code, { fn: `p${plugin}/main`, isolation }));
      t.strictSame(await Promise.all(calls), Array(24).fill(plugin));
      most = Math.max(most, Number(readFileSync(`/proc/${sandbox.pid}/statm`, 'utf8').split(' ')[1]) / 256);
    }
    t.ok(most < MOST_MB, `the runner held ${Math.round(most)} MB at most`);
  });
});
