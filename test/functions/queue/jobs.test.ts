/** Jobs: scheduled in the transaction of a run, run once at their time, listed and canceled, limited. */
import t from 'tap';
import { Jobs } from '../../../src/functions/queue/jobs.ts';
import { ScheduledJobStore } from '../../../src/functions/queue/running/pending-job-store.ts';
import { requestIdForWrites } from '../../../src/functions/runs/run.ts';
import { jobOf } from '../../helpers/functions/plugins.ts';
import { count, type Given, onEvents, queueFixture } from '../../helpers/functions/queue-fixture.ts';

t.setTimeout(120_000);
const fixture = await queueFixture(t);
const { app, services } = fixture;
const jobs = new Jobs({
  store: new ScheduledJobStore(services.mongo),
  activity: services.auth.activity,
  now: () => fixture.clock.now,
});
const post = (n: number) => app.inject({ method: 'POST', url: '/api/todos', payload: { n } });

/** Schedules the job of the plugin, as `ctx.schedule` does. */
async function schedule({ call }: Given, input: unknown, at: number) {
  const fn = call.fn.plugin.functions.find(({ options }) => options.kind === 'job');
  if (fn?.options.kind !== 'job' || call.within === null) throw new Error('The plugin has no job');
  const { id, depth, restricted } = call.run;
  const job = { fn: { ...fn, options: fn.options }, input: JSON.stringify(input), at: new Date(at) };
  return await jobs.schedule({ ...job, depth, restricted, request: requestIdForWrites(id, depth) }, call.within);
}

/** The error code of a rejection. */
function refusal(what: Promise<unknown>): Promise<unknown> {
  return what.then(
    () => null,
    ({ code }) => code,
  );
}

t.afterEach(async () => {
  await services.mongo.log.collection('runs').deleteMany({});
  await services.mongo.data.collection('counts').deleteMany({});
});

t.test('A job runs once when it is due, with the chain depth of the run that scheduled it.', async (t) => {
  const ran: unknown[] = [];
  let fails = 1;
  const node = await fixture.node({
    schedules: onEvents(['todos.created'], async (given) => {
      await schedule(given, { n: given.input.data.n }, fixture.clock.now + 5_000);
      fails -= 1;
      if (fails >= 0) throw new Error('after it has scheduled');
    }),
    later: {
      use: { kind: 'job' },
      code: async (given) => {
        ran.push([given.input, given.call.run.depth]);
        await count(given, 'jobs');
      },
    },
  });
  await post(7);
  await fixture.reaches({ function: 'schedules', state: 'pending', attempts: 1 });
  t.equal((await fixture.runs({ kind: 'job' })).length, 0, 'what failed has scheduled nothing');
  await fixture.pass(node, 1_000);
  await fixture.reaches({ kind: 'job', state: 'pending' });
  const [job] = await jobs.list(10);
  t.match(job, { plugin: 'p', function: 'later', state: 'pending', attempts: 0, nextAttemptAt: job?.scheduledAt });
  await fixture.pass(node, 4_999);
  await node.queue.waitUntilIdle();
  t.strictSame(ran, []);
  await fixture.pass(node, 1);
  await fixture.reaches({ kind: 'job', state: 'succeeded' });
  t.strictSame(ran, [[{ n: 7 }, 1]]);
  t.strictSame(await jobs.list(10), []);
  await fixture.pass(node, 60_000);
  await node.queue.waitUntilIdle();
  t.equal(ran.length, 1);
  t.strictSame(node.errors, []);
  await node.stop();
});

t.test('A job that another process has scheduled runs without polling.', async (t) => {
  const node = await fixture.node({ later: { use: { kind: 'job' }, code: (given) => count(given, 'jobs') } });
  await node.queue.waitUntilIdle();
  const other = await fixture.node({ later: { use: { kind: 'job' }, code: () => {} } }, () => false);
  await services.atomic.run(async (within) => {
    const job = { fn: jobOf('p'), input: 'null', at: new Date(fixture.clock.now), depth: 0, restricted: false };
    await jobs.schedule({ ...job, request: requestIdForWrites('run_x', 0) }, within);
  });
  await fixture.reaches({ kind: 'job', state: 'succeeded' });
  t.equal(await services.mongo.data.collection('_activity').countDocuments({ type: 'system.run.queued' }), 2);
  await other.stop();
  await node.stop();
});

t.test('Jobs are listed by time and can be canceled.', async (t) => {
  const node = await fixture.node({
    schedules: onEvents(['todos.created'], async (given) => {
      const { n } = given.input.data;
      await schedule(given, { n }, fixture.clock.now + n * 1_000);
    }),
    later: { use: { kind: 'job' }, code: (given) => count(given, 'jobs') },
  });
  for (const n of [30, 10, 20]) await post(n);
  await fixture.reaches({ kind: 'job' }, 3);
  const all = await jobs.list(10);
  const inOrder = all.map(({ scheduledAt }) => (scheduledAt.getTime() - fixture.clock.now) / 1_000);
  t.strictSame(inOrder, [10, 20, 30]);
  const [first, second] = all;
  t.strictSame(await jobs.list(1), [first]);
  t.strictSame(await jobs.list(1, first?.id), [second]);
  await t.rejects(jobs.list(1, 'run_unknown'), { code: 'cursor-mismatch' });
  await jobs.cancel(second?.id ?? '', { by: 'admin:o1', request: 'r' });
  await t.rejects(jobs.cancel(second?.id ?? '', { by: null, request: null }), { code: 'scheduled-job-not-found' });
  await fixture.pass(node, 30_000);
  await fixture.reaches({ kind: 'job', state: 'succeeded' }, 2);
  await node.queue.waitUntilIdle();
  const [cancelled] = await fixture.runs({ _id: second?.id });
  t.match(cancelled, { state: 'canceled', attempts: 0, error: { code: 'job-canceled', message: /admin:o1/ } });
  await t.rejects(
    jobs.cancel(first?.id ?? '', { by: null, request: null }),
    { code: 'scheduled-job-not-found' },
    'it has run',
  );
  await node.stop();
});

t.test('The input and the number of jobs are limited.', async (t) => {
  const codes: unknown[] = [];
  const node = await fixture.node({
    schedules: onEvents(['todos.created'], async (given) => {
      codes.push(await refusal(schedule(given, 'x'.repeat(262_144), 0)));
      const rows = Array.from({ length: 10_000 }, (_, n) => ({
        _id: `j${n}`,
        plugin: 'p',
        kind: 'job',
        state: 'pending',
      }));
      await services.mongo.log.collection<{ _id: string }>('runs').insertMany(rows);
      codes.push(await refusal(schedule(given, 'x', 0)));
    }),
    later: { use: { kind: 'job' }, code: () => {} },
  });
  await post(1);
  await fixture.reaches({ function: 'schedules', state: 'succeeded' });
  t.strictSame(codes, ['function-limits-exceeded', 'function-limits-exceeded']);
  await node.stop();
});
