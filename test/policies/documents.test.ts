/** Policies on every way to read documents: what is hidden is in no answer and cannot be asked for. */
import t from 'tap';
import { withPolicies } from '../helpers/policies.ts';
import { MINE, postsWorld } from '../helpers/posts.ts';
import { owner, user } from '../helpers/principals.ts';

t.test('documents read under policies', async (t) => {
  const { parts, as, ann, bob, boss, ask, fresh } = await postsWorld(t);

  await t.test('an owner passes, a viewer reads', async (t) => {
    await fresh();
    const viewer = as(owner('viewer'));
    t.equal((await ask(viewer, 'GET', '/api/posts')).json.length, 3);
    t.equal((await ask(viewer, 'POST', '/api/posts', {})).status, 403);
    t.equal((await ask(viewer, 'GET', '/admin/policies')).status, 200);
    t.equal((await ask(viewer, 'POST', '/admin/policies', {})).status, 403);
  });

  await t.test('a filter decides which documents there are', async (t) => {
    withPolicies(parts, [
      { ...MINE, actions: ['read'] },
      { collections: ['posts'], actions: ['read'], where: { public: true } },
      { collections: ['posts'], actions: ['read'], effect: 'deny', where: { title: 'Z' } },
    ]);
    t.match((await ask(ann, 'GET', '/api/posts')).json, [{ id: 'a' }, { id: 'b' }]);
    t.match((await ask(bob, 'GET', '/api/posts?count=exact&limit=1')).headers, { 'millrace-count': 2 });
    t.match((await ask({}, 'GET', '/api/posts')).json, [{ id: 'b' }]);
    t.equal((await ask(ann, 'GET', '/api/posts/c')).code, 'document-not-found');
    t.equal((await ask(ann, 'POST', '/api/posts/_query', { filter: { id: 'c' } })).json.length, 0);
    t.equal((await ask(ann, 'PUT', '/api/posts/a', {})).code, 'forbidden');
    t.equal((await ask({}, 'PUT', '/api/posts/b', {})).code, 'not-authenticated');
    t.equal((await ask(ann, 'GET', '/api/never')).code, 'forbidden');
  });

  await t.test('a variable without a value: an allow matches nothing, a deny everything', async (t) => {
    withPolicies(parts, [{ ...MINE, actions: ['read'], where: { authorId: { $ne: '$user.id' } } }]);
    t.equal((await ask({}, 'GET', '/api/posts')).status, 401);
    t.equal((await ask(ann, 'GET', '/api/posts')).json.length, 2);
    withPolicies(parts, [
      { collections: ['posts'], actions: ['read'] },
      { ...MINE, actions: ['read'], effect: 'deny', where: { team: '$user.claims.team' } },
    ]);
    t.equal((await ask(ann, 'GET', '/api/posts')).status, 403);
    t.equal((await ask(as(user('x', [], { team: 't' })), 'GET', '/api/posts')).json.length, 3);
  });

  await t.test('a policy about the id does not lose to the id that is asked for', async (t) => {
    withPolicies(parts, [{ collections: ['posts'], actions: ['read', 'update', 'delete'], where: { id: 'b' } }]);
    t.equal((await ask({}, 'GET', '/api/posts/a')).status, 404);
    t.equal((await ask({}, 'DELETE', '/api/posts/a')).status, 404);
    t.equal((await ask({}, 'PUT', '/api/posts/a', { x: 1 })).status, 404);
    t.equal((await ask({}, 'GET', '/api/posts/b')).status, 200);
  });

  await t.test('hidden members are in no answer, and cannot be asked for', async (t) => {
    await fresh();
    const fields = { read: ['*', '-secret', '-address.street', '-items.cost'] };
    withPolicies(parts, [{ collections: ['posts'], actions: ['read'], fields }]);
    const [a] = (await ask({}, 'GET', '/api/posts')).json;
    const { _meta, ...members } = a;
    t.strictSame(members, { id: 'a', authorId: 'ann', title: 'A', address: { city: 'X' }, items: [{ n: 1 }] });
    t.equal(_meta.revision, 1);
    t.strictSame((await ask({}, 'GET', '/api/posts/a')).json, a);
    t.strictSame((await ask({}, 'GET', '/api/posts/a?fields=title,address')).json, {
      id: 'a',
      title: 'A',
      address: { city: 'X' },
    });
    t.strictSame((await ask({}, 'GET', '/api/posts?fields=address&limit=1')).json, [
      { id: 'a', address: { city: 'X' } },
    ]);
    for (const asked of [
      'secret=1',
      'secret[gt]=0',
      'filter={"$or":[{"title":"A"},{"secret":1}]}',
      'address={}',
      'filter={"items":{"$elemMatch":{"cost":5}}}',
      'items.0.cost=5',
      'sort=secret',
      'sort=-address',
      'count=exact&secret=1&limit=0',
      'fields=secret',
      'expand=secret:posts',
    ]) {
      t.equal((await ask({}, 'GET', `/api/posts?${asked}`)).code, 'field-hidden', asked);
    }
    t.equal((await ask({}, 'POST', '/api/posts/_query', { sort: 'secret' })).code, 'field-hidden');
    t.equal((await ask({}, 'GET', '/api/posts/a?fields=secret')).code, 'field-hidden');
    t.equal((await ask({}, 'GET', '/api/posts?address.city=X&items.n=1&fields=-secret')).json.length, 1);
  });

  await t.test('each grant shows its own members; asking needs every grant', async (t) => {
    withPolicies(parts, [
      { ...MINE, actions: ['read'] },
      { collections: ['posts'], actions: ['read'], fields: { read: ['title'] } },
    ]);
    const [a, b] = (await ask(ann, 'GET', '/api/posts')).json;
    t.equal(a.secret, 1);
    t.strictSame(Object.keys(b), ['id', 'title', '_meta']);
    t.strictSame((await ask(ann, 'GET', '/api/posts?fields=secret&limit=2&sort=-title')).json, [
      { id: 'c' },
      { id: 'b' },
    ]);
    t.equal((await ask(ann, 'GET', '/api/posts?secret=1')).code, 'field-hidden');
    t.strictSame(Object.keys((await ask(ann, 'GET', '/api/posts/b')).json), ['id', 'title', '_meta']);
  });

  await t.test('expansion shows what may be read there', async (t) => {
    await ask(boss, 'POST', '/api/users2', [
      { id: 'ann', name: 'Ann', email: 'e' },
      { id: 'bob', name: 'Bob', email: 'f' },
    ]);
    withPolicies(parts, [
      { collections: ['posts'], actions: ['read'] },
      { collections: ['users2'], actions: ['read'], where: { name: 'Ann' }, fields: { read: ['name'] } },
    ]);
    const expanded = (await ask({}, 'GET', '/api/posts?expand=authorId:users2')).json;
    t.match(expanded[0]._expanded, { authorId: { id: 'ann', name: 'Ann' } });
    t.notOk('email' in expanded[0]._expanded.authorId);
    t.equal(expanded[1]._expanded.authorId, null);
    withPolicies(parts, [
      { collections: ['posts'], actions: ['read'], fields: { read: ['title', 'authorId'] } },
      { ...MINE, actions: ['read'], fields: { read: ['authorId', 'secret'] } },
      { collections: ['users2'], actions: ['read'] },
    ]);
    for (const url of ['/api/posts?', '/api/posts?limit=2&', '/api/posts/a?']) {
      const [a] = [(await ask(ann, 'GET', `${url}expand=authorId:users2&fields=-authorId,-_meta`)).json].flat();
      t.match(a, { id: 'a', title: 'A', secret: 1, _expanded: { authorId: { id: 'ann' } } });
      t.strictSame(Object.keys(a).sort(), ['_expanded', 'id', 'secret', 'title'], 'nothing hidden is read along');
      t.equal((await ask(ann, 'GET', `${url}expand=secret:users2&fields=title`)).code, 'field-hidden');
    }
    withPolicies(parts, [{ collections: ['posts'], actions: ['read'] }]);
    t.equal((await ask({}, 'GET', '/api/posts/a?expand=authorId:users2')).json._expanded.authorId, null);
  });
});
