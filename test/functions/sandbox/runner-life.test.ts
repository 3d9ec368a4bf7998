/**
 * The life of the runner: started on demand, restarted after it was killed, ended when idle, and with the server. Also its memory
 * limit, and that a compromised runner does no harm.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import t, { type Test } from 'tap';
import { IsolateSandbox, type IsolateSandboxOptions } from '../../../src/functions/sandbox/host/isolate-sandbox.ts';
import type { SandboxCall } from '../../../src/functions/sandbox/sandbox.ts';
import { encodeFrame, FrameReader } from '../../../src/functions/sandbox/wire/frames.ts';
import { readRunnerMessage } from '../../../src/functions/sandbox/wire/messages.ts';
import { until } from '../../helpers/until.ts';
import { bundleOf, callOf, parsed, resultOf } from './calls.ts';

const MAX_RSS_MB = 400;

/**
 * A call whose code waits for its host.
 * @returns its outcome, and the moment at which the code waits
 */
function waitingCall(
  sandbox: IsolateSandbox,
  fn: string,
  code = 'export default (i, ctx) => ctx.documents("a").get("1");',
) {
  const { promise: waits, resolve } = Promise.withResolvers<void>();
  const host = () => {
    resolve();
    return new Promise<string>(() => undefined);
  };
  return { outcome: sandbox.call(callOf(code, { fn, host })), waits };
}

/** A sandbox that records the functions that it blames, and the signals that ended its runners. */
function watchedSandbox(t: Test, options: IsolateSandboxOptions = {}) {
  const [crashCounter, signals]: [string[], string[]] = [[], []];
  const events = {
    onCrash: (call: SandboxCall, reason: string) => crashCounter.push(`${call.facts.run.function}: ${reason}`),
    onKilled: (signal: string) => signals.push(signal),
  };
  const sandbox = new IsolateSandbox(events, { backOffMs: 1, ...options });
  t.teardown(() => sandbox.stop());
  return { sandbox, crashCounter, signals };
}

t.test('the system kills the runner, and no function is blamed; the next calls run in a new one', async (t) => {
  const { sandbox, crashCounter, signals } = watchedSandbox(t);
  t.equal(sandbox.pid, null, 'no runner before the first call');
  for (let round = 0; round < 2; round += 1) {
    const [one, other] = [waitingCall(sandbox, 'shop/one'), waitingCall(sandbox, 'mail/other')];
    await Promise.all([one.waits, other.waits]);
    const busy = sandbox.call(callOf('export default () => { for (;;); };', { fn: 'busy/main' }));
    const { pid } = sandbox;
    process.kill(pid ?? 0, 'SIGKILL');
    for (const { outcome } of [one, other, { outcome: busy }]) {
      t.match(await outcome, { kind: 'error', code: 'function-runtime-restarted' });
    }
    t.equal(await resultOf(sandbox, 'export default () => 1;'), 1);
    t.not(sandbox.pid, pid);
  }
  t.strictSame(crashCounter, []);
  t.strictSame(signals, ['SIGKILL', 'SIGKILL']);
});

t.test('A runner that crashes by itself is attributed to the running function.', async (t) => {
  const { sandbox, crashCounter, signals } = watchedSandbox(t);
  for (const signal of ['SIGSEGV', 'SIGABRT'] as const) {
    const { outcome, waits } = waitingCall(sandbox, 'shop/main');
    await waits;
    process.kill(sandbox.pid ?? 0, signal);
    t.match(await outcome, { kind: 'error', code: 'function-failed', message: /ended the process/ }, signal);
  }
  const reason = 'shop/main: The function ended the process that ran it';
  t.strictSame(crashCounter, [reason, reason]);
  t.strictSame(signals, []);
});

t.test('A function that exceeds its memory is blamed when the system kills the runner for it.', async (t) => {
  if (process.platform !== 'linux') return t.comment('only Linux tells the memory of a process');
  const { sandbox, crashCounter, signals } = watchedSandbox(t, { rssMb: 2_000 });
  const greedy = `export default async (input, ctx) => {
    const bytes = new ArrayBuffer(1, { maxByteLength: 5 * 2 ** 26 });
    bytes.resize(5 * 2 ** 26);
    new Uint8Array(bytes).fill(1);
    return [await ctx.documents("a").get("1"), bytes];
  };`;
  t.equal(await resultOf(sandbox, 'export default () => 1;', { fn: 'good/main' }), 1);
  const { outcome, waits } = waitingCall(sandbox, 'greedy/main', greedy);
  await waits;
  // The sandbox checks the memory every 20 ms.
  await pause(60);
  process.kill(sandbox.pid ?? 0, 'SIGKILL');
  t.match(await outcome, { kind: 'error', code: 'function-out-of-memory' });
  t.strictSame(crashCounter, ['greedy/main: The function used too much memory']);
  t.strictSame(signals, ['SIGKILL']);
});

t.test('A signal that reaches all processes does not end running calls.', async (t) => {
  const { sandbox, crashCounter } = watchedSandbox(t);
  const requested = Promise.withResolvers<void>();
  const given = Promise.withResolvers<string>();
  const host = () => {
    requested.resolve();
    return given.promise;
  };
  const call = resultOf(sandbox, 'export default (i, ctx) => ctx.documents("a").get("1");', { host });
  await requested.promise;
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.kill(sandbox.pid ?? 0, signal);
  given.resolve('{"n":1}');
  t.strictSame(await call, { n: 1 });
  t.strictSame(crashCounter, []);
});

t.test('Calls in a runner that was stopped from outside end late, and no function is blamed.', async (t) => {
  if (process.platform !== 'linux') return t.comment('only Linux tells the state of a process');
  const { sandbox, crashCounter } = watchedSandbox(t);
  await resultOf(sandbox, 'export default () => 1;');
  process.kill(sandbox.pid ?? 0, 'SIGSTOP');
  const outcome = await sandbox.call(callOf('export default () => 1;', { limits: { wallMs: 100 } }));
  t.match(outcome, { kind: 'error', code: 'function-runtime-restarted' });
  t.equal(await resultOf(sandbox, 'export default () => 2;'), 2);
  t.strictSame(crashCounter, []);
});

t.test('A check of a plugin that a kill interrupts is repeated.', async (t) => {
  if (process.platform === 'win32') return t.comment('Windows has no signals');
  const { sandbox } = watchedSandbox(t);
  await resultOf(sandbox, 'export default () => 1;');
  const { pid } = sandbox;
  process.kill(pid ?? 0, 'SIGSTOP');
  const checking = sandbox.check(bundleOf({ 'a.ts': 'export default () => 1;' }), ['a.ts']);
  process.kill(pid ?? 0, 'SIGKILL');
  t.strictSame(await checking, []);
  t.not(sandbox.pid, pid);
});

t.test('A suspended server blames no function whose result it could not receive.', async (t) => {
  const { sandbox, crashCounter } = watchedSandbox(t);
  await resultOf(sandbox, 'export default () => 1;');
  const call = sandbox.call(callOf('export default () => 1;', { limits: { wallMs: 50 } }));
  const { promise: sent, resolve } = Promise.withResolvers<void>();
  setImmediate(resolve);
  await sent;
  const end = performance.now() + 800;
  while (performance.now() < end);
  t.match(await call, { kind: 'value', value: '1' });
  t.strictSame(crashCounter, []);
});

t.test('A runner that ends repeatedly is restarted after a pause.', async (t) => {
  const sandbox = new IsolateSandbox({ onCrash: () => undefined }, { backOffMs: 300 });
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

t.test('An idle runner ends.', async (t) => {
  const sandbox = new IsolateSandbox({ onCrash: () => t.fail('strike') }, { idleMs: 50 });
  t.teardown(() => sandbox.stop());
  t.equal(await resultOf(sandbox, 'export default () => 1;'), 1);
  const pid = sandbox.pid ?? 0;
  await until(() => sandbox.pid === null, 'the runner has ended');
  await until(() => isGone(pid), 'its process has ended');
  t.equal(await resultOf(sandbox, 'export default () => 2;'), 2, 'and starts again');
});

t.test('The runner ends with a killed server.', async (t) => {
  const program = fileURLToPath(new URL('doomed-server.ts', import.meta.url));
  const server = spawn(process.execPath, [program], { stdio: ['ignore', 'pipe', 'inherit'] });
  const [line] = await once(server.stdout, 'data');
  const pid = Number(String(line));
  t.notOk(isGone(pid), `${pid} runs`);
  server.kill('SIGKILL');
  await until(() => isGone(pid), 'its process has ended');
});

t.test('the runner has no environment, and is the first process to be killed when memory runs out', async (t) => {
  if (process.platform !== 'linux') return t.comment('only Linux shows that');
  const sandbox = new IsolateSandbox({ onCrash: () => t.fail('strike') });
  t.teardown(() => sandbox.stop());
  await resultOf(sandbox, 'export default () => 1;');
  t.equal(readFileSync(`/proc/${sandbox.pid}/environ`, 'utf8'), '');
  t.equal(readFileSync(`/proc/${sandbox.pid}/oom_score_adj`, 'utf8').trim(), '1000');
  t.match(readFileSync(`/proc/${sandbox.pid}/cmdline`, 'utf8'), /--permission/);
});

t.test('A runner holds two hundred bundles.', async (t) => {
  const sandbox = new IsolateSandbox({ onCrash: () => t.fail('strike') });
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

t.test('The sandbox works without the compiler of V8.', async (t) => {
  const sandbox = new IsolateSandbox({ onCrash: () => t.fail('strike') }, { jitless: true });
  t.teardown(() => sandbox.stop());
  t.strictSame(parsed(await sandbox.call(callOf('export default (i) => [i, /a+/.test("aa")];', { input: '1' }))), [
    1,
    true,
  ]);
});

t.test('Frames of a runner are accepted only in their known form.', async (t) => {
  const outcome = { kind: 'error', code: 'function-failed', message: 'x', stack: null };
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
    { type: 'checked', check: 'c', issues: [{ file: 'a', line: 'x', column: 1, message: '' }] },
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
