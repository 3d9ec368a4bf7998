/** Attempts: the order of runs, retries, parking, taking over, and that effects are made once. */
import { randomUUID } from 'node:crypto';
import t from 'tap';
import { runIdFor } from '../../../src/functions/kinds/queue/running/queued-run.ts';
import { CodeFault, count, onEvents, queueWorld } from '../../helpers/functions/queue-world.ts';
import { until } from '../../helpers/until.ts';

t.setTimeout(120_000);
const world = await queueWorld(t);
const { app, parts } = world;
const put = (id: string, payload: object) =>
  app.inject({ method: 'PUT', url: `/api/todos/${id}?upsert=true`, payload });
const counted = async (name: string) =>
  (await parts.mongo.data.collection<{ _id: string; n: number }>('counts').findOne({ _id: name }))?.n ?? 0;
const events = (type: string) => parts.mongo.data.collection('_activity').countDocuments({ type });

t.afterEach(async () => {
  await parts.mongo.log.collection('runs').deleteMany({});
  for (const name of ['counts', '_activity']) await parts.mongo.data.collection(name).deleteMany({});
});

t.test('runs of one document follow the log; others do not wait for them', async (t) => {
  const order: string[] = [];
  let isBroken = true;
  const node = await world.node({
    it: onEvents(['todos.*'], ({ input }) => {
      const { id, n } = input.data;
      if (isBroken && id === 'a' && n === 1) throw new Error('not yet');
      order.push(`${id}${n}`);
    }),
  });
  for (const n of [0, 1, 2, 3]) for (const id of ['a', 'b']) await put(id, { n });
  await world.reaches({ state: 'ok' }, 5);
  await world.reaches({ state: 'waiting', attempt: 1 });
  t.strictSame(
    order.filter((one) => one.startsWith('b')),
    ['b0', 'b1', 'b2', 'b3'],
  );
  t.strictSame(
    order.filter((one) => one.startsWith('a')),
    ['a0'],
    'the next of the document wait for the one that failed',
  );
  await world.pass(node, 999);
  await node.queue.quiet();
  t.strictSame(
    order.filter((one) => one.startsWith('a')),
    ['a0'],
    'not tried before its time',
  );
  isBroken = false;
  await world.pass(node, 1);
  const runs = await world.reaches({ state: 'ok' }, 8);
  t.strictSame(
    order.filter((one) => one.startsWith('a')),
    ['a0', 'a1', 'a2', 'a3'],
  );
  t.strictSame(runs.map(({ attempt }) => attempt).sort(), [1, 1, 1, 1, 1, 1, 1, 2]);
  t.strictSame(node.errors, []);
  await node.stop();
});

t.test('a run that keeps failing is tried five times, and leaves nothing', async (t) => {
  const keys = new Set<string>();
  const node = await world.node({
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
    const [waits] = await world.reaches({ state: 'waiting', attempt: attempt + 1 });
    t.equal(waits?.dueAt?.getTime(), world.clock.now + pause);
    t.match(waits?.error, { code: 'function-failed', message: 'Error: never' });
    await world.pass(node, pause);
  }
  const [parked] = await world.reaches({ state: 'parked' });
  t.match(parked, { attempt: 5, token: null, expireAt: Date });
  await world.reaches({ state: 'ok' });
  t.equal(keys.size, 2, 'one key for all attempts');
  t.strictSame([await counted('tries'), await counted('good')], [1, 1], 'only the run that succeeded has written');
  await until(async () => (await events('system.function.parked')) === 1, 'that it is parked is told');
  t.equal(await events('system.function.failed'), 5);
  await until(() => node.ended.length === 6, 'the end of each attempt is told');
  t.strictSame(
    node.ended.map(({ state }) => state),
    ['waiting', 'waiting', 'waiting', 'waiting', 'parked', 'ok'],
  );
  await node.stop();
});

t.test(
  'an attempt that something else interrupted does not count, and the next one waits longer each time',
  async (t) => {
    let interruptions = 8;
    const node = await world.node({
      it: onEvents(['todos.created'], async (given) => {
        await count(given, 'effects');
        if (interruptions-- > 0) throw new CodeFault('function-runtime-restarted');
      }),
    });
    await put('i', { n: 1 });
    for (const [before, pause] of [1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000].entries()) {
      const [waits] = await world.reaches({ state: 'waiting', attempt: 0, interruptions: before + 1 });
      t.equal(waits?.dueAt?.getTime(), world.clock.now + pause);
      await world.pass(node, pause);
    }
    t.match(await world.reaches({ state: 'ok' }), [{ attempt: 1 }]);
    t.equal(await counted('effects'), 1);
    t.equal(await events('system.function.failed'), 0);
    await node.stop();
  },
);

t.test('a run that another process has taken commits nothing', async (t) => {
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
  const one = await world.node(said, () => planner === 'one');
  const two = await world.node(said, () => planner === 'two');
  await put(randomUUID(), { n: 1 });
  await frozen.promise;
  planner = 'two';
  const [run] = await world.reaches({ state: 'ok' });
  release.resolve();
  await one.queue.quiet();
  t.equal(await counted('effects'), 1);
  t.match(run, { attempt: 2 }, 'the attempt of the first counts');
  t.equal((await world.runs({ state: 'ok' })).length, 1);
  t.strictSame([...one.errors, ...two.errors], []);
  await one.stop();
  await two.stop();
});

t.test('a run that ends its process each time is parked', async (t) => {
  const calls: string[] = [];
  const said = { it: onEvents(['todos.created'], ({ input }) => void calls.push(input.documentId)) };
  const one = await world.node(said);
  await put(randomUUID(), { n: 1 });
  await world.reaches({ state: 'ok' });
  await one.stop();
  const set = { state: 'running', token: 'of a dead process', attempt: 5 };
  await parts.mongo.log.collection('runs').updateOne({}, { $set: set, $unset: { expireAt: '' } });
  const two = await world.node(said);
  const [run] = await world.reaches({ state: 'parked' });
  t.match(run?.error, { code: 'function-runtime-restarted' });
  t.equal(calls.length, 1);
  await two.stop();
});

t.test('many runs that meet in one document are all counted once', async (t) => {
  const node = await world.node({ it: onEvents(['todos.*'], (given) => count(given, 'hot')) });
  const before = (await world.runs()).length;
  await Promise.all(Array.from({ length: 40 }, (_, n) => put(`hot-${n}`, { n })));
  await world.reaches({ state: 'ok' }, before + 40);
  t.equal(await counted('hot'), 40);
  t.equal((await world.runs({ attempt: { $gt: 1 } })).length, 0, 'none had to wait for another attempt');
  await node.stop();
});

t.test('functions that hang leave a place for the others', async (t) => {
  const end = Promise.withResolvers<void>();
  const hangs = () => end.promise.then(() => Promise.reject(new CodeFault('function-timeout')));
  let hanging = 0;
  const hang = () => {
    hanging += 1;
    return hangs();
  };
  const node = await world.node({
    one: onEvents(['todos.*'], hang),
    two: onEvents(['todos.*'], hang),
    good: onEvents(['others.*'], () => {}),
  });
  await Promise.all(Array.from({ length: 20 }, (_, n) => put(`h-${n}`, { n })));
  await until(() => hanging === 6, 'they take their places');
  await app.inject({ method: 'POST', url: '/api/others', payload: {} });
  await world.reaches({ state: 'ok', function: 'good' });
  t.equal(hanging, 6);
  hanging = 0;
  end.resolve();
  await world.reaches({ function: 'one', attempt: 1, state: 'waiting' }, 20);
  await node.stop();
});

t.test('runs of a function in quarantine, or out of force, wait; after seven days they end', async (t) => {
  const said = { it: onEvents(['todos.*'], () => {}), other: onEvents(['others.*'], () => {}) };
  const node = await world.node();
  node.use({ ...said, it: { ...said.it, isQuarantined: true } });
  await node.queue.quiet();
  await put(randomUUID(), { n: 1 });
  await world.reaches({ state: 'waiting', dueAt: { $exists: true } });
  await world.pass(node, 60_000);
  t.equal((await world.runs({ state: 'waiting', attempt: 0 })).length, 1);
  node.use(said);
  await world.reaches({ state: 'ok' });

  node.use({ ...said, it: { ...said.it, isQuarantined: true } });
  await node.queue.quiet();
  const id = randomUUID();
  for (const n of [1, 2]) await put(id, { n });
  await world.reaches({ state: 'waiting' }, 2);
  node.use({ other: said.other });
  await node.queue.quiet();
  t.equal((await world.runs({ state: 'waiting' })).length, 2, 'they wait for the function');
  world.clock.now += 7 * 24 * 3_600_000 + 1;
  node.use({ other: said.other, third: said.other });
  const [failed] = await world.reaches({ state: 'failed' }, 2);
  t.match(failed, { error: { code: 'function-not-found' }, attempt: 0, expireAt: Date });
  await node.stop();
});

t.test('the id of a run is made of what it is for', async (t) => {
  t.equal(runIdFor('p/it', '1-5'), runIdFor('p/it', '1-5'));
  t.not(runIdFor('p/it', '1-5'), runIdFor('p/at', '1-5'));
  t.match(runIdFor('p/it', '1-5'), /^run_[\w-]{22}$/);
});
