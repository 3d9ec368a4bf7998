/**
 * A range of the log is sent to one endpoint again, under the same ids, across restarts; and samples are real events.
 */
import t, { type Test } from 'tap';
import { type LogPosition, parsePosition } from '../../../src/events/log/position.ts';
import type { Creator } from '../../../src/webhooks/endpoint/endpoint.ts';
import { buildTestApp } from '../../helpers/app.ts';
import { testMongo } from '../../helpers/mongo.ts';
import { withPolicies } from '../../helpers/policies.ts';
import { until } from '../../helpers/until.ts';
import { openEventReceiver } from '../../helpers/webhooks/event-receiver.ts';

t.setTimeout(120_000);
const NOBODY = { by: null, request: null };
const ALL = { resources: ['*'], actions: ['read', 'create', 'update', 'delete'], principals: { anonymous: true } };

async function fixture(t: Test, position?: Awaited<ReturnType<typeof testMongo>>) {
  const built = await buildTestApp(t, {}, position);
  withPolicies(built.services, [ALL]);
  const { events, webhooks } = built.services;
  const here = (): LogPosition => parsePosition(events.feed.position) ?? { epoch: 0, number: 0 };
  /** Resolves when this many events of todos after a position have been delivered to readers. */
  const reported = (since: LogPosition, count: number) =>
    until(async () => {
      const rows = await events.log.read(since.number, 10_000);
      const last = rows.filter(({ collection, key }) => collection === 'todos' && key !== null)[count - 1];
      return last !== undefined && here().number >= last.number;
    }, `${count} have arrived`);
  const done = async (id: string) => (await webhooks.replays.find(id))?.state === 'succeeded';
  return { ...built, webhooks, here, reported, done };
}

async function ownerOf({ services }: Pick<Awaited<ReturnType<typeof fixture>>, 'services'>): Promise<Creator> {
  const boss = await services.auth.users.create({ kind: 'admin', email: 'b@example.org', roles: ['owner'] }, NOBODY);
  return { kind: 'admin', id: boss._id };
}

t.test('a replay sends events from before an endpoint was created, within its bounds', async (t) => {
  const one = await fixture(t);
  const { app, webhooks, here, done } = one;
  const receiver = await openEventReceiver(t);
  const owner = await ownerOf(one);
  const put = (id: string, n: number) =>
    app.inject({ method: 'PUT', url: `/api/todos/${id}?upsert=true`, payload: { n } });
  const since = here();
  await put('a', 1);
  await put('a', 2);
  await put('b', 1);
  await one.reported(since, 3);
  const middle = here();
  await put('c', 1);
  await one.reported(since, 4);
  const body = { url: `${receiver.url}/all`, types: ['todos.*'] };
  const { id } = (await webhooks.endpoints.create(body, owner, NOBODY)).shown.endpoint;

  const first = await webhooks.replays.begin({ endpoint: id, since, until: null, types: null }, NOBODY);
  t.match(first, { endpoint: id, state: 'running', sent: 0 });
  await until(() => done(first.id), 'the replay is done');
  t.match(await webhooks.replays.find(first.id), { state: 'succeeded', sent: 4 });
  await until(() => receiver.at('/all').length === 4, 'all arrive');
  const ids = (types: RegExp) =>
    receiver.at('/all').flatMap(({ event, headers }) => (types.test(event.type) ? [headers['webhook-id']] : []));
  t.equal(new Set(ids(/./)).size, 4);
  t.ok(receiver.at('/all').every(({ event, headers }) => event.id === headers['webhook-id']));
  const isDelivered = async () => {
    const { deliveries } = await webhooks.sender.deliveries({ endpoint: id, state: 'succeeded', limit: 10 });
    return deliveries.length === 4;
  };
  await until(isDelivered, 'no try is under way, which a replay would leave alone');

  const second = await webhooks.replays.begin(
    { endpoint: id, since, until: middle, types: ['*.updated', 'x.*'] },
    NOBODY,
  );
  await until(() => done(second.id), 'the second replay is done');
  t.match(await webhooks.replays.find(second.id), { sent: 1 });
  await until(() => receiver.at('/all').length === 5, 'the repeat arrives');
  t.equal(new Set(ids(/updated/)).size, 1, 'a repeat keeps its id');
  t.equal(ids(/updated/).length, 2);
  t.equal(await webhooks.replays.find('none'), null);

  const { endpoint } = await webhooks.endpoints.show(id, null);
  const interest = { ...endpoint, types: ['x.*'], filter: { n: 1 } };
  const sample = await webhooks.samples.newest(interest, 'todos.updated');
  t.match(sample, { type: 'todos.updated', documentId: 'a' }, 'neither types nor filter of the endpoint count');
  t.equal(await webhooks.samples.newest(interest, 'todos.deleted'), null);
});

t.test('a replay of deleted rows is rejected, and a disabled endpoint ends its replays', async (t) => {
  const one = await fixture(t);
  const { app, services, webhooks, here } = one;
  const receiver = await openEventReceiver(t);
  const owner = await ownerOf(one);
  const since = here();
  for (let count = 0; count < 5; count += 1) await app.inject({ method: 'POST', url: '/api/todos', payload: {} });
  await one.reported(since, 5);
  const body = { url: `${receiver.url}/all`, types: ['todos.*'], enabled: false };
  const { id } = (await webhooks.endpoints.create(body, owner, NOBODY)).shown.endpoint;
  const requested = { endpoint: id, since, until: null, types: null };
  const cancelled = await webhooks.replays.begin(requested, NOBODY);
  await until(async () => (await webhooks.replays.find(cancelled.id))?.state === 'canceled', 'it is canceled');
  await services.events.log.raiseFloor(since.number + 3);
  await t.rejects(webhooks.replays.begin(requested, NOBODY), { code: 'position-expired' });
  const ahead = { epoch: since.epoch, number: 1_000_000 };
  await t.rejects(webhooks.replays.begin({ ...requested, since: ahead }, NOBODY), { code: 'position-unknown' });
  t.equal(receiver.received.length, 0);
});

t.test('a replay continues after a restart', async (t) => {
  const position = await testMongo(t);
  const receiver = await openEventReceiver(t);
  const COUNT = 2_500;
  let replay = '';
  await t.test('the first start', async (t) => {
    const one = await fixture(t, position);
    const { services, webhooks, here } = one;
    const owner = await ownerOf(one);
    const since = here();
    const documents = Array.from({ length: COUNT }, (_, n) => ({ n }));
    await services.mongo.data.collection('todos').insertMany(documents);
    await one.reported(since, COUNT);
    const body = { url: `${receiver.url}/all`, types: ['todos.created'] };
    const { id: endpoint } = (await webhooks.endpoints.create(body, owner, NOBODY)).shown.endpoint;
    replay = (await webhooks.replays.begin({ endpoint, since, until: null, types: null }, NOBODY)).id;
    let found = await webhooks.replays.find(replay);
    await until(async () => {
      found = await webhooks.replays.find(replay);
      return (found?.sent ?? 0) > 0;
    }, 'it has started');
    t.comment(`stopped at ${JSON.stringify(found)}`);
    t.equal(found?.state, 'running');
  });
  const { webhooks, done } = await fixture(t, position);
  await until(() => done(replay), 'it is done');
  t.match(await webhooks.replays.find(replay), { sent: COUNT });
  const ids = () => new Set(receiver.received.map(({ event }) => event.id));
  await until(() => ids().size === COUNT, 'every one arrives', 60_000);
});
