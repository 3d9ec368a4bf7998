/**
 * The queue in a server, on the real sandbox: a plugin that is stored over HTTP, its trigger, its job, a repetition and a replay
 * of a range, jobs over HTTP, and what an installation with triggers that nobody uses asks the database.
 */
import { setTimeout as pause } from 'node:timers/promises';
import t from 'tap';
import { ITSELF } from '../../../src/database/system-collection.ts';
import { QueueStore } from '../../../src/functions/kinds/queue/running/queue-store.ts';
import { TriggerReplays } from '../../../src/functions/kinds/queue/trigger-replays.ts';
import type { PluginFunction } from '../../../src/functions/plugins/plugin.ts';
import { buildTestApp } from '../../helpers/app.ts';
import { markLog } from '../../helpers/events/log-rows.ts';
import { until } from '../../helpers/until.ts';

const MANIFEST = {
  functions: [
    { name: 'note', file: 'note.ts', on: ['todos.created'], roles: ['notes'] },
    { name: 'later', file: 'later.ts', job: true, roles: ['notes'] },
  ],
};
const FILES = {
  'note.ts': `export default async (event, ctx) => {
    await ctx.documents('notes').create({ of: event.documentId, attempt: ctx.run.attempt });
    const { id } = await ctx.schedule('later', { of: event.documentId }, { after: event.data.after });
    console.log('scheduled ' + id);
    return { id };
  };`,
  'later.ts': `export default async (input, ctx) => {
    await ctx.documents('laters').create(input);
  };`,
};
const SHIP = { on: ['orders.*'], filter: { paid: true } };
const SHIP_FILES = {
  'ship.ts': `export default async (event, ctx) => {
    await ctx.documents('ships').create({ n: event.data.n });
  };`,
};
const IDLE_MS = 4_000;
/** Something else may have been under way: counted again then, at most so often in all. */
const TRIES = 3;

t.setTimeout(180_000);
t.test('a plugin over HTTP, its runs and its jobs', async (t) => {
  const { app, parts } = await buildTestApp(t);
  const ask = async (method: 'GET' | 'PUT' | 'POST' | 'PATCH' | 'DELETE', url: string, payload?: object) => {
    const answer = await app.inject({ method, url, ...(payload === undefined ? {} : { payload }) });
    return { status: answer.statusCode, headers: answer.headers, body: answer.body === '' ? null : answer.json() };
  };
  const runs = async (query: string) => (await ask('GET', `/admin/runs?${query}`)).body;
  const reaches = (query: string, count: number) =>
    until(async () => (await runs(query)).length >= count, `${count} runs ${query}`);

  // A trigger that comes later does not begin where another plugin was changed.
  const hello = { name: 'hello', functions: [{ name: 'hi', file: 'hi.ts', http: { method: 'GET', path: '/hi' } }] };
  await ask('PUT', '/admin/plugins/hello', { manifest: hello, files: { 'hi.ts': 'export default () => 1;' } });
  await ask('POST', '/api/todos', { id: 'earlier', after: 0 });
  await markLog(app, parts.events.tail);

  const stored = await ask('PUT', '/admin/plugins/notes', { manifest: { name: 'notes', ...MANIFEST }, files: FILES });
  t.equal(stored.status, 201, JSON.stringify(stored.body));
  await ask('POST', '/api/todos', { id: 'a', after: 0 });
  await reaches('function=later&state=ok', 1);
  t.match(
    (await ask('GET', '/api/laters')).body,
    [{ of: 'a' }],
    'a client that stores a plugin and then writes gets its run',
  );
  t.equal((await runs('function=note')).length, 1, 'and none for what was written before the plugin');
  t.match((await ask('GET', '/api/notes')).body, [{ of: 'a', attempt: 1 }]);
  const [run] = await runs('function=note');
  const whole = (await ask('GET', `/admin/runs/${run.id}`)).body;
  t.match(whole, { state: 'ok', kind: 'trigger', logs: [{ text: /^scheduled run_/ }], operations: { length: 2 } });
  t.equal(JSON.parse(whole.input).documentId, 'a');

  const again = await ask('POST', `/admin/runs/${run.id}/repeat`);
  t.match(again, { status: 202, body: { state: 'waiting', function: 'note', event: run.event } });
  await reaches('function=later&state=ok', 2);
  t.match(await runs('function=note'), [{ id: again.body.id, state: 'ok' }, { id: run.id }]);

  await t.test('a range of the log goes to the trigger once more, in order, bounded, and is told', async (t) => {
    const url = '/admin/plugins/shipping/functions/ship/replay';
    const manifest = { name: 'shipping', functions: [{ name: 'ship', file: 'ship.ts', roles: ['notes'], ...SHIP }] };
    const since = String((await ask('GET', '/events')).body.position);
    await ask('POST', '/api/orders', [
      { id: 'x', paid: true, n: 0 },
      { id: 'y', paid: false, n: 0 },
    ]);
    for (const n of [1, 2, 3]) await ask('PATCH', '/api/orders/x', { n });
    await until(
      async () => (await ask('GET', `/events?since=${since}&types=orders.*`)).body.events.length === 5,
      'all are in the log',
    );
    t.equal((await ask('PUT', '/admin/plugins/shipping', { manifest, files: SHIP_FILES })).status, 201);
    t.strictSame(await runs('function=ship'), [], 'a trigger counts from when it is there');

    const told = await ask('POST', url, { since });
    t.match(told, { status: 202, body: { count: 4, done: true } });
    await reaches('function=ship&state=ok', 4);
    const shipped = async () => (await ask('GET', '/api/ships?sort=_meta.createdAt,id')).body;
    t.strictSame(
      (await shipped()).map(({ n }: { n: number }) => n),
      [0, 1, 2, 3],
      'what matches its filter, in the order of the log',
    );
    const events = (await ask('GET', `/events?since=${since}&types=system.function.replayed`)).body.events;
    t.match(events, [{ data: { details: { function: 'shipping/ship', runs: '4', since, until: told.body.until } } }]);

    const some = await ask('POST', url, { since, until: told.body.until, types: ['orders.created'] });
    t.match(some, { status: 202, body: { count: 1, done: true, position: told.body.until } });
    await reaches('function=ship&state=ok', 5);
    for (const [path, body, status, code] of [
      [url, { since: 'x' }, 400, 'invalid-body'],
      [url, {}, 400, 'invalid-body'],
      [url, { since, types: ['orders.create'] }, 400, 'invalid-parameter'],
      [url, { since: '1-999999' }, 410, 'position-unknown'],
      [url.replace('ship/', 'none/'), { since }, 404, 'function-not-found'],
      ['/admin/plugins/notes/functions/later/replay', { since }, 404, 'function-not-found'],
    ] as const) {
      t.match(await ask('POST', path, body), { status, body: { code } }, `${path} ${JSON.stringify(body)}`);
    }
    t.equal((await runs('function=ship')).length, 5, 'what is refused makes no run');

    const fn = parts.functions.active.find('shipping/ship');
    if (fn?.use.kind !== 'trigger') throw new Error('The trigger is not in force');
    const replays = new TriggerReplays({
      store: new QueueStore(parts.mongo),
      events: parts.events,
      activity: parts.auth.activity,
      publicUrl: undefined,
      most: 2,
    });
    const trigger = fn as PluginFunction<'trigger'>;
    const range = { since, until: told.body.until, types: null };
    const first = await replays.replay(trigger, range, ITSELF);
    t.match(first, { done: false, until: told.body.until }, 'a call is bounded');
    const rest = await replays.replay(trigger, { ...range, since: first.position }, ITSELF);
    t.equal(Number(rest.position.split('-')[1]), Number(since.split('-')[1]) + 4, 'and the next goes on after it');
    await reaches('function=ship&state=ok', 5 + first.count + rest.count);
  });

  for (const after of [3_600_000, 7_200_000]) await ask('POST', '/api/todos', { after });
  await reaches('function=later&state=waiting', 2);
  const first = await ask('GET', '/admin/jobs?limit=1');
  t.match(first.body, [{ plugin: 'notes', function: 'later', state: 'waiting', attempt: 0 }]);
  t.equal(first.headers['millrace-next'], first.body[0].id);
  const second = await ask('GET', `/admin/jobs?limit=1&cursor=${first.body[0].id}`);
  t.equal(second.headers['millrace-next'], undefined);
  t.ok(second.body[0].scheduledAt > first.body[0].scheduledAt);
  t.equal((await ask('DELETE', `/admin/jobs/${first.body[0].id}`)).status, 204);
  t.match(await ask('DELETE', `/admin/jobs/${first.body[0].id}`), { status: 404, body: { code: 'job-not-found' } });
  t.match((await ask('GET', '/admin/jobs')).body, [{ id: second.body[0].id }]);
  for (const [query, code] of [
    ['limit=0', 'invalid-parameter'],
    ['x=1', 'unknown-parameter'],
    ['cursor=nothing', 'cursor-mismatch'],
  ] as const) {
    t.match((await ask('GET', `/admin/jobs?${query}`)).body, { code }, query);
  }

  const { log } = parts.mongo;
  const asked = async (since: Date) => {
    const own = { ns: /\.(runs|function_standing|consumers)$/, ts: { $gte: since } };
    const found = await log.collection('system.profile').find(own).toArray();
    return found.map(({ op, ns, command }) => `${op} ${ns} ${JSON.stringify(command).slice(0, 200)}`);
  };
  await log.command({ profile: 2 });
  let commands: readonly string[] = ['not counted yet'];
  for (let tries = 0; tries < TRIES && commands.length > 0; tries += 1) {
    await pause(1_500);
    const since = new Date();
    await pause(IDLE_MS);
    commands = await asked(since);
  }
  await log.command({ profile: 0 });
  t.strictSame(commands, [], 'while nothing happens the queue asks nothing');
});
