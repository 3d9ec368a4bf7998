/**
 * The queue in a server, on the real sandbox: a plugin stored over HTTP, its trigger, job, rerun and replay, jobs over HTTP, and
 * the queries of an instance with idle triggers.
 */
import { setTimeout as pause } from 'node:timers/promises';
import t from 'tap';
import { SYSTEM_CHANGE_STAMP } from '../../../src/database/system-collection.ts';
import type { PluginFunction } from '../../../src/functions/plugins/plugin.ts';
import { QueueStore } from '../../../src/functions/queue/running/queue-store.ts';
import { TriggerReplays } from '../../../src/functions/queue/trigger-replays.ts';
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
    await ctx.documents('notes').create({ of: event.documentId, attempts: ctx.run.attempt });
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
/** Other activity may have interfered: the count is repeated up to this many times. */
const ATTEMPTS = 3;

t.setTimeout(180_000);
t.test('A plugin stored over HTTP runs its triggers and jobs.', async (t) => {
  const { app, services } = await buildTestApp(t);
  const request = async (method: 'GET' | 'PUT' | 'POST' | 'PATCH' | 'DELETE', url: string, payload?: object) => {
    const response = await app.inject({ method, url, ...(payload === undefined ? {} : { payload }) });
    return {
      status: response.statusCode,
      headers: response.headers,
      body: response.body === '' ? null : response.json(),
    };
  };
  const runs = async (query: string) => (await request('GET', `/admin/runs?${query}`)).body;
  const reaches = (query: string, count: number) =>
    until(async () => (await runs(query)).length >= count, `${count} runs ${query}`);

  // A later trigger does not start at the position where another plugin was changed.
  const hello = { name: 'hello', functions: [{ name: 'hi', file: 'hi.ts', http: { method: 'GET', path: '/hi' } }] };
  await request('PUT', '/admin/plugins/hello', { manifest: hello, files: { 'hi.ts': 'export default () => 1;' } });
  await request('POST', '/api/todos', { id: 'earlier', after: 0 });
  await markLog(app, services.events.tail);

  const stored = await request('PUT', '/admin/plugins/notes', {
    manifest: { name: 'notes', ...MANIFEST },
    files: FILES,
  });
  t.equal(stored.status, 201, JSON.stringify(stored.body));
  await request('POST', '/api/todos', { id: 'a', after: 0 });
  await reaches('functionName=later&state=succeeded', 1);
  t.match(
    (await request('GET', '/api/laters')).body,
    [{ of: 'a' }],
    'a client that stores a plugin and then writes gets its run',
  );
  t.equal((await runs('functionName=note')).length, 1, 'and none for writes before the plugin');
  t.match((await request('GET', '/api/notes')).body, [{ of: 'a', attempts: 1 }]);
  const [run] = await runs('functionName=note');
  const whole = (await request('GET', `/admin/runs/${run.id}`)).body;
  t.match(whole, {
    state: 'succeeded',
    kind: 'trigger',
    logs: [{ text: /^scheduled run_/ }],
    operations: { length: 2 },
  });
  t.equal(JSON.parse(whole.input).documentId, 'a');

  const again = await request('POST', `/admin/runs/${run.id}/rerun`);
  t.match(again, { status: 202, body: { state: 'pending', function: 'note', event: run.event } });
  await reaches('functionName=later&state=succeeded', 2);
  t.match(await runs('functionName=note'), [{ id: again.body.id, state: 'succeeded' }, { id: run.id }]);

  await t.test('A range of the log is replayed to a trigger in order, bounded, and with an event.', async (t) => {
    const url = '/admin/plugins/shipping/functions/ship/replay';
    const manifest = { name: 'shipping', functions: [{ name: 'ship', file: 'ship.ts', roles: ['notes'], ...SHIP }] };
    const since = String((await request('GET', '/events')).body.position);
    await request('POST', '/api/orders', [
      { id: 'x', paid: true, n: 0 },
      { id: 'y', paid: false, n: 0 },
    ]);
    for (const n of [1, 2, 3]) await request('PATCH', '/api/orders/x', { n });
    await until(
      async () => (await request('GET', `/events?since=${since}&types=orders.*`)).body.events.length === 5,
      'all are in the log',
    );
    t.equal((await request('PUT', '/admin/plugins/shipping', { manifest, files: SHIP_FILES })).status, 201);
    t.strictSame(await runs('functionName=ship'), [], 'a trigger counts from when it is there');

    const reported = await request('POST', url, { since });
    t.match(reported, { status: 202, body: { count: 4, done: true } });
    await reaches('functionName=ship&state=succeeded', 4);
    const shipped = async () => (await request('GET', '/api/ships?sort=_meta.createdAt,id')).body;
    t.strictSame(
      (await shipped()).map(({ n }: { n: number }) => n),
      [0, 1, 2, 3],
      'what matches its filter, in the order of the log',
    );
    const events = (await request('GET', `/events?since=${since}&types=system.function.replayed`)).body.events;
    t.match(events, [
      { data: { details: { function: 'shipping/ship', runs: '4', since, until: reported.body.until } } },
    ]);

    const some = await request('POST', url, { since, until: reported.body.until, types: ['orders.created'] });
    t.match(some, { status: 202, body: { count: 1, done: true, position: reported.body.until } });
    await reaches('functionName=ship&state=succeeded', 5);
    for (const [path, body, status, code] of [
      [url, { since: 'x' }, 400, 'invalid-body'],
      [url, {}, 400, 'invalid-body'],
      [url, { since, types: ['orders.create'] }, 400, 'invalid-parameter'],
      [url, { since: '1-999999' }, 410, 'position-unknown'],
      [url.replace('ship/', 'none/'), { since }, 404, 'function-not-found'],
      ['/admin/plugins/notes/functions/later/replay', { since }, 404, 'function-not-found'],
    ] as const) {
      t.match(await request('POST', path, body), { status, body: { code } }, `${path} ${JSON.stringify(body)}`);
    }
    t.equal((await runs('functionName=ship')).length, 5, 'a rejected request creates no run');

    const fn = services.functions.active.find('shipping/ship');
    if (fn?.options.kind !== 'trigger') throw new Error('The trigger is not active');
    const replays = new TriggerReplays({
      store: new QueueStore(services.mongo),
      events: services.events,
      activity: services.auth.activity,
      publicUrl: undefined,
      most: 2,
    });
    const trigger = fn as PluginFunction<'trigger'>;
    const range = { since, until: reported.body.until, types: null };
    const first = await replays.replay(trigger, range, SYSTEM_CHANGE_STAMP);
    t.match(first, { done: false, until: reported.body.until }, 'a call is bounded');
    const rest = await replays.replay(trigger, { ...range, since: first.position }, SYSTEM_CHANGE_STAMP);
    t.equal(Number(rest.position.split('-')[1]), Number(since.split('-')[1]) + 4, 'and the next continues after it');
    await reaches('functionName=ship&state=succeeded', 5 + first.count + rest.count);
  });

  for (const after of [3_600_000, 7_200_000]) await request('POST', '/api/todos', { after });
  await reaches('functionName=later&state=pending', 2);
  const first = await request('GET', '/admin/jobs?limit=1');
  t.match(first.body, [{ plugin: 'notes', function: 'later', state: 'pending', attempts: 0 }]);
  t.equal(first.headers['millrace-next'], first.body[0].id);
  const second = await request('GET', `/admin/jobs?limit=1&cursor=${first.body[0].id}`);
  t.equal(second.headers['millrace-next'], undefined);
  t.ok(second.body[0].scheduledAt > first.body[0].scheduledAt);
  t.equal((await request('DELETE', `/admin/jobs/${first.body[0].id}`)).status, 204);
  t.match(await request('DELETE', `/admin/jobs/${first.body[0].id}`), {
    status: 404,
    body: { code: 'scheduled-job-not-found' },
  });
  t.match((await request('GET', '/admin/jobs')).body, [{ id: second.body[0].id }]);
  for (const [query, code] of [
    ['limit=0', 'invalid-parameter'],
    ['x=1', 'unknown-parameter'],
    ['cursor=nothing', 'cursor-mismatch'],
  ] as const) {
    t.match((await request('GET', `/admin/jobs?${query}`)).body, { code }, query);
  }

  const { log } = services.mongo;
  const requested = async (since: Date) => {
    const own = { ns: /\.(runs|function_positions|consumers)$/, ts: { $gte: since } };
    const found = await log.collection('system.profile').find(own).toArray();
    return found.map(({ op, ns, command }) => `${op} ${ns} ${JSON.stringify(command).slice(0, 200)}`);
  };
  await log.command({ profile: 2 });
  let commands: readonly string[] = ['not counted yet'];
  for (let attempts = 0; attempts < ATTEMPTS && commands.length > 0; attempts += 1) {
    await pause(1_500);
    const since = new Date();
    await pause(IDLE_MS);
    commands = await requested(since);
  }
  await log.command({ profile: 0 });
  t.strictSame(commands, [], 'an idle queue sends no queries');
});
