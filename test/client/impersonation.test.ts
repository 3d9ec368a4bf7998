/** Impersonation in the client: lists with the header, live queries and events with their subscriptions. */
import t from 'tap';
import { createClient, type EventState, type LiveState } from '../../client/client.ts';
import { buildTestApp } from '../helpers/app.ts';
import { withPolicies } from '../helpers/policies.ts';
import { until } from '../helpers/until.ts';
import { signInAdmin } from '../helpers/users.ts';

t.test('Queries with as return what that principal gets.', async (t) => {
  const { app, services } = await buildTestApp(t, { MILLRACE_MODE: 'production' });
  const url = await app.listen({ host: '127.0.0.1', port: 0 });
  const { accessToken: token } = await signInAdmin(app, services);
  withPolicies(services, [
    { resources: ['todos'], actions: ['read'], principals: { roles: ['reader'] }, fields: { read: ['title'] } },
  ]);
  const client = createClient(url, { token });
  t.teardown(() => client.close());
  const todos = client.collection<{ title: string; secret: number }>('todos');
  await todos.create({ title: 'A', secret: 1 });
  const as = 'role:reader';
  t.match((await todos.list()).documents, [{ title: 'A', secret: 1 }]);
  t.match((await todos.list({ as, limit: 5 })).documents, [{ title: 'A', secret: undefined }]);
  await t.rejects(todos.list({ as: 'role:other' }), { code: 'forbidden' });
  await t.rejects(todos.list({ as: 'nobody' }), { code: 'malformed-request' });

  const reported = new Map<string, LiveState<{ title: string; secret: number }>>();
  todos.live({ as }, (state) => reported.set('seen', state));
  todos.live({}, (state) => reported.set('own', state));
  todos.live({ as: 'role:other' }, (state) => reported.set('other', state));
  const events: EventState['events'][number][] = [];
  let following = false;
  client.events({ types: ['todos.*'], as }, (state) => {
    following ||= state.status === 'live';
    events.push(...state.events);
  });
  await until(
    () => following && reported.get('seen')?.status === 'live' && reported.get('own')?.status === 'live',
    'all is live',
  );
  await until(() => reported.get('other')?.status === 'ended', 'a query without read permission ends');
  t.equal(reported.get('other')?.problem?.code, 'forbidden');
  await todos.create({ title: 'B', secret: 2 });
  await until(
    () => reported.get('seen')?.documents.length === 2 && reported.get('own')?.documents.length === 2,
    'both are notified',
  );
  await until(() => events.length > 0, 'the event has come');
  t.match(reported.get('own')?.documents, [{ secret: 1 }, { secret: 2 }]);
  t.match(reported.get('seen')?.documents, [
    { title: 'A', secret: undefined },
    { title: 'B', secret: undefined },
  ]);
  t.match(events, [{ type: 'todos.created', data: { title: 'B', secret: undefined } }]);
});
