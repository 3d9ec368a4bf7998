/** Subscriptions with equal results that catch up at the same time evaluate each missed row once. */
import { BSON } from 'mongodb';
import t from 'tap';
import { LOG_ROW_DEFAULTS, type LogRow } from '../../../src/events/log/log-row.ts';
import { ByteBudget } from '../../../src/lib/memory/byte-budget.ts';
import { FairScheduler } from '../../../src/query/evaluate/fair-scheduler.ts';
import type { LiveResult } from '../../../src/realtime/result/live-result-interface.ts';
import { SharedRowEffects } from '../../../src/realtime/subscription/shared-row-effects.ts';
import { toChangeMessage } from '../../../src/realtime/wire/shared-message.ts';

const lane = new FairScheduler().createTask('client');
const wait = () => new AbortController();

function rowOf(number: number): LogRow {
  const time = new BSON.Timestamp({ t: 1, i: number });
  const after = Buffer.alloc(1_000);
  const changed = { operation: 'insert', collection: 'todos', after } as const;
  return { ...LOG_ROW_DEFAULTS, ...changed, number, epoch: 1, token: '', time, wall: new Date(0) };
}

function fixture({ isStateful = false, key = 'k' } = {}) {
  const evaluated: number[] = [];
  const live = {
    ...{ key, isStateful, isHeavy: () => false, prepare: async () => {} },
    applyRow: ({ number }: LogRow) => {
      evaluated.push(number);
      const change = { op: 'leave', documentId: String(number), at: '' } as const;
      return [toChangeMessage(`1-${number}`, () => change)];
    },
  };
  return { live: live as unknown as LiveResult, evaluated };
}

t.test('the effect of a row is shared while more than one subscription catches up', async (t) => {
  const budget = new ByteBudget({ each: 2 ** 30, all: 2 ** 30 });
  const effects = new SharedRowEffects(budget);
  const { live, evaluated } = fixture();
  const [first, second, row] = [effects.evaluate(live, wait().signal), effects.evaluate(live, wait().signal), rowOf(1)];
  const effect = await first.apply(row, lane);
  t.equal(await second.apply(row, lane), effect, 'the same messages, which are encoded once');
  t.strictSame(evaluated, [1]);
  t.ok(budget.total >= 1_000, 'they are counted');
  const other = fixture({ key: 'other' });
  await effects.evaluate(other.live, wait().signal).apply(row, lane);
  t.strictSame(other.evaluated, [1], 'another result evaluates it by itself');
  first.end();
  await second.apply(rowOf(2), lane);
  await second.apply(rowOf(2), lane);
  second.end();
  t.strictSame(evaluated, [1, 2, 2], 'nothing is kept for one alone');
  t.equal(budget.total, 0);
});

t.test('a subscription that stops gives up its part', async (t) => {
  const budget = new ByteBudget({ each: 2 ** 30, all: 2 ** 30 });
  const effects = new SharedRowEffects(budget);
  const { live } = fixture();
  const runs = [wait(), wait()];
  for (const { signal } of runs) await effects.evaluate(live, signal).apply(rowOf(1), lane);
  for (const run of runs) run.abort();
  effects.evaluate(live, AbortSignal.abort()).end();
  t.equal(budget.total, 0);
});

t.test('results with state evaluate each row by themselves', async (t) => {
  const effects = new SharedRowEffects(new ByteBudget({ each: 2 ** 30, all: 2 ** 30 }));
  const { live, evaluated } = fixture({ isStateful: true });
  const row = rowOf(1);
  for (let n = 0; n < 2; n++) await effects.evaluate(live, wait().signal).apply(row, lane);
  t.strictSame(evaluated, [1, 1]);
});

t.test('frames for many ids count, and beyond the limit the row is not shared any more', async (t) => {
  const budget = new ByteBudget({ each: 2 ** 30, all: 2 ** 30 });
  const effects = new SharedRowEffects(budget);
  const { live, evaluated } = fixture();
  const [first, second, row] = [effects.evaluate(live, wait().signal), effects.evaluate(live, wait().signal), rowOf(1)];
  const before = budget.total;
  for (let n = 0; evaluated.length < 2 && n < 200_000; n++) {
    const [message] = await second.apply(row, lane);
    if (typeof message !== 'string') message?.frame(`${n} ${'x'.repeat(1_000)}`);
    if (n === 100) t.ok(budget.total > before + 100_000, 'they are counted');
  }
  t.equal(evaluated.length, 2, 'evaluated once more');
  t.ok(budget.total < 16 * 1024 * 1024 + 2_000_000);
  first.end();
  second.end();
  t.equal(budget.total, 0);
});
