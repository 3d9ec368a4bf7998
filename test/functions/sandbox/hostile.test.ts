/**
 * Hostile programs in the sandbox alone, one for each way in which a program is ended: each ends with its error in time, also
 * with small limits, another plugin responds meanwhile and afterwards, and the calling process is unaffected.
 */
import { monitorEventLoopDelay } from 'node:perf_hooks';
import t from 'tap';
import { IsolateSandbox } from '../../../src/functions/sandbox/host/isolate-sandbox.ts';
import type { CallOutcome, Sandbox } from '../../../src/functions/sandbox/sandbox.ts';
import { callOf, ISOLATIONS } from './calls.ts';
import { HOSTILE } from './hostile-programs.ts';

/** Time limit of a program: the wall time, the server's overhead, and an allowance for a busy machine. */
const LIMITS = { wallMs: 1_500, cpuMs: 250, heapMb: 32 };
const LATEST_MS = LIMITS.wallMs + 1_000;
/** The neighbor's response while the program runs. */
const NEIGHBOUR_MS = 1_000;
/** Its response time if the runner may have to be restarted: 150 ms alone, much longer beside other tests on two cores. */
const AFTERWARDS_MS = 4_000;
const MAX_LAG_MS = 100;

/** One for each way: by CPU, by time, with the isolate, with the runner, by a limit of requests or results, and by itself. */
const CHOSEN = [
  'an endless loop',
  'a promise that never settles',
  'an endless chain of promises',
  'a Map that grows',
  'typed arrays that pile up',
  'a resizable buffer',
  'a pattern that goes back and back',
  'questions to the host without end',
  'a result that is too long',
  'endless recursion',
];

const NEIGHBOUR = 'export default async (input, ctx) => [input, await ctx.documents("a").get("1")];';

t.test('Hostile programs are ended in time.', async (t) => {
  const crashCounter: string[] = [];
  const sandbox = new IsolateSandbox(
    { onCrash: (call, reason) => crashCounter.push(`${call.facts.run.function} ${reason}`) },
    { rssMb: 420, backOffMs: 1 },
  );
  t.teardown(() => sandbox.stop());
  const lag = monitorEventLoopDelay({ resolution: 5 });
  await neighbour(sandbox);
  lag.enable();
  t.strictSame(
    CHOSEN.filter((name) => !(name in HOSTILE)),
    [],
  );
  const chosen = Object.entries(HOSTILE).filter(([name]) => CHOSEN.includes(name));
  const attacks = ISOLATIONS.flatMap((isolation) => chosen.map(([name, program]) => ({ isolation, name, ...program })));
  for (const { isolation, name, code, ends } of attacks) {
    await t.test(`${name}, isolated by ${isolation}`, async (t) => {
      const started = performance.now();
      let hasEnded = false;
      const given = { fn: 'hostile/main', limits: LIMITS, host: async () => '{}', isolation };
      const hostile = sandbox.call(callOf(code, given));
      const watched = hostile.finally(() => {
        hasEnded = true;
      });
      let slowest = 0;
      while (!hasEnded) slowest = Math.max(slowest, (await neighbour(sandbox)).ms);
      const outcome = await watched;
      const took = performance.now() - started;
      t.ok(ends.includes(endOf(outcome)), `ends with ${endOf(outcome)}: ${textOf(outcome)}`);
      t.ok(took < LATEST_MS, `ends after ${Math.round(took)} ms`);
      t.ok(slowest < NEIGHBOUR_MS, `the neighbor responds within ${Math.round(slowest)} ms`);
      // Leftovers of the program may end the runner during the first following call.
      const after = performance.now();
      let response = await neighbour(sandbox);
      while (!response.isRight && performance.now() - after < AFTERWARDS_MS) response = await neighbour(sandbox);
      const back = performance.now() - after;
      t.ok(response.isRight && back < AFTERWARDS_MS, `and afterwards within ${Math.round(back)} ms`);
    });
  }
  lag.disable();
  const p99 = lag.percentile(99) / 1e6;
  t.ok(p99 < MAX_LAG_MS, `the event loop was late by ${p99.toFixed(1)} ms (p99)`);
  t.strictSame(
    crashCounter.filter((crash) => !crash.startsWith('hostile/')),
    [],
    `${crashCounter.length} strikes, none of the neighbour`,
  );
});

/** A call of another plugin. The end of the runner may interrupt a call; that is a valid outcome too. */
async function neighbour(sandbox: Sandbox): Promise<{ readonly ms: number; readonly isRight: boolean }> {
  const started = performance.now();
  const outcome = await sandbox.call(callOf(NEIGHBOUR, { fn: 'good/main', input: '7', host: async () => '{"b":1}' }));
  return {
    ms: performance.now() - started,
    isRight: outcome.kind === 'value' && outcome.value === '[7,{"b":1}]',
  };
}

function endOf(outcome: CallOutcome): string {
  return outcome.kind === 'error' ? outcome.code : outcome.kind;
}

function textOf(outcome: CallOutcome): string {
  return outcome.kind === 'error' ? outcome.message.slice(0, 100) : '';
}
