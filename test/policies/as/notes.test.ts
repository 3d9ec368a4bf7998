/** The note of looking as another principal: when it is made, and again. Who may look in development mode. */
import t from 'tap';
import { ANONYMOUS } from '../../../src/auth/identity/principal.ts';
import { LookingAs } from '../../../src/policies/standing/looking-as.ts';
import { buildTestApp } from '../../helpers/app.ts';
import { withPolicies } from '../../helpers/policies.ts';
import { owner, user } from '../../helpers/principals.ts';

t.test('a note counts for 15 minutes, and is made before the answer', async (t) => {
  let now = 0;
  let fails = false;
  const notes: unknown[] = [];
  const activity = {
    record: async (type: string, details: object, stamp: object) => {
      if (fails) throw new Error('away');
      notes.push({ type, ...details, ...stamp });
    },
  };
  const { parts } = await buildTestApp(t);
  const lookingAs = new LookingAs({
    ...parts.auth,
    policies: parts.policies,
    activity,
    mode: 'production',
    now: () => now,
  });
  const look = () => lookingAs.begin(owner(), { kind: 'role', id: 'editor' }, 'r1');
  t.match(await look(), { kind: 'user', id: 'role:editor', roles: ['editor'], claims: {} });
  await Promise.all([look(), look()]);
  t.strictSame(notes, [{ type: 'system.auth.looked-as', as: 'role:editor', by: 'owner:o1', request: 'r1' }]);
  now = 15 * 60_000 - 1;
  await look();
  t.equal(notes.length, 1);
  now += 1;
  fails = true;
  await t.rejects(look(), /away/, 'without a note there is no answer');
  fails = false;
  await look();
  t.equal(notes.length, 2);

  await t.test('in development, strangers as far as policies let them', async (t) => {
    const dev = new LookingAs({ ...parts.auth, policies: parts.policies, activity, mode: 'development' });
    dev.require(ANONYMOUS);
    t.throws(() => lookingAs.require(ANONYMOUS), { code: 'not-authenticated' });
    t.throws(() => dev.require(user('ann')), { code: 'forbidden' }, 'users have their own rights');
    withPolicies(parts, [{ collections: ['*'], actions: ['read'] }]);
    t.throws(() => dev.require(ANONYMOUS), { code: 'not-authenticated' });
  });
});
