/** Which runs are stored and counted, without delaying the caller, and with bounded memory while the database is unavailable. */
import t from 'tap';
import { connectMongo } from '../../../src/database/mongo.ts';
import { RunRecordBuffer } from '../../../src/functions/runs/run-batches.ts';
import { RunCountStore } from '../../../src/functions/runs/run-count-store.ts';
import { RunCounts } from '../../../src/functions/runs/run-counts.ts';
import { RunRecorder } from '../../../src/functions/runs/run-recorder.ts';
import type { CallToRecord, RunReport } from '../../../src/functions/runs/run-result.ts';
import type { RunRow } from '../../../src/functions/runs/run-row.ts';
import { RunStorageBudget } from '../../../src/functions/runs/run-storage-budget.ts';
import { createRunServices } from '../../../src/functions/runs/services.ts';
import type { CallOutcome } from '../../../src/functions/sandbox/sandbox.ts';
import { MillraceError } from '../../../src/lib/errors.ts';
import { testCleanup } from '../../helpers/cleanup.ts';
import { endpoint, pluginOf } from '../../helpers/functions/plugins.ts';
import { runRow } from '../../helpers/functions/run-rows.ts';
import { testMongo } from '../../helpers/mongo.ts';
import { until } from '../../helpers/until.ts';

const { url, database } = await testMongo(t);
const mongo = await connectMongo({ url, database });
t.teardown(() => mongo.close());

const fail = (error: unknown) => t.fail(String(error));
const [fn] = pluginOf('shop', { total: { use: endpoint('GET /total') } }).functions;
if (fn === undefined) throw new Error('No function');

const subject = (id: string, input = '{}', client = 'ada'): CallToRecord => ({
  ...{ id, fn, input, attempt: 1, depth: 0 },
  client,
});
const FINE: CallOutcome = { kind: 'value', value: '{"sum":3}', cpuMs: 1 };
const ISSUE: CallOutcome = { kind: 'error', code: 'function-failed', message: 'no', stack: 'at total.ts:1', cpuMs: 2 };
const REFUSAL: CallOutcome = { kind: 'refusal', message: 'not so', code: null, pointer: null, index: 0, cpuMs: 1 };
const line = { at: new Date(), level: 'info', text: 'hello' } as const;
const report = (outcome: CallOutcome, fields: Partial<RunReport> = {}): RunReport => ({
  outcome,
  startedAt: new Date(),
  durationMs: 5,
  logs: [],
  operations: [],
  ...fields,
});

t.test('Failed, rejected and logging runs are stored, and one in a hundred of the others.', async (t) => {
  const kept: RunRow[] = [];
  let number = 0.5;
  const recorder = new RunRecorder({
    counts: { note: () => undefined },
    live: createRunServices({ mongo, records: () => false, onError: fail, cleanup: testCleanup(t) }).live,
    batches: { add: (row) => kept.push(row) },
    budget: new RunStorageBudget(),
    onStored: () => undefined,
    random: () => number,
  });
  t.equal(recorder.recordEnd(subject('run_fine'), report(FINE)), false);
  t.equal(recorder.recordEnd(subject('run_fault'), report(ISSUE)), true);
  t.equal(recorder.recordEnd(subject('run_refused'), report(REFUSAL)), true);
  t.equal(recorder.recordEnd(subject('run_logs'), report(FINE, { logs: [line] })), true);
  t.equal(recorder.recordEnd(subject('run_always'), report(FINE), true), true);
  number = 0.0099;
  t.equal(recorder.recordEnd(subject('run_lucky'), report(FINE)), true);
  t.match(kept, [
    { _id: 'run_fault', state: 'failed', error: { code: 'function-failed', message: 'no', stack: 'at total.ts:1' } },
    { _id: 'run_refused', state: 'rejected', error: { code: 'rejected-by-function', message: 'not so' } },
    { _id: 'run_logs', state: 'succeeded', result: '{"sum":3}', resultBytes: 9, logs: [line] },
    { _id: 'run_always' },
    { _id: 'run_lucky' },
  ]);
});

t.test('A caller cannot have more runs stored than its budget, whatever it sends.', async (t) => {
  const kept: RunRow[] = [];
  let now = 0;
  const recorder = new RunRecorder({
    counts: { note: () => undefined },
    live: createRunServices({ mongo, records: () => false, onError: fail, cleanup: testCleanup(t) }).live,
    batches: { add: (row) => kept.push(row) },
    budget: new RunStorageBudget(() => now),
    onStored: () => undefined,
  });
  const large = JSON.stringify('x'.repeat(200_000));
  const flood = (client: string, input: string, reports: readonly RunReport[]) => {
    const from = kept.length;
    for (let n = 0; n < 1_000; n += 1) {
      for (const one of reports) recorder.recordEnd(subject(`run_${client}_${n}`, input, client), one);
    }
    const rows = kept.slice(from);
    return { runs: rows.length, bytes: rows.reduce((sum, { input }) => sum + (input?.length ?? 0), 0) };
  };
  const reports = [report(REFUSAL), report(ISSUE), report(FINE, { logs: [line] })];
  const { runs, bytes } = flood('ada', large, reports);
  t.equal(runs, 30);
  t.ok(bytes > 1_500_000 && bytes <= 2 * 1024 ** 2, `${bytes}`);
  t.match(kept.at(-1), { input: null, inputBytes: 200_002 }, 'then without their input');
  t.equal(flood('bob', '{}', reports).runs, 30, 'another caller has a budget of its own');
  t.equal(recorder.recordEnd(subject('run_again', large), report(FINE), true), true, 'a rerun is always stored');
  now += 60_000;
  t.equal(flood('ada', '{}', reports).runs, 6, 'a minute later there is room again');
  let all = 0;
  for (let n = 0; n < 100; n += 1) all += flood(`caller-${n}`, large, reports).bytes;
  t.ok(all <= 16 * 1024 ** 2, `many callers together: ${all}`);
});

t.test('Stored runs can be found, and values that are too long are stored as their size.', async (t) => {
  const cleanup = new AsyncDisposableStack();
  const { recorder, store } = createRunServices({ mongo, records: () => false, onError: fail, cleanup });
  const long = JSON.stringify('é'.repeat(200_000));
  recorder.recordEnd(subject('run_long', long), report(ISSUE));
  await until(async () => (await store.find('run_long')) !== null, 'the run is stored');
  t.match(await store.find('run_long'), { input: null, inputBytes: 400_002, result: null, resultBytes: 0, depth: 0 });
  const stored = await store.find('run_long');
  t.ok((stored?.expireAt?.getTime() ?? 0) - Date.now() > 29 * 24 * 3_600_000);
  recorder.recordEnd(subject('run_last'), report(ISSUE));
  await cleanup.disposeAsync();
  t.match(await store.find('run_last'), { state: 'failed' }, 'a stop stores what waits');
});

t.test('While the database is unavailable, runs are buffered up to a limit and stored later.', async (t) => {
  const stored: string[] = [];
  const reported: unknown[] = [];
  let isAway = true;
  let attempts = 0;
  const batches = new RunRecordBuffer({
    insert: async (rows) => {
      attempts += 1;
      if (isAway) throw new MillraceError('database-unavailable', 'away');
      stored.push(...rows.map(({ _id }) => _id));
    },
    onError: (error) => reported.push(error),
  });
  for (let n = 0; n < 6_000; n++) batches.add(runRow(n));
  t.equal(batches.dropped, 1_000, 'the newest are dropped');
  await until(() => attempts >= 2, 'it was retried');
  t.equal(reported.length, 1, 'an outage is reported once');
  isAway = false;
  await until(() => stored.length === 5_000, 'all are stored');
  t.equal(new Set(stored).size, 5_000);
  isAway = true;
  batches.add(runRow(1));
  await batches.stop();
  t.equal(batches.dropped, 1_001, 'a stop does not wait for ever');
  batches.add(runRow(2));
  t.equal(batches.dropped, 1_002);
});

t.test('A run that the database rejects does not block the others.', async () => {
  const stored: string[] = [];
  const batches = new RunRecordBuffer({
    insert: async (rows) => {
      if (rows.some(({ plugin }) => plugin === 'bad')) throw new Error('refused');
      stored.push(...rows.map(({ _id }) => _id));
    },
    onError: () => undefined,
  });
  batches.add(runRow(1, { plugin: 'bad' }));
  await until(() => batches.dropped === 1, 'it is dropped');
  batches.add(runRow(2));
  await until(() => stored.length === 1, 'the next is stored');
  await batches.stop();
});

t.test('Every attempt is counted, by all processes, over seven days.', async (t) => {
  let now = new Date(Date.UTC(2097, 4, 1, 23));
  const store = new RunCountStore(mongo);
  await store.prepare();
  const parts = { store, onError: fail, now: () => now };
  const [here, there] = [new RunCounts(parts), new RunCounts(parts)];
  for (let n = 1; n <= 95; n++) here.note('shop/total', true, 10);
  for (let n = 1; n <= 5; n++) there.note('shop/total', false, 900);
  there.note('shop/other', true, 1);
  t.strictSame(await here.of([]), new Map());
  await there.stop();
  const counts = (await here.of(['shop/total', 'shop/never'])).get('shop/total');
  t.match(counts, { succeeded: 95, failed: 5, lastRunAt: now });
  t.ok((counts?.p95Ms ?? 0) >= 10 && (counts?.p95Ms ?? 0) <= 12, `${counts?.p95Ms}`);
  here.note('shop/total', false, 900);
  const more = (await here.of(['shop/total'])).get('shop/total');
  t.ok((more?.p95Ms ?? 0) >= 900 && (more?.p95Ms ?? 0) <= 1_080, `${more?.p95Ms}`);
  now = new Date(Date.UTC(2097, 4, 7, 1));
  here.note('shop/total', true, 10);
  t.match((await here.of(['shop/total'])).get('shop/total'), { succeeded: 96, failed: 6, lastRunAt: now });
  now = new Date(Date.UTC(2097, 4, 8, 1));
  t.match((await here.of(['shop/total'])).get('shop/total'), { succeeded: 1, failed: 0 }, 'the first day is over');
  await Promise.all([here.stop(), there.stop()]);
});

t.test('Counts that could not be stored are stored once, later.', async (t) => {
  let isAway = true;
  const store = new RunCountStore(mongo);
  const add = store.add.bind(store);
  Object.assign(store, {
    add: async (...given: Parameters<typeof add>) => (isAway ? Promise.reject(new Error('away')) : add(...given)),
  });
  const reported: unknown[] = [];
  const counts = new RunCounts({ store, onError: (error) => reported.push(error) });
  counts.note('away/x', true, 1);
  t.strictSame(await counts.of(['away/x']), new Map());
  counts.note('away/x', false, 1);
  isAway = false;
  t.match((await counts.of(['away/x'])).get('away/x'), { succeeded: 1, failed: 1 });
  t.equal(reported.length, 1);
  await counts.stop();
});
