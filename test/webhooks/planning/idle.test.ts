/**
 * An installation with 100 endpoints and two processes that nobody uses asks the database nothing for webhooks: counted by
 * the database's own profiler, over every command on their collections and on the planner's cursor.
 */
import { setTimeout as pause } from 'node:timers/promises';
import t from 'tap';
import type { Maker } from '../../../src/webhooks/endpoint/endpoint.ts';
import { buildTestApp } from '../../helpers/app.ts';
import { testMongo } from '../../helpers/mongo.ts';
import { until } from '../../helpers/until.ts';
import { openEventReceiver } from '../../helpers/webhooks/event-receiver.ts';

const NOBODY = { by: null, request: null };
const ENDPOINTS = 100;
const COUNTED_MS = Number(process.env['MILLRACE_IDLE_MS'] ?? 6_000);
/** Something else may have been under way: counted again then, at most so often in all. */
const TRIES = 3;

t.setTimeout(120_000 + TRIES * COUNTED_MS);
t.test('an idle installation asks nothing for webhooks', async (t) => {
  const place = await testMongo(t);
  const { app, parts } = await buildTestApp(t, {}, place);
  const second = await buildTestApp(t, {}, place);
  const receiver = await openEventReceiver(t);
  const boss = await parts.auth.users.create({ kind: 'owner', email: 'b@example.org', roles: ['owner'] }, NOBODY);
  const owner: Maker = { kind: 'owner', id: boss._id };
  for (let n = 0; n < ENDPOINTS; n += 1) {
    const types = [n % 2 === 0 ? 'todos.*' : 'others.created'];
    await parts.webhooks.endpoints.create({ url: `${receiver.url}/${n}`, types }, owner, NOBODY);
  }
  await until(() => second.parts.webhooks.endpoints.inForce().length === ENDPOINTS, 'both processes know them');
  await app.inject({ method: 'POST', url: '/api/todos', payload: {} });
  await until(() => receiver.received.length === ENDPOINTS / 2, 'deliveries are made');

  const { data, log } = parts.mongo;
  const asked = async (since: Date) => {
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
  await until(async () => (await asked(before)).length > 0, 'the profiler tells of what is asked');
  let commands: readonly string[] = ['not counted yet'];
  for (let tries = 0; tries < TRIES && commands.length > 0; tries += 1) {
    await pause(2_000);
    const since = new Date();
    await pause(COUNTED_MS);
    commands = await asked(since);
    t.comment(`${commands.length} commands in ${COUNTED_MS} ms`);
  }
  t.strictSame(commands, []);
});
