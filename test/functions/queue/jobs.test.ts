/** Jobs: scheduled with what a run writes, run once at their time, listed and cancelled, bounded. */
import t from 'tap';
import { Jobs } from '../../../src/functions/kinds/queue/jobs.ts';
import { JobStore } from '../../../src/functions/kinds/queue/running/job-store.ts';
import { requestOfRun } from '../../../src/functions/runs/run.ts';
import { jobOf } from '../../helpers/functions/plugins.ts';
import { count, type Given, onEvents, queueWorld } from '../../helpers/functions/queue-world.ts';

t.setTimeout(120_000);
const world = await queueWorld(t);
const { app, parts } = world;
const jobs = new Jobs({ store: new JobStore(parts.mongo), activity: parts.auth.activity, now: () => world.clock.now });
const post = (n: number) => app.inject({ method: 'POST', url: '/api/todos', payload: { n } });

/** Schedules the job of the plugin, as `ctx.schedule` does. */
async function schedule({ call }: Given, input: unknown, at: number) {
  const fn = call.fn.plugin.functions.find(({ use }) => use.kind === 'job');
  if (fn?.use.kind !== 'job' || call.within === null) throw new Error('The plugin has no job');
  const { id, depth, restricted } = call.run;
  const job = { fn: { ...fn, use: fn.use }, input: JSON.stringify(input), at: new Date(at) };
  return await jobs.schedule({ ...job, depth, restricted, request: requestOfRun(id, depth) }, call.within);
}

/** The code that something is refused with. */
function refusal(what: Promise<unknown>): Promise<unknown> {
  return what.then(
    () => null,
    ({ code }) => code,
  );
}

t.afterEach(async () => {
  await parts.mongo.log.collection('runs').deleteMany({});
  await parts.mongo.data.collection('counts').deleteMany({});
});

t.test('a job runs once, when its time has come, as deep in the chain as what scheduled it', async (t) => {
  const ran: unknown[] = [];
  let fails = 1;
  const node = await world.node({
    schedules: onEvents(['todos.created'], async (given) => {
      await schedule(given, { n: given.input.data.n }, world.clock.now + 5_000);
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
  await world.reaches({ function: 'schedules', state: 'waiting', attempt: 1 });
  t.equal((await world.runs({ kind: 'job' })).length, 0, 'what failed has scheduled nothing');
  await world.pass(node, 1_000);
  await world.reaches({ kind: 'job', state: 'waiting' });
  const [job] = await jobs.list(10);
  t.match(job, { plugin: 'p', function: 'later', state: 'waiting', attempt: 0, nextAttemptAt: job?.scheduledAt });
  await world.pass(node, 4_999);
  await node.queue.quiet();
  t.strictSame(ran, []);
  await world.pass(node, 1);
  await world.reaches({ kind: 'job', state: 'ok' });
  t.strictSame(ran, [[{ n: 7 }, 1]]);
  t.strictSame(await jobs.list(10), []);
  await world.pass(node, 60_000);
  await node.queue.quiet();
  t.equal(ran.length, 1);
  t.strictSame(node.errors, []);
  await node.stop();
});

t.test('a job that another process has scheduled runs without being looked for', async (t) => {
  const node = await world.node({ later: { use: { kind: 'job' }, code: (given) => count(given, 'jobs') } });
  await node.queue.quiet();
  const other = await world.node({ later: { use: { kind: 'job' }, code: () => {} } }, () => false);
  await parts.atomic.run(async (within) => {
    const job = { fn: jobOf('p'), input: 'null', at: new Date(world.clock.now), depth: 0, restricted: false };
    await jobs.schedule({ ...job, request: requestOfRun('run_x', 0) }, within);
  });
  await world.reaches({ kind: 'job', state: 'ok' });
  t.equal(await parts.mongo.data.collection('_activity').countDocuments({ type: 'system.function.scheduled' }), 2);
  await other.stop();
  await node.stop();
});

t.test('jobs are listed by their time and can be cancelled', async (t) => {
  const node = await world.node({
    schedules: onEvents(['todos.created'], async (given) => {
      const { n } = given.input.data;
      await schedule(given, { n }, world.clock.now + n * 1_000);
    }),
    later: { use: { kind: 'job' }, code: (given) => count(given, 'jobs') },
  });
  for (const n of [30, 10, 20]) await post(n);
  await world.reaches({ kind: 'job' }, 3);
  const all = await jobs.list(10);
  const inOrder = all.map(({ scheduledAt }) => (scheduledAt.getTime() - world.clock.now) / 1_000);
  t.strictSame(inOrder, [10, 20, 30]);
  const [first, second] = all;
  t.strictSame(await jobs.list(1), [first]);
  t.strictSame(await jobs.list(1, first?.id), [second]);
  await t.rejects(jobs.list(1, 'run_unknown'), { code: 'cursor-mismatch' });
  await jobs.cancel(second?.id ?? '', { by: 'owner:o1', request: 'r' });
  await t.rejects(jobs.cancel(second?.id ?? '', { by: null, request: null }), { code: 'job-not-found' });
  await world.pass(node, 30_000);
  await world.reaches({ kind: 'job', state: 'ok' }, 2);
  await node.queue.quiet();
  const [cancelled] = await world.runs({ _id: second?.id });
  t.match(cancelled, { state: 'refused', attempt: 0, error: { code: 'job-cancelled', message: /owner:o1/ } });
  await t.rejects(jobs.cancel(first?.id ?? '', { by: null, request: null }), { code: 'job-not-found' }, 'it has run');
  await node.stop();
});

t.test('the input of a job is bounded, and so is their number', async (t) => {
  const codes: unknown[] = [];
  const node = await world.node({
    schedules: onEvents(['todos.created'], async (given) => {
      codes.push(await refusal(schedule(given, 'x'.repeat(262_144), 0)));
      const rows = Array.from({ length: 10_000 }, (_, n) => ({
        _id: `j${n}`,
        plugin: 'p',
        kind: 'job',
        state: 'waiting',
      }));
      await parts.mongo.log.collection<{ _id: string }>('runs').insertMany(rows);
      codes.push(await refusal(schedule(given, 'x', 0)));
    }),
    later: { use: { kind: 'job' }, code: () => {} },
  });
  await post(1);
  await world.reaches({ function: 'schedules', state: 'ok' });
  t.strictSame(codes, ['function-limit', 'function-limit']);
  await node.stop();
});
