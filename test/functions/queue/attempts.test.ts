/** Attempts: order of runs, retries, failure, takeover, and exactly-once effects. */
import { randomUUID } from 'node:crypto';
import t from 'tap';
import { runIdFor } from '../../../src/functions/queue/running/queued-run-transitions.ts';
import { CodeError, count, onEvents, queueFixture } from '../../helpers/functions/queue-fixture.ts';
import { until } from '../../helpers/until.ts';

t.setTimeout(120_000);
const fixture = await queueFixture(t);
const { app, services } = fixture;
const put = (id: string, payload: object) =>
  app.inject({ method: 'PUT', url: `/api/todos/${id}?upsert=true`, payload });
const counted = async (name: string) =>
  (await services.mongo.data.collection<{ _id: string; n: number }>('counts').findOne({ _id: name }))?.n ?? 0;
const events = (type: string) => services.mongo.data.collection('_activity').countDocuments({ type });

t.afterEach(async () => {
  await services.mongo.log.collection('runs').deleteMany({});
  for (const name of ['counts', '_activity']) await services.mongo.data.collection(name).deleteMany({});
});

t.test('Runs of one document follow the log; others do not wait for them.', async (t) => {
  const order: string[] = [];
  let isBroken = true;
  const node = await fixture.node({
    it: onEvents(['todos.*'], ({ input }) => {
      const { id, n } = input.data;
      if (isBroken && id === 'a' && n === 1) throw new Error('not yet');
      order.push(`${id}${n}`);
    }),
  });
  for (const n of [0, 1, 2, 3]) for (const id of ['a', 'b']) await put(id, { n });
  await fixture.reaches({ state: 'succeeded' }, 5);
  await fixture.reaches({ state: 'pending', attempts: 1 });
  t.strictSame(
    order.filter((one) => one.startsWith('b')),
    ['b0', 'b1', 'b2', 'b3'],
  );
  t.strictSame(
    order.filter((one) => one.startsWith('a')),
    ['a0'],
    'the next of the document wait for the one that failed',
  );
  await fixture.pass(node, 999);
  await node.queue.waitUntilIdle();
  t.strictSame(
    order.filter((one) => one.startsWith('a')),
    ['a0'],
    'not attempted before its time',
  );
  isBroken = false;
  await fixture.pass(node, 1);
  const runs = await fixture.reaches({ state: 'succeeded' }, 8);
  t.strictSame(
    order.filter((one) => one.startsWith('a')),
    ['a0', 'a1', 'a2', 'a3'],
  );
  t.strictSame(runs.map(({ attempts }) => attempts).sort(), [1, 1, 1, 1, 1, 1, 1, 2]);
  t.strictSame(node.errors, []);
  await node.stop();
});

t.test('A failing run is attempted five times, and leaves nothing.', async (t) => {
  const keys = new Set<string>();
  const node = await fixture.node({
    it: onEvents(['todos.created', 'todos.updated'], async (given) => {
      keys.add(given.call.run.id);
      await count(given, 'tries');
      if (given.input.data.n === 1) throw new Error('never');
      await count(given, 'good');
    }),
  });
  await put('p', { n: 1 });
  await put('p', { n: 2 });
  for (const [attempt, pause] of [1_000, 10_000, 60_000, 600_000].entries()) {
    const [waits] = await fixture.reaches({ state: 'pending', attempts: attempt + 1 });
    t.equal(waits?.dueAt?.getTime(), fixture.clock.now + pause);
    t.match(waits?.error, { code: 'function-failed', message: 'Error: never' });
    await fixture.pass(node, pause);
  }
  const [failed] = await fixture.reaches({ state: 'failed' });
  t.match(failed, { attempts: 5, token: null, expireAt: Date });
  await fixture.reaches({ state: 'succeeded' });
  t.equal(keys.size, 2, 'one key for all attempts');
  t.strictSame([await counted('tries'), await counted('good')], [1, 1], 'only the run that succeeded has written');
  await until(async () => (await events('system.run.failed')) === 1, 'that it has failed is notified');
  t.equal(await events('system.run.attempt-failed'), 5);
  await until(() => node.ended.length === 6, 'the end of each attempt is reported');
  t.strictSame(
    node.ended.map(({ state }) => state),
    ['pending', 'pending', 'pending', 'pending', 'failed', 'succeeded'],
  );
  await node.stop();
});

t.test('An interrupted attempt does not count, and the delay grows each time.', async (t) => {
  let interruptions = 8;
  const node = await fixture.node({
    it: onEvents(['todos.created'], async (given) => {
      await count(given, 'effects');
      if (interruptions-- > 0) throw new CodeError('function-runtime-restarted');
    }),
  });
  await put('i', { n: 1 });
  for (const [before, pause] of [1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000].entries()) {
    const [waits] = await fixture.reaches({ state: 'pending', attempts: 0, interruptions: before + 1 });
    t.equal(waits?.dueAt?.getTime(), fixture.clock.now + pause);
    await fixture.pass(node, pause);
  }
  t.match(await fixture.reaches({ state: 'succeeded' }), [{ attempts: 1 }]);
  t.equal(await counted('effects'), 1);
  t.equal(await events('system.run.attempt-failed'), 0);
  await node.stop();
});

t.test('A run whose lease was lost commits nothing.', async (t) => {
  const [frozen, release] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  let isFirst = true;
  let planner = 'one';
  const said = {
    it: onEvents(['todos.created'], async (given) => {
      const isFrozen = isFirst;
      isFirst = false;
      if (isFrozen) {
        frozen.resolve();
        await release.promise;
      }
      await count(given, 'effects');
    }),
  };
  const one = await fixture.node(said, () => planner === 'one');
  const two = await fixture.node(said, () => planner === 'two');
  await put(randomUUID(), { n: 1 });
  await frozen.promise;
  planner = 'two';
  const [run] = await fixture.reaches({ state: 'succeeded' });
  release.resolve();
  await one.queue.waitUntilIdle();
  t.equal(await counted('effects'), 1);
  t.match(run, { attempts: 2 }, 'the attempt of the first counts');
  t.equal((await fixture.runs({ state: 'succeeded' })).length, 1);
  t.strictSame([...one.errors, ...two.errors], []);
  await one.stop();
  await two.stop();
});

t.test('a run that ends its process each time fails', async (t) => {
  const calls: string[] = [];
  const said = { it: onEvents(['todos.created'], ({ input }) => void calls.push(input.documentId)) };
  const one = await fixture.node(said);
  await put(randomUUID(), { n: 1 });
  await fixture.reaches({ state: 'succeeded' });
  await one.stop();
  const set = { state: 'running', token: 'of a dead process', attempts: 5 };
  await services.mongo.log.collection('runs').updateOne({}, { $set: set, $unset: { expireAt: '' } });
  const two = await fixture.node(said);
  const [run] = await fixture.reaches({ state: 'failed' });
  t.match(run?.error, { code: 'function-runtime-restarted' });
  t.equal(calls.length, 1);
  await two.stop();
});

t.test('Many runs that conflict in one document all take effect once.', async (t) => {
  const node = await fixture.node({ it: onEvents(['todos.*'], (given) => count(given, 'hot')) });
  const before = (await fixture.runs()).length;
  await Promise.all(Array.from({ length: 40 }, (_, n) => put(`hot-${n}`, { n })));
  await fixture.reaches({ state: 'succeeded' }, before + 40);
  t.equal(await counted('hot'), 40);
  t.equal((await fixture.runs({ attempts: { $gt: 1 } })).length, 0, 'none had to wait for another attempt');
  await node.stop();
});

t.test('Functions that hang leave slots for the others.', async (t) => {
  const end = Promise.withResolvers<void>();
  const hangs = () => end.promise.then(() => Promise.reject(new CodeError('function-timeout')));
  let hanging = 0;
  const hang = () => {
    hanging += 1;
    return hangs();
  };
  const node = await fixture.node({
    one: onEvents(['todos.*'], hang),
    two: onEvents(['todos.*'], hang),
    good: onEvents(['others.*'], () => {}),
  });
  await Promise.all(Array.from({ length: 20 }, (_, n) => put(`h-${n}`, { n })));
  await until(() => hanging === 6, 'they take their slots');
  await app.inject({ method: 'POST', url: '/api/others', payload: {} });
  await fixture.reaches({ state: 'succeeded', function: 'good' });
  t.equal(hanging, 6);
  hanging = 0;
  end.resolve();
  await fixture.reaches({ function: 'one', attempts: 1, state: 'pending' }, 20);
  await node.stop();
});

t.test('Runs of a quarantined or inactive function wait, and end after seven days.', async (t) => {
  const said = { it: onEvents(['todos.*'], () => {}), other: onEvents(['others.*'], () => {}) };
  const node = await fixture.node();
  node.use({ ...said, it: { ...said.it, isQuarantined: true } });
  await node.queue.waitUntilIdle();
  await put(randomUUID(), { n: 1 });
  await fixture.reaches({ state: 'pending', dueAt: { $exists: true } });
  await fixture.pass(node, 60_000);
  t.equal((await fixture.runs({ state: 'pending', attempts: 0 })).length, 1);
  node.use(said);
  await fixture.reaches({ state: 'succeeded' });

  node.use({ ...said, it: { ...said.it, isQuarantined: true } });
  await node.queue.waitUntilIdle();
  const id = randomUUID();
  for (const n of [1, 2]) await put(id, { n });
  await fixture.reaches({ state: 'pending' }, 2);
  node.use({ other: said.other });
  await node.queue.waitUntilIdle();
  t.equal((await fixture.runs({ state: 'pending' })).length, 2, 'they wait for the function');
  fixture.clock.now += 7 * 24 * 3_600_000 + 1;
  node.use({ other: said.other, third: said.other });
  const [failed] = await fixture.reaches({ state: 'failed' }, 2);
  t.match(failed, { error: { code: 'function-not-found' }, attempts: 0, expireAt: Date });
  await node.stop();
});

t.test('The id of a run is derived from its cause.', async (t) => {
  t.equal(runIdFor('p/it', '1-5'), runIdFor('p/it', '1-5'));
  t.not(runIdFor('p/it', '1-5'), runIdFor('p/at', '1-5'));
  t.match(runIdFor('p/it', '1-5'), /^run_[\w-]{22}$/);
});
