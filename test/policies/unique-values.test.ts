/** A unique value that is taken: the index is named in every way of writing, but not the members that are hidden. */
import t from 'tap';
import { withPolicies } from '../helpers/policies.ts';
import { MERGE, postsWorld } from '../helpers/posts.ts';

t.test('a change by filter into a taken value', async (t) => {
  const { boss, ask, fresh } = await postsWorld(t);
  await fresh();
  await ask(boss, 'PUT', '/admin/collections/posts/indexes', [{ fields: ['title'], unique: true }]);
  const headers = { prefer: 'max-affected=10', 'content-type': MERGE };
  const { json } = await ask(boss, 'PATCH', '/api/posts?title=B', { title: 'A' }, headers);
  t.match(json, { status: 409, code: 'unique-violation' });
});

t.test('an index over a hidden member', async (t) => {
  const { parts, boss, ann, ask, patch, fresh } = await postsWorld(t);
  await fresh();
  await ask(boss, 'PUT', '/admin/collections/posts/indexes', [{ fields: ['title', 'secret'], unique: true }]);
  await ask(boss, 'PATCH', '/api/posts/b', { secret: 1 }, { 'content-type': MERGE });
  withPolicies(parts, [
    { collections: ['posts'], actions: ['read', 'update'], fields: { read: ['*', '-secret'], write: ['title'] } },
  ]);
  const { json } = await patch(ann, '/api/posts/b', MERGE, { title: 'A' });
  t.equal(json.code, 'unique-violation');
  t.notMatch(JSON.stringify(json), /secret/);
});
