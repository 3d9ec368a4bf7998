/** Policies on every way to read documents: hidden values are in no response and cannot be queried. */
import t from 'tap';
import { withPolicies } from '../helpers/policies.ts';
import { MINE, postsFixture } from '../helpers/posts.ts';
import { owner, user } from '../helpers/principals.ts';

t.test('documents read under policies', async (t) => {
  const { parts: services, as, ann, bob, boss, request, fresh } = await postsFixture(t);

  await t.test('an administrator can do everything, a viewer only reads', async (t) => {
    await fresh();
    const viewer = as(owner('viewer'));
    t.equal((await request(viewer, 'GET', '/api/posts')).json.length, 3);
    t.equal((await request(viewer, 'POST', '/api/posts', {})).status, 403);
    t.equal((await request(viewer, 'GET', '/admin/policies')).status, 200);
    t.equal((await request(viewer, 'POST', '/admin/policies', {})).status, 403);
  });

  await t.test('a policy filter decides which documents are visible', async (t) => {
    withPolicies(services, [
      { ...MINE, actions: ['read'] },
      { resources: ['posts'], actions: ['read'], filter: { public: true } },
      { resources: ['posts'], actions: ['read'], effect: 'deny', filter: { title: 'Z' } },
    ]);
    t.match((await request(ann, 'GET', '/api/posts')).json, [{ id: 'a' }, { id: 'b' }]);
    t.match((await request(bob, 'GET', '/api/posts?count=exact&limit=1')).headers, { 'millrace-count': 2 });
    t.match((await request({}, 'GET', '/api/posts')).json, [{ id: 'b' }]);
    t.equal((await request(ann, 'GET', '/api/posts/c')).code, 'document-not-found');
    t.equal((await request(ann, 'POST', '/api/posts/_query', { filter: { id: 'c' } })).json.length, 0);
    t.equal((await request(ann, 'PUT', '/api/posts/a', {})).code, 'forbidden');
    t.equal((await request({}, 'PUT', '/api/posts/b', {})).code, 'not-authenticated');
    t.equal((await request(ann, 'GET', '/api/never')).code, 'forbidden');
  });

  await t.test('a variable without a value: an allow matches nothing, a deny everything', async (t) => {
    withPolicies(services, [{ ...MINE, actions: ['read'], filter: { authorId: { $ne: '$user.id' } } }]);
    t.equal((await request({}, 'GET', '/api/posts')).status, 401);
    t.equal((await request(ann, 'GET', '/api/posts')).json.length, 2);
    withPolicies(services, [
      { resources: ['posts'], actions: ['read'] },
      { ...MINE, actions: ['read'], effect: 'deny', filter: { team: '$user.claims.team' } },
    ]);
    t.equal((await request(ann, 'GET', '/api/posts')).status, 403);
    t.equal((await request(as(user('x', [], { team: 't' })), 'GET', '/api/posts')).json.length, 3);
  });

  await t.test('a policy about the id also applies to a query by id', async (t) => {
    withPolicies(services, [{ resources: ['posts'], actions: ['read', 'update', 'delete'], filter: { id: 'b' } }]);
    t.equal((await request({}, 'GET', '/api/posts/a')).status, 404);
    t.equal((await request({}, 'DELETE', '/api/posts/a')).status, 404);
    t.equal((await request({}, 'PUT', '/api/posts/a', { x: 1 })).status, 404);
    t.equal((await request({}, 'GET', '/api/posts/b')).status, 200);
  });

  await t.test('hidden fields are in no response, and cannot be queried', async (t) => {
    await fresh();
    const fields = { read: ['*', '-secret', '-address.street', '-items.cost'] };
    withPolicies(services, [{ resources: ['posts'], actions: ['read'], fields }]);
    const [a] = (await request({}, 'GET', '/api/posts')).json;
    const { _meta, ...properties } = a;
    t.strictSame(properties, { id: 'a', authorId: 'ann', title: 'A', address: { city: 'X' }, items: [{ n: 1 }] });
    t.equal(_meta.revision, 1);
    t.strictSame((await request({}, 'GET', '/api/posts/a')).json, a);
    t.strictSame((await request({}, 'GET', '/api/posts/a?fields=title,address')).json, {
      id: 'a',
      title: 'A',
      address: { city: 'X' },
    });
    t.strictSame((await request({}, 'GET', '/api/posts?fields=address&limit=1')).json, [
      { id: 'a', address: { city: 'X' } },
    ]);
    for (const requested of [
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
      t.equal((await request({}, 'GET', `/api/posts?${requested}`)).code, 'field-hidden', requested);
    }
    t.equal((await request({}, 'POST', '/api/posts/_query', { sort: 'secret' })).code, 'field-hidden');
    t.equal((await request({}, 'GET', '/api/posts/a?fields=secret')).code, 'field-hidden');
    t.equal((await request({}, 'GET', '/api/posts?address.city=X&items.n=1&fields=-secret')).json.length, 1);
  });

  await t.test('each grant shows its own fields; querying a field needs every grant', async (t) => {
    withPolicies(services, [
      { ...MINE, actions: ['read'] },
      { resources: ['posts'], actions: ['read'], fields: { read: ['title'] } },
    ]);
    const [a, b] = (await request(ann, 'GET', '/api/posts')).json;
    t.equal(a.secret, 1);
    t.strictSame(Object.keys(b), ['id', 'title', '_meta']);
    t.strictSame((await request(ann, 'GET', '/api/posts?fields=secret&limit=2&sort=-title')).json, [
      { id: 'c' },
      { id: 'b' },
    ]);
    t.equal((await request(ann, 'GET', '/api/posts?secret=1')).code, 'field-hidden');
    t.strictSame(Object.keys((await request(ann, 'GET', '/api/posts/b')).json), ['id', 'title', '_meta']);
  });

  await t.test('expansion shows only what the client can read there', async (t) => {
    await request(boss, 'POST', '/api/users2', [
      { id: 'ann', name: 'Ann', email: 'e' },
      { id: 'bob', name: 'Bob', email: 'f' },
    ]);
    withPolicies(services, [
      { resources: ['posts'], actions: ['read'] },
      { resources: ['users2'], actions: ['read'], filter: { name: 'Ann' }, fields: { read: ['name'] } },
    ]);
    const expanded = (await request({}, 'GET', '/api/posts?expand=authorId:users2')).json;
    t.match(expanded[0]._expanded, { authorId: { id: 'ann', name: 'Ann' } });
    t.notOk('email' in expanded[0]._expanded.authorId);
    t.equal(expanded[1]._expanded.authorId, null);
    withPolicies(services, [
      { resources: ['posts'], actions: ['read'], fields: { read: ['title', 'authorId'] } },
      { ...MINE, actions: ['read'], fields: { read: ['authorId', 'secret'] } },
      { resources: ['users2'], actions: ['read'] },
    ]);
    for (const url of ['/api/posts?', '/api/posts?limit=2&', '/api/posts/a?']) {
      const [a] = [(await request(ann, 'GET', `${url}expand=authorId:users2&fields=-authorId,-_meta`)).json].flat();
      t.match(a, { id: 'a', title: 'A', secret: 1, _expanded: { authorId: { id: 'ann' } } });
      t.strictSame(Object.keys(a).sort(), ['_expanded', 'id', 'secret', 'title'], 'nothing hidden is read along');
      t.equal((await request(ann, 'GET', `${url}expand=secret:users2&fields=title`)).code, 'field-hidden');
    }
    withPolicies(services, [{ resources: ['posts'], actions: ['read'] }]);
    t.equal((await request({}, 'GET', '/api/posts/a?expand=authorId:users2')).json._expanded.authorId, null);
  });
});
