/** The client looks as another principal: lists by the header, live answers and events by their subscriptions. */
import t from 'tap';
import { createClient, type EventState, type LiveState } from '../../client/client.ts';
import { signInOwner } from '../helpers/accounts.ts';
import { buildTestApp } from '../helpers/app.ts';
import { withPolicies } from '../helpers/policies.ts';
import { until } from '../helpers/until.ts';

t.test('queries with `as` get what that principal gets', async (t) => {
  const { app, parts } = await buildTestApp(t, { MILLRACE_MODE: 'production' });
  const url = await app.listen({ host: '127.0.0.1', port: 0 });
  const { accessToken: token } = await signInOwner(app, parts);
  withPolicies(parts, [
    { collections: ['todos'], actions: ['read'], principals: { roles: ['reader'] }, fields: { read: ['title'] } },
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

  const told = new Map<string, LiveState<{ title: string; secret: number }>>();
  todos.live({ as }, (state) => told.set('seen', state));
  todos.live({}, (state) => told.set('own', state));
  todos.live({ as: 'role:other' }, (state) => told.set('other', state));
  const events: EventState['events'][number][] = [];
  let following = false;
  client.events({ types: ['todos.*'], as }, (state) => {
    following ||= state.status === 'live';
    events.push(...state.events);
  });
  await until(
    () => following && told.get('seen')?.status === 'live' && told.get('own')?.status === 'live',
    'all is live',
  );
  await until(() => told.get('other')?.status === 'ended', 'what nobody may read ends');
  t.equal(told.get('other')?.problem?.code, 'forbidden');
  await todos.create({ title: 'B', secret: 2 });
  await until(
    () => told.get('seen')?.documents.length === 2 && told.get('own')?.documents.length === 2,
    'both are told',
  );
  await until(() => events.length > 0, 'the event has come');
  t.match(told.get('own')?.documents, [{ secret: 1 }, { secret: 2 }]);
  t.match(told.get('seen')?.documents, [
    { title: 'A', secret: undefined },
    { title: 'B', secret: undefined },
  ]);
  t.match(events, [{ type: 'todos.created', data: { title: 'B', secret: undefined } }]);
});
