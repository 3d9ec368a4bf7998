/** In production policies count from the first owner on, also in a process that made no owner itself and looks for nothing. */
import t from 'tap';
import { parseCollectionName } from '../../src/database/names.ts';
import { buildTestApp } from '../helpers/app.ts';
import { owner, user } from '../helpers/principals.ts';
import { until } from '../helpers/until.ts';

t.test('the log tells of the first owner', async (t) => {
  const { parts } = await buildTestApp(t, { MILLRACE_MODE: 'production' });
  const { events, policies, policyBook, auth } = parts;
  const policy = { name: 'a', collections: ['*'], actions: ['read'], effect: 'allow' };
  await policyBook.create(policies.scope(owner(), 'create', 'admin'), policy, 'req_1');
  const isRead = () => policies.find(user('u'), 'read', parseCollectionName('any')) !== null;
  t.notOk(isRead(), 'nobody runs this installation yet');
  await until(() => events.upToDate(), 'the log has told everything');
  await auth.users.create({ kind: 'owner', email: 'first@example.org', roles: ['owner'] }, { by: null, request: null });
  const ms = await until(isRead, 'the policy counts');
  t.comment(`${ms.toFixed()} ms`);
});
