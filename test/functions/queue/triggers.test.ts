/** Triggers: which events make runs, what a run gets, since when, and where chains end. */
import t from 'tap';
import { requestOfRun } from '../../../src/functions/runs/run.ts';
import type { RunRow } from '../../../src/functions/runs/run-row.ts';
import { signUp } from '../../helpers/accounts.ts';
import { markLog } from '../../helpers/events/log-rows.ts';
import { onEvents, queueWorld } from '../../helpers/functions/queue-world.ts';
import { runRow } from '../../helpers/functions/run-rows.ts';
import { until } from '../../helpers/until.ts';

t.setTimeout(120_000);
const world = await queueWorld(t);
const { app, parts } = world;
const post = (collection: string, payload: object) =>
  app.inject({ method: 'POST', url: `/api/${collection}`, payload });

/** Waits until the log is planned up to its end. */
const planned = (node: Awaited<ReturnType<typeof world.node>>) =>
  until(async () => ((await node.queue.cursor())?.number ?? 0) >= parts.events.tail.position.number, 'planned');

t.afterEach(async () => {
  await parts.mongo.log.collection('runs').deleteMany({});
});

t.test('an event makes one run of each trigger that wants it', async (t) => {
  const got: unknown[] = [];
  const node = await world.node({
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
  const [first] = await world.reaches({ state: 'ok' }, 4);
  t.match(
    got.filter((one) => typeof one === 'object'),
    [{ id: 'b', n: 9 }],
  );
  t.strictSame(got.filter((one) => typeof one === 'string').sort(), [
    'todos.created a 1',
    'todos.created b 1',
    'todos.deleted a 1',
  ]);
  t.match(first, { plugin: 'p', version: '1', kind: 'trigger', attempt: 1, error: null, result: 'null', token: null });
  t.match(first?.expireAt, Date);
  t.notOk('line' in (first ?? {}), 'it has left its line');
  t.match(JSON.parse(first?.input ?? ''), { id: first?.event, type: 'todos.created', data: { id: 'a', n: 1 } });
  await planned(node);
  t.equal((await world.runs()).length, 4, 'and no more');
  t.strictSame(node.errors, []);
  await node.stop();
});

t.test('a trigger begins when it comes into force, and again when it comes back', async (t) => {
  const { log } = parts.mongo;
  const stands = () => log.collection('function_standing').countDocuments({});
  const cursors = () => log.collection('consumers').countDocuments({ _id: 'functions' as never });
  const node = await world.node();
  const seen: unknown[] = [];
  const said = { seen: onEvents(['todos.created'], ({ input }) => void seen.push(input.data.n)) };
  const other = { other: onEvents(['others.created'], () => {}) };
  await post('todos', { n: 'before' });
  await markLog(app, parts.events.tail);
  node.use(said);
  await node.queue.quiet();
  await post('todos', { n: 1 });
  await world.reaches({ state: 'ok' });
  node.use({});
  await until(
    async () => (await stands()) + (await cursors()) === 0,
    'without a trigger nothing stands, no cursor either',
  );
  await post('todos', { n: 'between' });
  await markLog(app, parts.events.tail);
  t.equal((await stands()) + (await cursors()), 0);
  node.use(said);
  await node.queue.quiet();
  await post('todos', { n: 2 });
  await world.reaches({ state: 'ok' }, 2);
  node.use(other);
  await node.queue.quiet();
  await post('todos', { n: 'between others' });
  await markLog(app, parts.events.tail);
  node.use({ ...said, ...other });
  await node.queue.quiet();
  await post('todos', { n: 3 });
  await world.reaches({ state: 'ok' }, 3);
  await planned(node);
  t.strictSame(seen, [1, 2, 3]);
  t.strictSame(node.errors, []);
  await node.stop();
});

t.test('a trigger goes on where the process before has ended', async (t) => {
  const seen: unknown[] = [];
  const said = { seen: onEvents(['todos.created'], ({ input }) => void seen.push(input.data.n)) };
  const one = await world.node(said);
  await one.queue.quiet();
  await post('todos', { n: 1 });
  await world.reaches({ state: 'ok' });
  await one.stop();
  await post('todos', { n: 'while none runs' });
  await markLog(app, parts.events.tail);
  const two = await world.node(said);
  await world.reaches({ state: 'ok' }, 2);
  t.strictSame(seen, [1, 'while none runs']);
  await two.stop();
});

t.test('a chain of triggers ends', async (t) => {
  const depths: number[] = [];
  const node = await world.node({
    next: onEvents(['steps.created'], async ({ input, call, data, session }) => {
      depths.push(call.run.depth);
      const n = input.data.n + 1;
      const _meta = { revision: 1, by: 'function:p/next', request: requestOfRun(call.run.id, call.run.depth) };
      await data.collection('steps').insertOne({ n, _meta }, { session });
    }),
  });
  await post('steps', { n: 0 });
  const [refused] = await world.reaches({ state: 'refused' });
  t.strictSame(depths, [1, 2, 3, 4, 5, 6, 7, 8]);
  t.match(refused, { depth: 9, error: { code: 'trigger-depth' }, attempt: 0, startedAt: null });
  t.equal(await parts.mongo.data.collection('steps').countDocuments({}), 9);
  t.strictSame(node.errors, []);
  await node.stop();
});

t.test('what happens to accounts is told only to plugins that may know', async (t) => {
  const node = await world.node();
  const said = { users: onEvents(['system.user.*'], () => {}) };
  node.use(said, { readsAccounts: false });
  await node.queue.quiet();
  await signUp(app, 'ann');
  await markLog(app, parts.events.tail);
  await planned(node);
  t.equal((await world.runs()).length, 0);
  node.use(said, { readsAccounts: true });
  await node.queue.quiet();
  await signUp(app, 'bob');
  const [run] = await world.reaches({ state: 'ok' });
  t.match(JSON.parse(run?.input ?? ''), { type: 'system.user.created', data: { username: 'bob' } });
  await node.stop();
});

t.test('A run of accounts that waits is never given to code that may not read accounts.', async (t) => {
  const node = await world.node();
  const failing = onEvents(['system.user.created', 'todos.created'], ({ call }) => {
    throw new Error(`first ${call.run.restricted}`);
  });
  node.use({ users: failing });
  await node.queue.quiet();
  await signUp(app, 'cleo');
  await post('todos', { n: 1 });
  const [, todo] = await world.reaches({ state: 'waiting', attempt: 1 }, 2);
  t.match(
    (await world.runs()).map(({ restricted }) => restricted),
    [true, false],
    'by the type of the event',
  );
  t.match(todo?.error?.message, 'first false');
  // A developer stores another version.
  const got: unknown[] = [];
  const said = { users: onEvents(['none.created'], ({ input }) => void got.push(input.type)) };
  node.use(said, { readsAccounts: false });
  await node.queue.quiet();
  await world.pass(node, 2_000);
  await world.reaches({ state: 'ok', restricted: false });
  await node.queue.quiet();
  t.strictSame(got, ['todos.created']);
  t.match(await world.runs({ restricted: true }), [{ state: 'waiting', attempt: 1, version: '1' }]);
  // An admin puts theirs in force again.
  node.use(said, { readsAccounts: true });
  await node.queue.quiet();
  await node.queue.look();
  await world.reaches({ state: 'ok', restricted: true });
  t.strictSame(got, ['todos.created', 'system.user.created']);
  // When no version may be given it for seven days, it ends.
  node.use({ users: failing });
  await node.queue.quiet();
  await signUp(app, 'dora');
  await world.reaches({ state: 'waiting', attempt: 1 });
  world.clock.now += 8 * 24 * 3_600_000;
  node.use(said, { readsAccounts: false });
  await node.queue.quiet();
  t.match(await world.reaches({ state: 'failed' }), [{ restricted: true, error: { code: 'function-not-found' } }]);
  await node.stop();
});

t.test('A waiting run that an earlier version stored is given to code by the type of its event.', async (t) => {
  const node = await world.node();
  const waits = (n: number, type: string) => {
    const { restricted: _, expireAt: __, ...row } = runRow(n, { plugin: 'p', function: 'all', state: 'waiting' });
    return { ...row, attempt: 0, dueAt: new Date(0), token: null, input: `{"id":"1-${n}","type":"${type}","data":{}}` };
  };
  await parts.mongo.log
    .collection<RunRow>('runs')
    .insertMany([waits(1, 'system.user.created'), waits(2, 'todos.created')]);
  const got: unknown[] = [];
  node.use({ all: onEvents(['none.created'], ({ input }) => void got.push(input.type)) }, { readsAccounts: false });
  await node.queue.quiet();
  await world.reaches({ state: 'ok' });
  await node.queue.quiet();
  t.strictSame(got, ['todos.created']);
  await node.stop();
});

t.test('a failure is told to triggers that name it, but not to the function that failed', async (t) => {
  const told: unknown[] = [];
  const node = await world.node({
    fails: onEvents(['todos.created', 'system.function.failed'], () => {
      throw new Error('broken');
    }),
    everything: onEvents(['*', 'system.*'], ({ input }) => void told.push(input.type)),
    alarm: onEvents(['system.function.failed'], ({ input }) => {
      const { details } = input.data;
      told.push(`${details.function} ${details.code}`);
      throw new Error('broken as well');
    }),
  });
  await post('todos', { n: 1 });
  await world.reaches({ function: 'alarm', attempt: 1, state: 'waiting' });
  await world.reaches({ state: 'refused', function: 'fails' });
  await planned(node);
  t.strictSame([...told].sort(), ['p/fails function-failed', 'todos.created']);
  t.equal((await world.runs({ function: 'alarm' })).length, 1, 'a failure over a failure makes no more runs');
  await node.stop();
});

t.test('an event that is too long for a run goes without its states', async (t) => {
  const node = await world.node({ long: onEvents(['longs.created'], () => {}) });
  await post('longs', { text: 'x'.repeat(300_000) });
  const [run] = await world.reaches({ state: 'ok' });
  t.match(JSON.parse(run?.input ?? ''), { type: 'longs.created', data: null, truncated: true });
  await node.stop();
});
