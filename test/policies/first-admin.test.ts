/**
 * In production policies apply from the first administrator on, also in a process that created no administrator itself.
 */
import t from 'tap';
import { parseCollectionName } from '../../src/database/parse-collection-name.ts';
import { buildTestApp } from '../helpers/app.ts';
import { owner, user } from '../helpers/principals.ts';
import { until } from '../helpers/until.ts';

t.test('the log reports the first administrator to other processes', async (t) => {
  const { services } = await buildTestApp(t, { MILLRACE_MODE: 'production' });
  const { events, policies, policyRegistry, auth } = services;
  const policy = { name: 'a', resources: ['*'], actions: ['read'], effect: 'allow' };
  await policyRegistry.create(policies.scope(owner(), 'create', '_admin'), policy, 'req_1');
  const isRead = () => policies.find(user('u'), 'read', parseCollectionName('any')) !== null;
  t.notOk(isRead(), 'nobody runs this installation yet');
  await until(() => events.upToDate(), 'the log has told everything');
  await auth.users.create({ kind: 'admin', email: 'first@example.org', roles: ['owner'] }, { by: null, request: null });
  const ms = await until(isRead, 'the policy counts');
  t.comment(`${ms.toFixed()} ms`);
});
