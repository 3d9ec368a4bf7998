/** A function that acts as itself: its writes carry its name, it has no quota, and the simulator supports it. */
import t from 'tap';
import { clientLimitKey, quotaIdOf } from '../../src/auth/identity/principal.ts';
import { principalCacheKey } from '../../src/policies/bindings.ts';
import { withPolicies } from '../helpers/policies.ts';
import { postsFixture } from '../helpers/posts.ts';
import { acting, user } from '../helpers/principals.ts';

t.test('a function writes under its own name, within policies of its roles', async (t) => {
  const { parts: services, as, request, boss } = await postsFixture(t);
  const stamping = as(acting('shop/stamp', 'stamper'));
  withPolicies(services, [
    {
      resources: ['posts'],
      actions: ['create', 'read'],
      principals: { roles: ['stamper'] },
      set: { by: '$user.id' },
    },
    { resources: ['notes'], actions: ['create'], principals: { users: ['shop/stamp'], keys: ['shop/stamp'] } },
  ]);
  const created = await request(stamping, 'POST', '/api/posts', { id: 'x' });
  t.match(created, {
    status: 201,
    json: { by: 'shop/stamp', _meta: { createdBy: 'shop/stamp', updatedBy: 'shop/stamp' } },
  });
  t.match(await services.mongo.data.collection<{ _id: string }>('posts').findOne({ _id: 'x' }), {
    _meta: { by: 'function:shop/stamp' },
  });
  t.equal(
    (await request(stamping, 'POST', '/api/notes', {})).code,
    'forbidden',
    'users and keys of that name are others',
  );
  t.equal((await request(as(acting('shop/stamp')), 'POST', '/api/posts', {})).code, 'forbidden', 'without the role');
  for (const path of ['/admin/users', '/admin/policies', '/events'])
    t.equal((await request(as(acting('shop/stamp', 'owner')), 'GET', path)).code, 'forbidden', path);

  const query = { action: 'create', resource: 'posts', document: { id: 'x' } };
  const tried = (principal: object) => request(boss, 'POST', '/admin/policies/test', { ...query, principal });
  const named = { kind: 'function', id: 'shop/stamp' };
  t.match(await tried({ ...named, roles: ['stamper'] }), { status: 200, json: { decision: 'allow' } });
  t.match(await tried({ ...named, roles: ['owner'] }), { status: 200, json: { decision: 'deny' } });
});

t.test('a function has no quota, and is distinct from users', async (t) => {
  t.equal(quotaIdOf(acting('shop/stamp')), null);
  t.equal(clientLimitKey(acting('shop/stamp'), '127.0.0.1'), 'function:shop/stamp');
  t.not(principalCacheKey(acting('u')), principalCacheKey(user('u')));
  t.not(principalCacheKey(acting('u', 'a')), principalCacheKey(acting('u', 'b')));
  t.equal(principalCacheKey(acting('u', 'a')), principalCacheKey(acting('u', 'a')));
});
