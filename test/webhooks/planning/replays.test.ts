/** A range of the log is sent to one endpoint once more, under the same ids, across restarts; and samples are real events. */
import t, { type Test } from 'tap';
import { type LogPosition, parsePosition } from '../../../src/events/log/position.ts';
import type { Maker } from '../../../src/webhooks/endpoint/endpoint.ts';
import { buildTestApp } from '../../helpers/app.ts';
import { testMongo } from '../../helpers/mongo.ts';
import { withPolicies } from '../../helpers/policies.ts';
import { until } from '../../helpers/until.ts';
import { openEventReceiver } from '../../helpers/webhooks/event-receiver.ts';

t.setTimeout(120_000);
const NOBODY = { by: null, request: null };
const ALL = { collections: ['*'], actions: ['read', 'create', 'update', 'delete'], principals: { anonymous: true } };

async function world(t: Test, place?: Awaited<ReturnType<typeof testMongo>>) {
  const built = await buildTestApp(t, {}, place);
  withPolicies(built.parts, [ALL]);
  const { events, webhooks } = built.parts;
  const here = (): LogPosition => parsePosition(events.feed.position) ?? { epoch: 0, number: 0 };
  /** Resolves when so many events of todos after a place have been told. */
  const told = (since: LogPosition, count: number) =>
    until(async () => {
      const rows = await events.log.read(since.number, 10_000);
      const last = rows.filter(({ collection, key }) => collection === 'todos' && key !== null)[count - 1];
      return last !== undefined && here().number >= last.number;
    }, `${count} are told`);
  const done = async (id: string) => (await webhooks.replays.find(id))?.state === 'done';
  return { ...built, webhooks, here, told, done };
}

async function ownerOf({ parts }: Pick<Awaited<ReturnType<typeof world>>, 'parts'>): Promise<Maker> {
  const boss = await parts.auth.users.create({ kind: 'owner', email: 'b@example.org', roles: ['owner'] }, NOBODY);
  return { kind: 'owner', id: boss._id };
}

t.test('a replay sends what happened before an endpoint was made, within its bounds', async (t) => {
  const one = await world(t);
  const { app, webhooks, here, done } = one;
  const receiver = await openEventReceiver(t);
  const owner = await ownerOf(one);
  const put = (id: string, n: number) =>
    app.inject({ method: 'PUT', url: `/api/todos/${id}?upsert=true`, payload: { n } });
  const since = here();
  await put('a', 1);
  await put('a', 2);
  await put('b', 1);
  await one.told(since, 3);
  const middle = here();
  await put('c', 1);
  await one.told(since, 4);
  const body = { url: `${receiver.url}/all`, types: ['todos.*'] };
  const { id } = (await webhooks.endpoints.create(body, owner, NOBODY)).shown.endpoint;

  const first = await webhooks.replays.begin({ endpoint: id, since, until: null, types: null }, NOBODY);
  t.match(first, { endpoint: id, state: 'running', sent: 0 });
  await until(() => done(first.id), 'the replay is done');
  t.match(await webhooks.replays.find(first.id), { state: 'done', sent: 4 });
  await until(() => receiver.at('/all').length === 4, 'all arrive');
  const ids = (types: RegExp) =>
    receiver.at('/all').flatMap(({ event, headers }) => (types.test(event.type) ? [headers['webhook-id']] : []));
  t.equal(new Set(ids(/./)).size, 4);
  t.ok(receiver.at('/all').every(({ event, headers }) => event.id === headers['webhook-id']));
  const isDelivered = async () => {
    const { deliveries } = await webhooks.sender.deliveries({ endpoint: id, state: 'delivered', limit: 10 });
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

t.test('what was deleted from the log is refused, and a disabled endpoint ends its replays', async (t) => {
  const one = await world(t);
  const { app, parts, webhooks, here } = one;
  const receiver = await openEventReceiver(t);
  const owner = await ownerOf(one);
  const since = here();
  for (let count = 0; count < 5; count += 1) await app.inject({ method: 'POST', url: '/api/todos', payload: {} });
  await one.told(since, 5);
  const body = { url: `${receiver.url}/all`, types: ['todos.*'], enabled: false };
  const { id } = (await webhooks.endpoints.create(body, owner, NOBODY)).shown.endpoint;
  const asked = { endpoint: id, since, until: null, types: null };
  const cancelled = await webhooks.replays.begin(asked, NOBODY);
  await until(async () => (await webhooks.replays.find(cancelled.id))?.state === 'cancelled', 'it is cancelled');
  await parts.events.log.raiseFloor(since.number + 3);
  await t.rejects(webhooks.replays.begin(asked, NOBODY), { code: 'position-expired' });
  const ahead = { epoch: since.epoch, number: 1_000_000 };
  await t.rejects(webhooks.replays.begin({ ...asked, since: ahead }, NOBODY), { code: 'position-unknown' });
  t.equal(receiver.received.length, 0);
});

t.test('a replay goes on after a restart', async (t) => {
  const place = await testMongo(t);
  const receiver = await openEventReceiver(t);
  const COUNT = 2_500;
  let replay = '';
  await t.test('the first start', async (t) => {
    const one = await world(t, place);
    const { parts, webhooks, here } = one;
    const owner = await ownerOf(one);
    const since = here();
    const documents = Array.from({ length: COUNT }, (_, n) => ({ n }));
    await parts.mongo.data.collection('todos').insertMany(documents);
    await one.told(since, COUNT);
    const body = { url: `${receiver.url}/all`, types: ['todos.created'] };
    const { id: endpoint } = (await webhooks.endpoints.create(body, owner, NOBODY)).shown.endpoint;
    replay = (await webhooks.replays.begin({ endpoint, since, until: null, types: null }, NOBODY)).id;
    let found = await webhooks.replays.find(replay);
    await until(async () => {
      found = await webhooks.replays.find(replay);
      return (found?.sent ?? 0) > 0;
    }, 'it has begun');
    t.comment(`stopped at ${JSON.stringify(found)}`);
    t.equal(found?.state, 'running');
  });
  const { webhooks, done } = await world(t, place);
  await until(() => done(replay), 'it is done');
  t.match(await webhooks.replays.find(replay), { sent: COUNT });
  const ids = () => new Set(receiver.received.map(({ event }) => event.id));
  await until(() => ids().size === COUNT, 'every one arrives', 60_000);
});
