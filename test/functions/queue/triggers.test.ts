/** Triggers: which events cause runs, their input, start positions, and the end of chains. */
import t from 'tap';
import { requestIdForWrites } from '../../../src/functions/runs/run.ts';
import type { RunRow } from '../../../src/functions/runs/run-row.ts';
import { markLog } from '../../helpers/events/log-rows.ts';
import { onEvents, queueFixture } from '../../helpers/functions/queue-fixture.ts';
import { runRow } from '../../helpers/functions/run-rows.ts';
import { until } from '../../helpers/until.ts';
import { signUp } from '../../helpers/users.ts';

t.setTimeout(120_000);
const fixture = await queueFixture(t);
const { app, services } = fixture;
const post = (collection: string, payload: object) =>
  app.inject({ method: 'POST', url: `/api/${collection}`, payload });

/** Waits until the log is planned up to its end. */
const planned = (node: Awaited<ReturnType<typeof fixture.node>>) =>
  until(async () => ((await node.queue.cursor())?.number ?? 0) >= services.events.tail.position.number, 'planned');

t.afterEach(async () => {
  await services.mongo.log.collection('runs').deleteMany({});
});

t.test('An event creates one run of each matching trigger.', async (t) => {
  const got: unknown[] = [];
  const node = await fixture.node({
    all: onEvents(
      ['todos.*'],
      ({ input, call }) => void got.push(`${input.type} ${input.documentId} ${call.run.depth}`),
    ),
    big: onEvents(['todos.created'], ({ input }) => void got.push(input.data), { n: { $gt: 5 } }),
    others: onEvents(['others.*'], () => void got.push('others')),
  });
  await post('todos', { id: 'a', n: 1 });
  await post('todos', { id: 'b', n: 9 });
  await app.inject({ method: 'DELETE', url: '/api/todos/a' });
  const [first] = await fixture.reaches({ state: 'succeeded' }, 4);
  t.match(
    got.filter((one) => typeof one === 'object'),
    [{ id: 'b', n: 9 }],
  );
  t.strictSame(got.filter((one) => typeof one === 'string').sort(), [
    'todos.created a 1',
    'todos.created b 1',
    'todos.deleted a 1',
  ]);
  t.match(first, { plugin: 'p', version: '1', kind: 'trigger', attempts: 1, error: null, result: 'null', token: null });
  t.match(first?.expireAt, Date);
  t.notOk('line' in (first ?? {}), 'it has left its line');
  t.match(JSON.parse(first?.input ?? ''), { id: first?.event, type: 'todos.created', data: { id: 'a', n: 1 } });
  await planned(node);
  t.equal((await fixture.runs()).length, 4, 'and no more');
  t.strictSame(node.errors, []);
  await node.stop();
});

t.test('A trigger starts when it is activated, and again when it is reactivated.', async (t) => {
  const { log } = services.mongo;
  const stands = () => log.collection('function_positions').countDocuments({});
  const cursors = () => log.collection('consumers').countDocuments({ _id: 'functions' as never });
  const node = await fixture.node();
  const seen: unknown[] = [];
  const said = { seen: onEvents(['todos.created'], ({ input }) => void seen.push(input.data.n)) };
  const other = { other: onEvents(['others.created'], () => {}) };
  await post('todos', { n: 'before' });
  await markLog(app, services.events.tail);
  node.use(said);
  await node.queue.waitUntilIdle();
  await post('todos', { n: 1 });
  await fixture.reaches({ state: 'succeeded' });
  node.use({});
  await until(
    async () => (await stands()) + (await cursors()) === 0,
    'without a trigger there are no positions and no cursor',
  );
  await post('todos', { n: 'between' });
  await markLog(app, services.events.tail);
  t.equal((await stands()) + (await cursors()), 0);
  node.use(said);
  await node.queue.waitUntilIdle();
  await post('todos', { n: 2 });
  await fixture.reaches({ state: 'succeeded' }, 2);
  node.use(other);
  await node.queue.waitUntilIdle();
  await post('todos', { n: 'between others' });
  await markLog(app, services.events.tail);
  node.use({ ...said, ...other });
  await node.queue.waitUntilIdle();
  await post('todos', { n: 3 });
  await fixture.reaches({ state: 'succeeded' }, 3);
  await planned(node);
  t.strictSame(seen, [1, 2, 3]);
  t.strictSame(node.errors, []);
  await node.stop();
});

t.test('A trigger continues where the previous process stopped.', async (t) => {
  const seen: unknown[] = [];
  const said = { seen: onEvents(['todos.created'], ({ input }) => void seen.push(input.data.n)) };
  const one = await fixture.node(said);
  await one.queue.waitUntilIdle();
  await post('todos', { n: 1 });
  await fixture.reaches({ state: 'succeeded' });
  await one.stop();
  await post('todos', { n: 'while none runs' });
  await markLog(app, services.events.tail);
  const two = await fixture.node(said);
  await fixture.reaches({ state: 'succeeded' }, 2);
  t.strictSame(seen, [1, 'while none runs']);
  await two.stop();
});

t.test('A chain of triggers ends.', async (t) => {
  const depths: number[] = [];
  const node = await fixture.node({
    next: onEvents(['steps.created'], async ({ input, call, data, session }) => {
      depths.push(call.run.depth);
      const n = input.data.n + 1;
      const _meta = { revision: 1, by: 'function:p/next', request: requestIdForWrites(call.run.id, call.run.depth) };
      await data.collection('steps').insertOne({ n, _meta }, { session });
    }),
  });
  await post('steps', { n: 0 });
  const [skipped] = await fixture.reaches({ state: 'skipped' });
  t.strictSame(depths, [1, 2, 3, 4, 5, 6, 7, 8]);
  t.match(skipped, { depth: 9, error: { code: 'trigger-depth' }, attempts: 0, startedAt: null });
  t.equal(await services.mongo.data.collection('steps').countDocuments({}), 9);
  t.strictSame(node.errors, []);
  await node.stop();
});

t.test('user events go only to plugins that may read users', async (t) => {
  const node = await fixture.node();
  const said = { users: onEvents(['system.user.*'], () => {}) };
  node.use(said, { readsUsers: false });
  await node.queue.waitUntilIdle();
  await signUp(app, 'ann');
  await markLog(app, services.events.tail);
  await planned(node);
  t.equal((await fixture.runs()).length, 0);
  node.use(said, { readsUsers: true });
  await node.queue.waitUntilIdle();
  await signUp(app, 'bob');
  const [run] = await fixture.reaches({ state: 'succeeded' });
  t.match(JSON.parse(run?.input ?? ''), { type: 'system.user.created', data: { username: 'bob' } });
  await node.stop();
});

t.test('A waiting run of a user event is never given to code that may not read users.', async (t) => {
  const node = await fixture.node();
  const failing = onEvents(['system.user.created', 'todos.created'], ({ call }) => {
    throw new Error(`first ${call.run.restricted}`);
  });
  node.use({ users: failing });
  await node.queue.waitUntilIdle();
  await signUp(app, 'cleo');
  await post('todos', { n: 1 });
  const [, todo] = await fixture.reaches({ state: 'pending', attempts: 1 }, 2);
  t.match(
    (await fixture.runs()).map(({ restricted }) => restricted),
    [true, false],
    'by the type of the event',
  );
  t.match(todo?.error?.message, 'first false');
  // A developer stores another version.
  const got: unknown[] = [];
  const said = { users: onEvents(['none.created'], ({ input }) => void got.push(input.type)) };
  node.use(said, { readsUsers: false });
  await node.queue.waitUntilIdle();
  await fixture.pass(node, 2_000);
  await fixture.reaches({ state: 'succeeded', restricted: false });
  await node.queue.waitUntilIdle();
  t.strictSame(got, ['todos.created']);
  t.match(await fixture.runs({ restricted: true }), [{ state: 'pending', attempts: 1, version: '1' }]);
  // An admin activates theirs again.
  node.use(said, { readsUsers: true });
  await node.queue.waitUntilIdle();
  await node.queue.runDue();
  await fixture.reaches({ state: 'succeeded', restricted: true });
  t.strictSame(got, ['todos.created', 'system.user.created']);
  // If no version may receive it for seven days, it fails.
  node.use({ users: failing });
  await node.queue.waitUntilIdle();
  await signUp(app, 'dora');
  await fixture.reaches({ state: 'pending', attempts: 1 });
  fixture.clock.now += 8 * 24 * 3_600_000;
  node.use(said, { readsUsers: false });
  await node.queue.waitUntilIdle();
  t.match(await fixture.reaches({ state: 'failed' }), [{ restricted: true, error: { code: 'function-not-found' } }]);
  await node.stop();
});

t.test('A pending run that an earlier version stored is given to code by the type of its event.', async (t) => {
  const node = await fixture.node();
  const waits = (n: number, type: string) => {
    const { restricted: _, expireAt: __, ...row } = runRow(n, { plugin: 'p', function: 'all', state: 'pending' });
    return {
      ...row,
      attempts: 0,
      dueAt: new Date(0),
      token: null,
      input: `{"id":"1-${n}","type":"${type}","data":{}}`,
    };
  };
  await services.mongo.log
    .collection<RunRow>('runs')
    .insertMany([waits(1, 'system.user.created'), waits(2, 'todos.created')]);
  const got: unknown[] = [];
  node.use({ all: onEvents(['none.created'], ({ input }) => void got.push(input.type)) }, { readsUsers: false });
  await node.queue.waitUntilIdle();
  await fixture.reaches({ state: 'succeeded' });
  await node.queue.waitUntilIdle();
  t.strictSame(got, ['todos.created']);
  await node.stop();
});

t.test('A failure triggers functions that name its event, but not the failed function.', async (t) => {
  const reported: unknown[] = [];
  const node = await fixture.node({
    fails: onEvents(['todos.created', 'system.run.attempt-failed'], () => {
      throw new Error('broken');
    }),
    everything: onEvents(['*', 'system.*'], ({ input }) => void reported.push(input.type)),
    alarm: onEvents(['system.run.attempt-failed'], ({ input }) => {
      const { details } = input.data;
      reported.push(`${details.function} ${details.code}`);
      throw new Error('broken as well');
    }),
  });
  await post('todos', { n: 1 });
  await fixture.reaches({ function: 'alarm', attempts: 1, state: 'pending' });
  await fixture.reaches({ state: 'skipped', function: 'fails' });
  await planned(node);
  t.strictSame([...reported].sort(), ['p/fails function-failed', 'todos.created']);
  t.equal((await fixture.runs({ function: 'alarm' })).length, 1, 'a failure over a failure makes no more runs');
  await node.stop();
});

t.test('An event that is too long for a run is passed without its states.', async (t) => {
  const node = await fixture.node({ long: onEvents(['longs.created'], () => {}) });
  await post('longs', { text: 'x'.repeat(300_000) });
  const [run] = await fixture.reaches({ state: 'succeeded' });
  t.match(JSON.parse(run?.input ?? ''), { type: 'longs.created', data: null, truncated: true });
  await node.stop();
});
