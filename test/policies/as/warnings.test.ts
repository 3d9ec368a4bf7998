/** The audit records of impersonation, and impersonation in development mode. */
import t from 'tap';
import { ANONYMOUS } from '../../../src/auth/identity/principal.ts';
import { ImpersonationService } from '../../../src/policies/impersonation.ts';
import { buildTestApp } from '../../helpers/app.ts';
import { withPolicies } from '../../helpers/policies.ts';
import { owner, user } from '../../helpers/principals.ts';

t.test('an impersonation record lasts 15 minutes, and is written before the response', async (t) => {
  let now = 0;
  let fails = false;
  const notes: unknown[] = [];
  const activity = {
    record: async (type: string, details: object, stamp: object) => {
      if (fails) throw new Error('away');
      notes.push({ type, ...details, ...stamp });
    },
  };
  const { services } = await buildTestApp(t);
  const impersonation = new ImpersonationService({
    ...services.auth,
    policies: services.policies,
    activity,
    mode: 'production',
    now: () => now,
  });
  const look = () => impersonation.begin(owner(), { kind: 'role', id: 'editor' }, 'r1');
  t.match(await look(), { kind: 'user', id: 'role:editor', roles: ['editor'], claims: {} });
  await Promise.all([look(), look()]);
  t.strictSame(notes, [{ type: 'system.auth.impersonated', as: 'role:editor', by: 'admin:o1', request: 'r1' }]);
  now = 15 * 60_000 - 1;
  await look();
  t.equal(notes.length, 1);
  now += 1;
  fails = true;
  await t.rejects(look(), /away/, 'without a note there is no answer');
  fails = false;
  await look();
  t.equal(notes.length, 2);

  await t.test('in development, anonymous clients impersonate as far as policies let them', async (t) => {
    const dev = new ImpersonationService({
      ...services.auth,
      policies: services.policies,
      activity,
      mode: 'development',
    });
    dev.require(ANONYMOUS);
    t.throws(() => impersonation.require(ANONYMOUS), { code: 'not-authenticated' });
    t.throws(() => dev.require(user('ann')), { code: 'forbidden' }, 'users have their own rights');
    withPolicies(services, [{ resources: ['*'], actions: ['read'] }]);
    t.throws(() => dev.require(ANONYMOUS), { code: 'not-authenticated' });
  });
});
