/**
 * The life of the runner: begun when it is needed, begun again after it was killed, ended when nothing calls, and with it the server.
 * Also what it may hold, and that a runner that lies harms nobody. Not here: what code can do in it (hostile.test.ts, escapes.test.ts).
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import t from 'tap';
import { IsolateSandbox } from '../../../src/functions/sandbox/host/isolate-sandbox.ts';
import { encodeFrame, FrameReader } from '../../../src/functions/sandbox/wire/frames.ts';
import { readRunnerMessage } from '../../../src/functions/sandbox/wire/messages.ts';
import { until } from '../../helpers/until.ts';
import { callOf, parsed, resultOf } from './calls.ts';

const MAX_RSS_MB = 400;

t.test('calls under way end when the runner is killed, and the next ones are answered', async (t) => {
  const strikes: string[] = [];
  const sandbox = new IsolateSandbox({ onStrike: (call) => strikes.push(call.facts.run.function) }, { backOffMs: 1 });
  t.teardown(() => sandbox.stop());
  t.equal(sandbox.pid, null, 'no runner before the first call');
  for (let round = 0; round < 3; round += 1) {
    const asked = Promise.withResolvers<void>();
    const host = () => {
      asked.resolve();
      return new Promise<string>(() => undefined);
    };
    const waiting = sandbox.call(callOf('export default (i, ctx) => ctx.documents("a").get("1");', { host }));
    await asked.promise;
    const { pid } = sandbox;
    process.kill(pid ?? 0, 'SIGKILL');
    t.match(await waiting, { kind: 'fault', code: 'function-runtime-restarted' });
    t.equal(await resultOf(sandbox, 'export default () => 1;'), 1);
    t.not(sandbox.pid, pid);
  }
  t.strictSame(strikes, ['shop/main', 'shop/main', 'shop/main']);
});

t.test('a runner that ends again and again is begun after a pause', async (t) => {
  const sandbox = new IsolateSandbox({ onStrike: () => undefined }, { backOffMs: 300 });
  t.teardown(() => sandbox.stop());
  const times: number[] = [];
  for (let round = 0; round < 6; round += 1) {
    const started = performance.now();
    t.equal(await resultOf(sandbox, 'export default () => 1;'), 1);
    times.push(performance.now() - started);
    const { pid } = sandbox;
    process.kill(pid ?? 0, 'SIGKILL');
    await until(() => sandbox.pid === null, 'the runner has ended');
  }
  t.ok((times[5] ?? 0) >= 600, `the sixth start waits: ${times.map(Math.round)}`);
});

t.test('a runner that nobody calls ends', async (t) => {
  const sandbox = new IsolateSandbox({ onStrike: () => t.fail('strike') }, { idleMs: 50 });
  t.teardown(() => sandbox.stop());
  t.equal(await resultOf(sandbox, 'export default () => 1;'), 1);
  const pid = sandbox.pid ?? 0;
  await until(() => sandbox.pid === null, 'the runner has ended');
  await until(() => isGone(pid), 'its process is gone');
  t.equal(await resultOf(sandbox, 'export default () => 2;'), 2, 'and begins again');
});

t.test('the runner ends with a server that was killed', async (t) => {
  const program = fileURLToPath(new URL('doomed-server.ts', import.meta.url));
  const server = spawn(process.execPath, [program], { stdio: ['ignore', 'pipe', 'inherit'] });
  const [line] = await once(server.stdout, 'data');
  const pid = Number(String(line));
  t.notOk(isGone(pid), `${pid} runs`);
  server.kill('SIGKILL');
  await until(() => isGone(pid), 'its process is gone');
});

t.test('the runner has no environment, and is the first to go when memory runs out', async (t) => {
  if (process.platform !== 'linux') return t.comment('only Linux shows that');
  const sandbox = new IsolateSandbox({ onStrike: () => t.fail('strike') });
  t.teardown(() => sandbox.stop());
  await resultOf(sandbox, 'export default () => 1;');
  t.equal(readFileSync(`/proc/${sandbox.pid}/environ`, 'utf8'), '');
  t.equal(readFileSync(`/proc/${sandbox.pid}/oom_score_adj`, 'utf8').trim(), '1000');
  t.match(readFileSync(`/proc/${sandbox.pid}/cmdline`, 'utf8'), /--permission/);
});

t.test('two hundred bundles fit', async (t) => {
  const sandbox = new IsolateSandbox({ onStrike: () => t.fail('strike') });
  t.teardown(() => sandbox.stop());
  const calls = Array.from({ length: 200 }, (_, index) => index);
  for (const index of calls) {
    const code = `const big = "${'x'.repeat(1_000)}"; export default () => ${index};`;
    t.equal(await resultOf(sandbox, code, { fn: `p${index}/main` }), index);
  }
  if (process.platform !== 'linux') return;
  const rss = (Number(readFileSync(`/proc/${sandbox.pid}/statm`, 'utf8').split(' ')[1]) * 4_096) / 1_048_576;
  t.ok(rss < MAX_RSS_MB, `the runner holds ${Math.round(rss)} MB`);
});

t.test('without the compiler of V8 it does the same', async (t) => {
  const sandbox = new IsolateSandbox({ onStrike: () => t.fail('strike') }, { jitless: true });
  t.teardown(() => sandbox.stop());
  t.strictSame(parsed(await sandbox.call(callOf('export default (i) => [i, /a+/.test("aa")];', { input: '1' }))), [
    1,
    true,
  ]);
});

t.test('frames of a runner are believed only as far as they are known', async (t) => {
  const outcome = { kind: 'fault', code: 'function-failed', message: 'x', stack: null };
  t.strictSame(readRunnerMessage({ type: 'result', call: 'c', cpuMs: 1, outcome, more: 1 }), {
    ...{ type: 'result', call: 'c', cpuMs: 1, outcome },
  });
  for (const lie of [
    null,
    [],
    { type: 'result', call: 'c', cpuMs: -1, outcome },
    { type: 'result', call: 'c', cpuMs: 1, outcome: { ...outcome, code: 'internal' } },
    { type: 'result', call: 'c', cpuMs: 1, outcome: { ...outcome, message: 'x'.repeat(3_000) } },
    { type: 'result', call: 'c', cpuMs: 1, outcome: { kind: 'response', status: 99, headers: {}, hasBody: true } },
    {
      type: 'result',
      call: 'c',
      cpuMs: 1,
      outcome: { kind: 'response', status: 200, headers: { a: 1 }, hasBody: true },
    },
    { type: 'host', call: 'c', number: 1, operation: 'documents.drop' },
    { type: 'host', call: 5, number: 1, operation: 'batch' },
    { type: 'log', call: 'c', level: 'fatal' },
    { type: 'checked', check: 'c', faults: [{ file: 'a', line: 'x', column: 1, message: '' }] },
    { type: 'shutdown' },
  ]) {
    t.equal(readRunnerMessage(lie), null, JSON.stringify(lie)?.slice(0, 80));
  }
  const frames: unknown[] = [];
  const reader = new FrameReader(1_000, (frame) => frames.push(frame));
  const bytes = Buffer.concat([encodeFrame({ a: 1 }, 'ä'), encodeFrame({ b: 2 }, '')]);
  for (const byte of bytes) reader.push(Buffer.from([byte]));
  t.strictSame(frames, [
    { head: { a: 1 }, body: 'ä' },
    { head: { b: 2 }, body: '' },
  ]);
  t.throws(() => new FrameReader(10, () => undefined).push(encodeFrame({ a: 1 }, 'x'.repeat(100))));
  t.throws(() => new FrameReader(100, () => undefined).push(Buffer.from([5, 0, 0, 0, 9, 0, 0, 0, 1, 1, 1, 1, 1])));
});

function isGone(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return false;
  } catch {
    return true;
  }
}
