/** Policies on every way to write documents: hidden or locked fields stay, and no document leaves a writer's reach. */
import t from 'tap';
import { withPolicies } from '../helpers/policies.ts';
import { MERGE, MINE, PATCH, postsFixture, UPDATE } from '../helpers/posts.ts';

t.test('documents written under policies', async (t) => {
  const { parts: services, ann, boss, request, patch, stored, fresh } = await postsFixture(t);

  await t.test('a create must match its filter, its fields, and the values that the policy sets', async (t) => {
    const create = { ...MINE, actions: ['create'], fields: { write: ['title'] }, set: { authorId: '$user.id' } };
    withPolicies(services, [create]);
    const created = await request(ann, 'POST', '/api/posts', { title: 'N', authorId: 'bob' });
    t.match(created, { status: 201, json: null });
    t.equal(created.headers.etag, undefined);
    t.match(await stored(String(created.headers.location)), { title: 'N', authorId: 'ann' });
    t.match(await request(ann, 'POST', '/api/posts', { title: 'N', secret: 1 }), {
      code: 'field-not-writable',
      json: { detail: /'secret'/, errors: [{ pointer: '/secret' }] },
    });
    t.equal((await request({}, 'POST', '/api/posts', { title: 'N' })).status, 401);
    withPolicies(services, [{ ...MINE, actions: ['create', 'read'], fields: { read: ['title'] } }]);
    t.equal((await request(ann, 'POST', '/api/posts', { authorId: 'bob' })).code, 'forbidden');
    const seen = await request(ann, 'POST', '/api/posts', { authorId: 'ann', title: 'T', secret: 9 });
    t.strictSame(Object.keys(seen.json), ['id', 'title', '_meta']);
    t.equal((await request(ann, 'GET', `/api/posts/${seen.json.id}`)).headers.etag, seen.headers.etag);
    const bulk = await request(ann, 'POST', '/api/posts', [{ authorId: 'ann' }, { authorId: 'bob' }]);
    t.match(bulk, { code: 'forbidden', json: { errors: [{ pointer: '/1' }] } });
  });

  await t.test('a replacement keeps hidden and locked fields', async (t) => {
    await fresh();
    const fields = { read: ['*', '-secret', '-address.street'], write: ['title', 'address', 'secret'] };
    withPolicies(services, [{ ...MINE, actions: ['read', 'update'], fields }]);
    const before = (await request(ann, 'GET', '/api/posts/a')).json;
    const done = await request(ann, 'PUT', '/api/posts/a', { ...before, title: 'A2', address: { zip: 1 } });
    t.match(done, { status: 200, json: { title: 'A2', address: { zip: 1 } } });
    const { _meta, ...now } = await stored('/api/posts/a');
    const address = { zip: 1, street: 'S' };
    t.strictSame(now, { id: 'a', authorId: 'ann', title: 'A2', address, items: [{ n: 1, cost: 5 }], secret: 1 });
    t.equal((await request(ann, 'PUT', '/api/posts/a', { ...before, authorId: 'bob' })).code, 'field-not-writable');
    t.equal(
      (await request(ann, 'PUT', '/api/posts/a', { title: 'A3' })).status,
      200,
      'what is left out and locked stays',
    );
    t.equal((await stored('/api/posts/a')).authorId, 'ann');
    t.equal(
      (await request(ann, 'PUT', '/api/posts/a', { title: 'A4', secret: 7 })).status,
      200,
      'set without being seen',
    );
    t.equal((await stored('/api/posts/a')).secret, 7);
    withPolicies(services, [{ ...MINE, actions: ['read', 'update'], fields: { ...fields, write: ['title'] } }]);
    for (const secret of [7, 8])
      t.equal((await request(ann, 'PUT', '/api/posts/a', { secret })).code, 'field-not-writable', 'equal or not');
    t.equal((await request(ann, 'PUT', '/api/posts/b', {})).status, 404);
  });

  await t.test('patches cannot name what is hidden or locked', async (t) => {
    await fresh();
    const fields = { read: ['*', '-secret', '-items.cost'], write: ['title', 'secret', 'items', 'n', 'address.city'] };
    withPolicies(services, [{ ...MINE, actions: ['read', 'update'], fields }]);
    t.equal((await patch(ann, '/api/posts/a', MERGE, { title: 'M', secret: 5, address: { city: 'Y' } })).status, 200);
    t.match(await stored('/api/posts/a'), { title: 'M', secret: 5, address: { city: 'Y', street: 'S' } });
    for (const body of [{ authorId: 'ann' }, { address: null }, { address: { street: 'S' } }, { items: [] }])
      t.equal((await patch(ann, '/api/posts/a', MERGE, body)).code, 'field-not-writable', JSON.stringify(body));
    for (const operation of [
      { op: 'test', path: '/secret', value: 5 },
      { op: 'copy', from: '/secret', path: '/title' },
      { op: 'move', from: '/secret', path: '/title' },
      { op: 'replace', path: '/secret', value: 1 },
      { op: 'test', path: '/items/0/cost', value: 5 },
    ])
      t.equal((await patch(ann, '/api/posts/a', PATCH, [operation])).code, 'field-hidden', JSON.stringify(operation));
    for (const operation of [
      { op: 'remove', path: '/authorId' },
      { op: 'add', path: '/address/street', value: 'T' },
      { op: 'add', path: '/items/-', value: { n: 2 } },
      { op: 'replace', path: '', value: {} },
    ])
      t.equal(
        (await patch(ann, '/api/posts/a', PATCH, [operation])).code,
        'field-not-writable',
        JSON.stringify(operation),
      );
    t.equal((await patch(ann, '/api/posts/a', PATCH, [{ op: 'replace', path: '/title', value: 'P' }])).status, 200);
    t.equal((await patch(ann, '/api/posts/a', UPDATE, { $inc: { n: 2 }, $set: { 'address.city': 'Z' } })).json.n, 2);
    t.equal((await patch(ann, '/api/posts/a', UPDATE, { $inc: { secret: 1 } })).code, 'field-hidden');
    t.equal((await patch(ann, '/api/posts/a', UPDATE, { $set: { authorId: 'bob' } })).code, 'field-not-writable');
    t.match(await stored('/api/posts/a'), { secret: 5, n: 2, items: [{ n: 1, cost: 5 }], address: { street: 'S' } });
  });

  await t.test('a document cannot be moved out of the scope of its client, nor into it', async (t) => {
    await fresh();
    withPolicies(services, [
      { resources: ['posts'], actions: ['read'] },
      { ...MINE, actions: ['update', 'delete'] },
    ]);
    t.equal((await patch(ann, '/api/posts/a', MERGE, { authorId: 'bob' })).code, 'forbidden');
    t.equal((await patch(ann, '/api/posts/b', MERGE, { authorId: 'ann' })).code, 'forbidden');
    t.equal((await request(ann, 'DELETE', '/api/posts/b')).code, 'forbidden');
    t.equal((await request(ann, 'DELETE', '/api/posts/nothing')).code, 'document-not-found');
    t.equal((await request(ann, 'DELETE', '/api/posts/a')).status, 204);
  });

  await t.test('writes by filter change what the client can write, and count what it can read', async (t) => {
    await fresh();
    withPolicies(services, [
      { ...MINE, actions: ['read'], fields: { read: ['*', '-secret'] } },
      { resources: ['posts'], actions: ['update'], fields: { write: ['likes'] } },
    ]);
    const many = (query: string, send: object) =>
      request(ann, 'PATCH', `/api/posts?${query}`, send, { prefer: 'max-affected=10', 'content-type': MERGE });
    t.equal((await many('secret[gt]=0', { likes: 1 })).code, 'field-hidden');
    t.strictSame((await many('title[gt]=A', { likes: 1 })).json, { matched: 0, modified: 0 });
    t.strictSame((await many('title=A', { likes: 1 })).json, { matched: 1, modified: 1 });
    t.strictSame((await many('filter={}', { likes: 2 })).json, { matched: 3, modified: 3 });
    t.equal((await many('filter={}', { title: 'x' })).code, 'field-not-writable');
    t.match(
      (await stored('/api/posts')).map(({ likes }: { likes: number }) => likes),
      [2, 2, 2],
    );
  });

  await t.test('upserts need the right to create; batches check each write', async (t) => {
    await fresh();
    withPolicies(services, [{ ...MINE, actions: ['read', 'update'] }]);
    t.equal((await request(ann, 'PUT', '/api/posts/n?upsert=true', { authorId: 'ann' })).status, 404);
    t.equal((await request(ann, 'PUT', '/api/posts/n', {}, { 'if-none-match': '*' })).status, 403);
    withPolicies(services, [{ ...MINE, actions: ['read', 'update', 'create'] }]);
    t.equal((await request(ann, 'PUT', '/api/posts/n?upsert=true', { authorId: 'ann' })).status, 201);
    t.equal((await request(ann, 'PUT', '/api/posts/c?upsert=true', { authorId: 'ann' })).code, 'id-exists');
    t.match(await request(ann, 'PUT', '/api/posts/c', { authorId: 'ann' }, { 'if-none-match': '*' }), {
      status: 412,
      headers: { etag: undefined },
    });
    const operations = [
      { method: 'POST', path: '/api/posts', body: { authorId: 'ann' } },
      { method: 'DELETE', path: '/api/posts/a' },
    ];
    t.match(await request(ann, 'POST', '/batch', { operations }), { status: 403, json: { failedOperation: 1 } });
    t.equal((await request(ann, 'GET', '/api/posts')).json.length, 2);
    const keyed = await request(ann, 'POST', '/api/posts', { authorId: 'bob' }, { 'idempotency-key': 'k1' });
    t.equal(keyed.code, 'forbidden');
  });

  await t.test('entity tags depend only on visible fields, and do not reveal the rest', async (t) => {
    await fresh();
    withPolicies(services, [{ ...MINE, actions: ['read', 'update', 'delete'], fields: { read: ['*', '-secret'] } }]);
    const before = String((await request(ann, 'GET', '/api/posts/a')).headers.etag);
    await services.mongo.data.collection<{ _id: string }>('posts').updateOne({ _id: 'a' }, { $set: { secret: 99 } });
    t.equal((await request(ann, 'GET', '/api/posts/a')).headers.etag, before);
    t.not((await request(boss, 'GET', '/api/posts/a')).headers.etag, before);
    t.equal((await request(ann, 'GET', '/api/posts/a', undefined, { 'if-none-match': before })).status, 304);
    const changed = await request(ann, 'PUT', '/api/posts/a', { authorId: 'ann', title: 'E' }, { 'if-match': before });
    t.equal(changed.status, 200);
    t.equal((await stored('/api/posts/a')).secret, 99);
    const stale = await request(ann, 'DELETE', '/api/posts/a', undefined, { 'if-match': before });
    t.match(stale, { status: 412, headers: { etag: changed.headers.etag } });
    await request(boss, 'PATCH', '/api/posts/a', { secret: 100 });
    const [was, is] = [changed, await request(ann, 'GET', '/api/posts/a')].map(({ headers }) => String(headers.etag));
    t.match(
      [was, is],
      [/^"2-/, /^"3-/],
      'the revision counts every change through the program, what of it is hidden too',
    );
  });
});
