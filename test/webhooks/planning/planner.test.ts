/** What endpoints receive of events, from a write to a receiver: redacted to what their principal may read. */
import t, { type Test } from 'tap';
import type { Creator } from '../../../src/webhooks/endpoint/endpoint.ts';
import { buildTestApp } from '../../helpers/app.ts';
import { ownTimeOf } from '../../helpers/own-time.ts';
import { withPolicies } from '../../helpers/policies.ts';
import { until } from '../../helpers/until.ts';
import { signUp } from '../../helpers/users.ts';
import { openEventReceiver } from '../../helpers/webhooks/event-receiver.ts';

t.setTimeout(120_000);
const NOBODY = { by: null, request: null };
const ALL = { resources: ['*'], actions: ['read', 'create', 'update', 'delete'], principals: { anonymous: true } };

/** An app and a receiver; `last` is an endpoint that receives a marker after everything else. */
async function fixture(t: Test) {
  const { app, services } = await buildTestApp(t);
  const receiver = await openEventReceiver(t);
  const { keys, users } = services.auth;
  const boss = await users.create({ kind: 'admin', email: 'boss@example.org', roles: ['owner'] }, NOBODY);
  const owner: Creator = { kind: 'admin', id: boss._id };
  const endpoint = async (path: string, creator: Creator, body: object) => {
    const { shown } = await services.webhooks.endpoints.create(
      { url: `${receiver.url}/${path}`, ...body },
      creator,
      NOBODY,
    );
    return shown.endpoint.id;
  };
  const key = async (more: object = {}): Promise<Creator & { kind: 'key' }> => {
    const limits = { name: 'k', roles: [], resources: null, actions: null, expiresAt: null };
    return { kind: 'key', id: (await keys.create({ ...limits, ...more }, NOBODY)).id };
  };
  await endpoint('marks', owner, { types: ['marks.created'] });
  let marks = 0;
  /** Resolves when everything written before has been planned, and has arrived. */
  const arrived = async () => {
    marks += 1;
    await app.inject({ method: 'POST', url: '/api/marks', payload: {} });
    await until(() => receiver.at('/marks').length >= marks, 'the mark arrives');
    // The marker is planned last, but it may be sent before others.
    const untried = async () => {
      const { deliveries } = await services.webhooks.sender.deliveries({ state: 'pending', limit: 100 });
      return deliveries.some(({ attempts }) => attempts === 0);
    };
    await until(async () => !(await untried()), 'all are sent');
  };
  const isEnabled = async (id: string) => (await services.webhooks.endpoints.show(id, null)).endpoint.enabled;
  return { app, parts: services, receiver, owner, endpoint, key, arrived, isEnabled };
}

t.test(
  'an endpoint receives what its principal may read, and a notice of documents that it may no longer read',
  async (t) => {
    const { app, parts: services, receiver, endpoint, key, owner, arrived } = await fixture(t);
    const reader = await key();
    const readers = { principals: { keys: [reader.id] } };
    const own = {
      resources: ['todos'],
      actions: ['read'],
      filter: { team: 'red' },
      fields: { read: ['*', '-secret'] },
    };
    withPolicies(services, [ALL, { ...own, ...readers }]);
    await endpoint('key', reader, { types: ['*'] });
    await endpoint('filtered', reader, { types: ['todos.*'], filter: { n: { $gt: 1 } } });
    await endpoint('hidden', reader, { types: ['todos.*'], filter: { secret: 'x' } });
    await endpoint('owner', owner, { types: ['todos.*'] });
    const send = (method: 'PUT' | 'DELETE', id: string, payload?: object) =>
      app.inject({ method, url: `/api/todos/${id}?upsert=true`, ...(payload ? { payload } : {}) });
    await send('PUT', 'a', { team: 'red', n: 1, secret: 'x' });
    await send('PUT', 'b', { team: 'blue', n: 2, secret: 'x' });
    await send('PUT', 'a', { team: 'red', n: 1, secret: 'y' });
    await send('PUT', 'a', { team: 'blue', n: 2, secret: 'x' });
    await app.inject({ method: 'POST', url: '/api/others', payload: {} });
    await arrived();
    // Without `ordering` they may overtake each other.
    const numberOf = ({ id }: { id: string }) => Number(id.split('-')[1]);
    const reported = (path: string) =>
      receiver
        .at(path)
        .toSorted((one, other) => numberOf(one.event) - numberOf(other.event))
        .map(({ event: { type, documentId, data, before, changed } }) => ({
          what: `${type} ${documentId}`,
          data: without(data),
          before: without(before),
          changed,
        }));
    const red = { id: 'a', team: 'red', n: 1 };
    t.strictSame(reported('/key'), [
      { what: 'todos.created a', data: red, before: null, changed: null },
      { what: 'todos.updated a', data: red, before: red, changed: [] },
      { what: 'todos.updated a', data: null, before: red, changed: null },
    ]);
    t.strictSame(reported('/filtered'), [], 'the state that it sees does not match');
    t.strictSame(reported('/hidden'), [], 'a filter cannot find hidden values');
    t.equal(reported('/owner').length, 4);
    t.match(reported('/owner').at(-1), { data: { team: 'blue', secret: 'x' }, before: { secret: 'y' } });
    const [first] = receiver.at('/key');
    t.equal(first?.headers['webhook-id'], first?.event.id);
  },
);

t.test('an endpoint of a revoked key is disabled within a second, and receives no later events', async (t) => {
  const { app, parts: services, receiver, endpoint, key, owner, arrived, isEnabled } = await fixture(t);
  const reader = await key();
  withPolicies(services, [ALL, { resources: ['*'], actions: ['read'], principals: { authenticated: true } }]);
  const id = await endpoint('key', reader, { types: ['todos.*'] });
  await endpoint('activity', owner, { types: ['system.endpoint.disabled'] });
  await app.inject({ method: 'PUT', url: '/api/todos/before?upsert=true', payload: {} });
  await until(() => receiver.at('/key').length === 1, 'it gets events');
  await services.auth.keys.remove(reader.id, NOBODY);
  const own = await ownTimeOf(async () => {
    await app.inject({ method: 'PUT', url: '/api/todos/later?upsert=true', payload: {} });
    await until(async () => !(await isEnabled(id)), 'it is disabled');
  });
  t.ok(own < 1_000, `${Math.round(own)} ms`);
  await arrived();
  t.equal(receiver.at('/key').length, 1);
  t.equal((await services.webhooks.endpoints.show(id, null)).endpoint.disabledReason, 'principal');
  await until(() => receiver.at('/activity').length === 1, 'it is an event');
  t.match(receiver.at('/activity')[0]?.event.data, { details: { endpoint: id, reason: 'principal' } });
});

t.test('endpoints of disabled users and of expired keys are disabled', async (t) => {
  const { app, parts: services, receiver, endpoint, key, arrived, isEnabled } = await fixture(t);
  withPolicies(services, [ALL, { resources: ['*'], actions: ['read'], principals: { authenticated: true } }]);
  const ada = await signUp(app, 'ada');
  const short = await key({ expiresAt: new Date(Date.now() + 3_600_000) });
  const ids = [
    await endpoint('user', { kind: 'user', id: ada.id }, { types: ['todos.*'] }),
    await endpoint('expiring', short, { types: ['todos.*'] }),
  ];
  const enabled = () => Promise.all(ids.map(isEnabled));
  await app.inject({ method: 'POST', url: '/api/todos', payload: {} });
  await arrived();
  t.same([receiver.at('/user').length, receiver.at('/expiring').length], [1, 1]);
  await services.auth.users.change(ada.id, { disabled: true }, NOBODY);
  await until(async () => !(await enabled())[0], 'the one of the user is disabled');
  const keys = services.mongo.data.collection<{ _id: string }>('_keys');
  await keys.updateOne({ _id: short.id }, { $set: { expiresAt: new Date(Date.now() - 1) } });
  await app.inject({ method: 'POST', url: '/api/todos', payload: {} });
  await until(async () => !(await enabled())[1], 'the one of the key is disabled when it would be used');
  await arrived();
  t.same([receiver.at('/user').length, receiver.at('/expiring').length], [1, 1]);
});

t.test('a long event is sent without its states, with the URL of its document', async (t) => {
  const settings = { MILLRACE_PUBLIC_URL: 'https://api.example.org' };
  const { app, services } = await buildTestApp(t, settings);
  const receiver = await openEventReceiver(t);
  const boss = await services.auth.users.create({ kind: 'admin', email: 'b@example.org', roles: ['owner'] }, NOBODY);
  withPolicies(services, [ALL]);
  const body = { url: `${receiver.url}/all`, types: ['todos.*'] };
  await services.webhooks.endpoints.create(body, { kind: 'admin', id: boss._id }, NOBODY);
  const put = (id: string, text: string) =>
    app.inject({ method: 'PUT', url: `/api/todos/${id}?upsert=true`, payload: { text } });
  await put('short', 'a'.repeat(250 * 1024));
  await put('wide', 'ä'.repeat(130 * 1024));
  await put('huge', 'a'.repeat(900 * 1024));
  await until(() => receiver.at('/all').length === 3, 'all arrive');
  const events = new Map(receiver.at('/all').map(({ event }) => [event.documentId, event]));
  t.equal(events.get('short')?.truncated, undefined);
  t.equal(String(events.get('short')?.data?.['text']).length, 250 * 1024);
  for (const id of ['wide', 'huge']) {
    t.match(events.get(id), { type: 'todos.created', data: null, before: null, truncated: true, revision: 1 });
    t.equal(events.get(id)?.url, `https://api.example.org/api/todos/${id}`);
  }
  t.ok(receiver.received.every(({ text }) => Buffer.byteLength(text) <= 256 * 1024));
});

t.test(
  'events about deliveries go only to endpoints that name them, and never to the endpoint they are about',
  async (t) => {
    const { app, parts: services, receiver, endpoint, owner, arrived } = await fixture(t);
    withPolicies(services, [ALL]);
    receiver.response = ({ path }) => (path === '/broken' ? 500 : 204);
    await endpoint('all', owner, { types: ['*'] });
    await endpoint('system', owner, { types: ['system.*'] });
    await endpoint('deaths', owner, { types: ['system.delivery.*'] });
    const broken = await endpoint('broken', owner, {
      types: ['todos.created', 'system.delivery.*'],
      retrySchedule: 'none',
    });
    await app.inject({ method: 'POST', url: '/api/todos', payload: {} });
    await until(() => receiver.at('/deaths').length === 1, 'the failure of a delivery is sent');
    t.match(receiver.at('/deaths')[0]?.event, {
      type: 'system.delivery.failed',
      data: { details: { endpoint: broken, type: 'todos.created' } },
    });
    await arrived();
    const isOfDelivery = ({ event }: { event: { type: string } }) => event.type.startsWith('system.delivery.');
    for (const path of ['/all', '/system', '/broken']) t.notOk(receiver.at(path).some(isOfDelivery), path);
    t.ok(receiver.at('/all').length > receiver.at('/system').length);
  },
);

function without(state: Readonly<Record<string, unknown>> | null): unknown {
  if (state === null) return null;
  const { _meta, ...rest } = state;
  return rest;
}
