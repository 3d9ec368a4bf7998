/** A function that acts as itself: what it writes names it, it has no quota, and the trial knows it. */
import t from 'tap';
import { clientOf, quotaIdOf } from '../../src/auth/identity/principal.ts';
import { bindingKey } from '../../src/policies/bindings.ts';
import { withPolicies } from '../helpers/policies.ts';
import { postsWorld } from '../helpers/posts.ts';
import { acting, user } from '../helpers/principals.ts';

t.test('a function writes under its own name, within policies of its roles', async (t) => {
  const { parts, as, ask, boss } = await postsWorld(t);
  const stamping = as(acting('shop/stamp', 'stamper'));
  withPolicies(parts, [
    {
      collections: ['posts'],
      actions: ['create', 'read'],
      principals: { roles: ['stamper'] },
      set: { by: '$user.id' },
    },
    { collections: ['notes'], actions: ['create'], principals: { users: ['shop/stamp'], keys: ['shop/stamp'] } },
  ]);
  const made = await ask(stamping, 'POST', '/api/posts', { id: 'x' });
  t.match(made, {
    status: 201,
    json: { by: 'shop/stamp', _meta: { createdBy: 'shop/stamp', updatedBy: 'shop/stamp' } },
  });
  t.match(await parts.mongo.data.collection<{ _id: string }>('posts').findOne({ _id: 'x' }), {
    _meta: { by: 'function:shop/stamp' },
  });
  t.equal((await ask(stamping, 'POST', '/api/notes', {})).code, 'forbidden', 'users and keys of that name are others');
  t.equal((await ask(as(acting('shop/stamp')), 'POST', '/api/posts', {})).code, 'forbidden', 'without the role');
  for (const path of ['/admin/users', '/admin/policies', '/events'])
    t.equal((await ask(as(acting('shop/stamp', 'owner')), 'GET', path)).code, 'forbidden', path);

  const question = { action: 'create', collection: 'posts', document: { id: 'x' } };
  const tried = (principal: object) => ask(boss, 'POST', '/admin/policies/test', { ...question, principal });
  const named = { kind: 'function', id: 'shop/stamp' };
  t.match(await tried({ ...named, roles: ['stamper'] }), { status: 200, json: { verdict: 'allow' } });
  t.match(await tried({ ...named, roles: ['owner'] }), { status: 200, json: { verdict: 'deny' } });
});

t.test('a function has no quota, and is told apart from users', async (t) => {
  t.equal(quotaIdOf(acting('shop/stamp')), null);
  t.equal(clientOf(acting('shop/stamp'), '127.0.0.1'), 'function:shop/stamp');
  t.not(bindingKey(acting('u')), bindingKey(user('u')));
  t.not(bindingKey(acting('u', 'a')), bindingKey(acting('u', 'b')));
  t.equal(bindingKey(acting('u', 'a')), bindingKey(acting('u', 'a')));
});
