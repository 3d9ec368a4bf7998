/** Policies on every way to write documents: what is hidden or locked stays, and nothing leaves anybody's reach. */
import t from 'tap';
import { withPolicies } from '../helpers/policies.ts';
import { MERGE, MINE, PATCH, postsWorld, UPDATE } from '../helpers/posts.ts';

t.test('documents written under policies', async (t) => {
  const { parts, ann, boss, ask, patch, stored, fresh } = await postsWorld(t);

  await t.test('a create is held to its filter, its members, and the values that are given', async (t) => {
    const create = { ...MINE, actions: ['create'], fields: { write: ['title'] }, set: { authorId: '$user.id' } };
    withPolicies(parts, [create]);
    const made = await ask(ann, 'POST', '/api/posts', { title: 'N', authorId: 'bob' });
    t.match(made, { status: 201, json: null });
    t.equal(made.headers.etag, undefined);
    t.match(await stored(String(made.headers.location)), { title: 'N', authorId: 'ann' });
    t.match(await ask(ann, 'POST', '/api/posts', { title: 'N', secret: 1 }), {
      code: 'field-not-writable',
      json: { detail: /'secret'/, errors: [{ pointer: '/secret' }] },
    });
    t.equal((await ask({}, 'POST', '/api/posts', { title: 'N' })).status, 401);
    withPolicies(parts, [{ ...MINE, actions: ['create', 'read'], fields: { read: ['title'] } }]);
    t.equal((await ask(ann, 'POST', '/api/posts', { authorId: 'bob' })).code, 'forbidden');
    const seen = await ask(ann, 'POST', '/api/posts', { authorId: 'ann', title: 'T', secret: 9 });
    t.strictSame(Object.keys(seen.json), ['id', 'title', '_meta']);
    t.equal((await ask(ann, 'GET', `/api/posts/${seen.json.id}`)).headers.etag, seen.headers.etag);
    const bulk = await ask(ann, 'POST', '/api/posts', [{ authorId: 'ann' }, { authorId: 'bob' }]);
    t.match(bulk, { code: 'forbidden', json: { errors: [{ pointer: '/1' }] } });
  });

  await t.test('a replacement keeps what is hidden or locked', async (t) => {
    await fresh();
    const fields = { read: ['*', '-secret', '-address.street'], write: ['title', 'address', 'secret'] };
    withPolicies(parts, [{ ...MINE, actions: ['read', 'update'], fields }]);
    const before = (await ask(ann, 'GET', '/api/posts/a')).json;
    const done = await ask(ann, 'PUT', '/api/posts/a', { ...before, title: 'A2', address: { zip: 1 } });
    t.match(done, { status: 200, json: { title: 'A2', address: { zip: 1 } } });
    const { _meta, ...now } = await stored('/api/posts/a');
    const address = { zip: 1, street: 'S' };
    t.strictSame(now, { id: 'a', authorId: 'ann', title: 'A2', address, items: [{ n: 1, cost: 5 }], secret: 1 });
    t.equal((await ask(ann, 'PUT', '/api/posts/a', { ...before, authorId: 'bob' })).code, 'field-not-writable');
    t.equal((await ask(ann, 'PUT', '/api/posts/a', { title: 'A3' })).status, 200, 'what is left out and locked stays');
    t.equal((await stored('/api/posts/a')).authorId, 'ann');
    t.equal((await ask(ann, 'PUT', '/api/posts/a', { title: 'A4', secret: 7 })).status, 200, 'set without being seen');
    t.equal((await stored('/api/posts/a')).secret, 7);
    withPolicies(parts, [{ ...MINE, actions: ['read', 'update'], fields: { ...fields, write: ['title'] } }]);
    for (const secret of [7, 8])
      t.equal((await ask(ann, 'PUT', '/api/posts/a', { secret })).code, 'field-not-writable', 'equal or not');
    t.equal((await ask(ann, 'PUT', '/api/posts/b', {})).status, 404);
  });

  await t.test('patches name nothing that is hidden or locked', async (t) => {
    await fresh();
    const fields = { read: ['*', '-secret', '-items.cost'], write: ['title', 'secret', 'items', 'n', 'address.city'] };
    withPolicies(parts, [{ ...MINE, actions: ['read', 'update'], fields }]);
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

  await t.test('a document cannot be moved out of reach, nor taken into it', async (t) => {
    await fresh();
    withPolicies(parts, [
      { collections: ['posts'], actions: ['read'] },
      { ...MINE, actions: ['update', 'delete'] },
    ]);
    t.equal((await patch(ann, '/api/posts/a', MERGE, { authorId: 'bob' })).code, 'forbidden');
    t.equal((await patch(ann, '/api/posts/b', MERGE, { authorId: 'ann' })).code, 'forbidden');
    t.equal((await ask(ann, 'DELETE', '/api/posts/b')).code, 'forbidden');
    t.equal((await ask(ann, 'DELETE', '/api/posts/nothing')).code, 'document-not-found');
    t.equal((await ask(ann, 'DELETE', '/api/posts/a')).status, 204);
  });

  await t.test('writes by filter touch what may be written, and count what may be read', async (t) => {
    await fresh();
    withPolicies(parts, [
      { ...MINE, actions: ['read'], fields: { read: ['*', '-secret'] } },
      { collections: ['posts'], actions: ['update'], fields: { write: ['likes'] } },
    ]);
    const many = (query: string, send: object) =>
      ask(ann, 'PATCH', `/api/posts?${query}`, send, { prefer: 'max-affected=10', 'content-type': MERGE });
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

  await t.test('upserts need the right to create; batches hold each write to its own', async (t) => {
    await fresh();
    withPolicies(parts, [{ ...MINE, actions: ['read', 'update'] }]);
    t.equal((await ask(ann, 'PUT', '/api/posts/n?upsert=true', { authorId: 'ann' })).status, 404);
    t.equal((await ask(ann, 'PUT', '/api/posts/n', {}, { 'if-none-match': '*' })).status, 403);
    withPolicies(parts, [{ ...MINE, actions: ['read', 'update', 'create'] }]);
    t.equal((await ask(ann, 'PUT', '/api/posts/n?upsert=true', { authorId: 'ann' })).status, 201);
    t.equal((await ask(ann, 'PUT', '/api/posts/c?upsert=true', { authorId: 'ann' })).code, 'id-exists');
    t.match(await ask(ann, 'PUT', '/api/posts/c', { authorId: 'ann' }, { 'if-none-match': '*' }), {
      status: 412,
      headers: { etag: undefined },
    });
    const operations = [
      { method: 'POST', path: '/api/posts', body: { authorId: 'ann' } },
      { method: 'DELETE', path: '/api/posts/a' },
    ];
    t.match(await ask(ann, 'POST', '/batch', { operations }), { status: 403, json: { failedOperation: 1 } });
    t.equal((await ask(ann, 'GET', '/api/posts')).json.length, 2);
    const keyed = await ask(ann, 'POST', '/api/posts', { authorId: 'bob' }, { 'idempotency-key': 'k1' });
    t.equal(keyed.code, 'forbidden');
  });

  await t.test('entity tags are of what is seen, and do not tell the rest', async (t) => {
    await fresh();
    withPolicies(parts, [{ ...MINE, actions: ['read', 'update', 'delete'], fields: { read: ['*', '-secret'] } }]);
    const before = String((await ask(ann, 'GET', '/api/posts/a')).headers.etag);
    await parts.mongo.data.collection<{ _id: string }>('posts').updateOne({ _id: 'a' }, { $set: { secret: 99 } });
    t.equal((await ask(ann, 'GET', '/api/posts/a')).headers.etag, before);
    t.not((await ask(boss, 'GET', '/api/posts/a')).headers.etag, before);
    t.equal((await ask(ann, 'GET', '/api/posts/a', undefined, { 'if-none-match': before })).status, 304);
    const changed = await ask(ann, 'PUT', '/api/posts/a', { authorId: 'ann', title: 'E' }, { 'if-match': before });
    t.equal(changed.status, 200);
    t.equal((await stored('/api/posts/a')).secret, 99);
    const stale = await ask(ann, 'DELETE', '/api/posts/a', undefined, { 'if-match': before });
    t.match(stale, { status: 412, headers: { etag: changed.headers.etag } });
    await ask(boss, 'PATCH', '/api/posts/a', { secret: 100 });
    const [was, is] = [changed, await ask(ann, 'GET', '/api/posts/a')].map(({ headers }) => String(headers.etag));
    t.match(
      [was, is],
      [/^"2-/, /^"3-/],
      'the revision counts every change through the program, what of it is hidden too',
    );
  });
});
