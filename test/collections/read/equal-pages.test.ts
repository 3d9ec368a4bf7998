/** Equal pages that share one read: each reader gets its own fields of it, and the same cursors. */
import t from 'tap';
import { NO_PRECONDITIONS } from '../../../src/collections/store/preconditions.ts';
import { encodeListJson } from '../../../src/database/json/json.ts';
import { parseCollectionName } from '../../../src/database/parse-collection-name.ts';
import { parseQuery } from '../../../src/query/parse/parse-query.ts';
import { buildTestApp } from '../../helpers/app.ts';
import { withPolicies } from '../../helpers/policies.ts';
import { owner, user } from '../../helpers/principals.ts';

const posts = parseCollectionName('posts');

t.test('readers with different hidden fields share a read and see only their own fields', async (t) => {
  const { services } = await buildTestApp(t);
  const { collections } = services;
  const write = { request: 'req_1', preconditions: NO_PRECONDITIONS };
  const creating = services.policies.scope(owner(), 'create', posts);
  for (const n of [1, 2, 3]) await collections.create(creating, posts, { id: `p${n}`, a: 1, b: 2, c: n }, write);
  const shows = { ann: ['*', '-a'], bob: ['*', '-b'], cleo: ['a', 'c'], dan: ['b', 'c'], eve: ['*'] };
  withPolicies(
    services,
    Object.entries(shows).map(([name, read]) => ({
      resources: ['posts'],
      actions: ['read'],
      principals: { users: [name] },
      fields: { read },
    })),
  );
  const readers = Object.keys(shows);
  // In the last one, fields are removed here after the read, because the sort needs more than is shown.
  for (const [search, hidden] of [
    [{ limit: '2' }, []],
    [{ limit: '2', sort: '-c' }, []],
    [{ limit: '2', sort: '-c', fields: '-c' }, ['c']],
  ] as const) {
    const query = parseQuery(Object.entries(search));
    const pages = await Promise.all(
      // Each three times: the first starts a read, and the others share the next one.
      [...readers, ...readers, ...readers].map(async (name) => {
        const scope = services.policies.scope(user(name), 'read', posts);
        const page = await collections.list(scope, posts, query, undefined, true);
        const [first] = JSON.parse(encodeListJson(page.documents, { fields: page.visible }).toString());
        const { id: _id, _meta, ...fields } = first;
        return { name, fields: Object.keys(fields), next: page.next };
      }),
    );
    const seen = (name: string) =>
      ['a', 'b', 'c'].filter((field) => {
        const rules = shows[name as keyof typeof shows];
        return (
          !rules.includes(`-${field}`) &&
          (rules.includes('*') || rules.includes(field)) &&
          !hidden.includes(field as never)
        );
      });
    for (const { name, fields, next } of pages) {
      t.strictSame(fields, seen(name), `${name} ${JSON.stringify(search)}`);
      t.equal(next, pages[0]?.next);
    }
  }
});
