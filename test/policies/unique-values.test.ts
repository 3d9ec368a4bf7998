/** A unique value that is taken: every kind of write names the index, but not the hidden fields. */
import t from 'tap';
import { withPolicies } from '../helpers/policies.ts';
import { MERGE, postsFixture } from '../helpers/posts.ts';

t.test('a change by filter to a unique value that is taken', async (t) => {
  const { boss, request, fresh } = await postsFixture(t);
  await fresh();
  await request(boss, 'PUT', '/admin/collections/posts/indexes', [{ fields: ['title'], unique: true }]);
  const headers = { prefer: 'max-affected=10', 'content-type': MERGE };
  const { json } = await request(boss, 'PATCH', '/api/posts?title=B', { title: 'A' }, headers);
  t.match(json, { status: 409, code: 'unique-violation' });
});

t.test('an index over a hidden field', async (t) => {
  const { parts: services, boss, ann, request, patch, fresh } = await postsFixture(t);
  await fresh();
  await request(boss, 'PUT', '/admin/collections/posts/indexes', [{ fields: ['title', 'secret'], unique: true }]);
  await request(boss, 'PATCH', '/api/posts/b', { secret: 1 }, { 'content-type': MERGE });
  withPolicies(services, [
    { resources: ['posts'], actions: ['read', 'update'], fields: { read: ['*', '-secret'], write: ['title'] } },
  ]);
  const { json } = await patch(ann, '/api/posts/b', MERGE, { title: 'A' });
  t.equal(json.code, 'unique-violation');
  t.notMatch(JSON.stringify(json), /secret/);
});
