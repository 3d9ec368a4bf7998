/**
 * An idle instance with 100 endpoints and two processes sends the database no queries for webhooks: counted by the
 * database's profiler, over every command on their collections and on the planner's cursor.
 */
import { setTimeout as pause } from 'node:timers/promises';
import t from 'tap';
import type { Creator } from '../../../src/webhooks/endpoint/endpoint.ts';
import { buildTestApp } from '../../helpers/app.ts';
import { testMongo } from '../../helpers/mongo.ts';
import { until } from '../../helpers/until.ts';
import { openEventReceiver } from '../../helpers/webhooks/event-receiver.ts';

const NOBODY = { by: null, request: null };
const ENDPOINTS = 100;
const COUNTED_MS = Number(process.env['MILLRACE_IDLE_MS'] ?? 6_000);
/** Other work may have been active: the count is repeated, at most this many times. */
const ATTEMPTS = 3;

t.setTimeout(120_000 + ATTEMPTS * COUNTED_MS);
t.test('an idle instance sends the database no queries for webhooks', async (t) => {
  const position = await testMongo(t);
  const { app, services } = await buildTestApp(t, {}, position);
  const second = await buildTestApp(t, {}, position);
  const receiver = await openEventReceiver(t);
  const boss = await services.auth.users.create({ kind: 'admin', email: 'b@example.org', roles: ['owner'] }, NOBODY);
  const owner: Creator = { kind: 'admin', id: boss._id };
  for (let n = 0; n < ENDPOINTS; n += 1) {
    const types = [n % 2 === 0 ? 'todos.*' : 'others.created'];
    await services.webhooks.endpoints.create({ url: `${receiver.url}/${n}`, types }, owner, NOBODY);
  }
  await until(() => second.services.webhooks.endpoints.activeNow().length === ENDPOINTS, 'both processes have them');
  await app.inject({ method: 'POST', url: '/api/todos', payload: {} });
  await until(() => receiver.received.length === ENDPOINTS / 2, 'deliveries are sent');

  const { data, log } = services.mongo;
  const requested = async (since: Date) => {
    const own = { $or: [{ ns: /\.(_endpoints|webhook_)/ }, { ns: /\.consumers$/, 'command.q._id': 'webhooks' }] };
    const found = [];
    for (const db of [data, log]) {
      found.push(
        ...(await db
          .collection('system.profile')
          .find({ ...own, ts: { $gte: since } })
          .toArray()),
      );
    }
    return found.map(({ op, ns, command }) => `${op} ${ns} ${JSON.stringify(command).slice(0, 200)}`);
  };
  for (const db of [data, log]) await db.command({ profile: 2 });
  t.teardown(async () => {
    for (const db of [data, log]) await db.command({ profile: 0 });
  });
  const before = new Date();
  await data.collection('_endpoints').findOne({});
  await until(async () => (await requested(before)).length > 0, 'the profiler records queries');
  let commands: readonly string[] = ['not counted yet'];
  for (let attempts = 0; attempts < ATTEMPTS && commands.length > 0; attempts += 1) {
    await pause(2_000);
    const since = new Date();
    await pause(COUNTED_MS);
    commands = await requested(since);
    t.comment(`${commands.length} commands in ${COUNTED_MS} ms`);
  }
  t.strictSame(commands, []);
});
