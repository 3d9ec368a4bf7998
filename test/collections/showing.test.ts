/** Who cuts a list: the database, where every document shows the same members, and otherwise the program. */
import t from 'tap';
import { showingOf } from '../../src/collections/showing.ts';
import { parseCollectionName } from '../../src/database/names.ts';
import { Policies } from '../../src/policies/policies.ts';
import { toPolicySet } from '../../src/policies/policy-set.ts';
import { parseFields } from '../../src/query/fields.ts';
import { user } from '../helpers/principals.ts';

function showing(fields: readonly (readonly string[])[], asked: readonly string[] | null) {
  const policies = new Policies('production');
  policies.use(
    toPolicySet(
      fields.map((read, index) => ({
        id: `p${index}`,
        policy: {
          name: `p${index}`,
          effect: 'allow',
          collections: ['*'],
          actions: ['read'],
          where: { n: index },
          fields: { read },
        },
      })),
    ),
  );
  const scope = policies.scope(user('ann'), 'read', parseCollectionName('posts'));
  return showingOf(scope, asked === null ? null : parseFields(asked));
}

t.test('one rule for all documents is a projection, and the bytes stay as they come', async (t) => {
  for (const [rules, asked, fields] of [
    [['*'], null, null],
    [['*', '-a', '-b.c'], null, { mode: 'exclude', paths: ['a', 'b.c'], id: true }],
    [['a', 'b.c'], null, { mode: 'include', paths: ['a', 'b.c', '_meta'], id: true }],
    [['*', '-a'], ['b', 'c.d'], { mode: 'include', paths: ['b', 'c.d'], id: true }],
    [['*', '-a'], ['-b', '-id'], { mode: 'exclude', paths: ['a', 'b'], id: false }],
    [['a', 'b'], ['-a', '-_meta'], { mode: 'include', paths: ['b'], id: true }],
    [['a.b'], ['a'], { mode: 'include', paths: ['a.b'], id: true }],
  ] as const) {
    t.strictSame(showing([rules, rules], asked), { fields, cut: null }, JSON.stringify([rules, asked]));
  }
});

t.test('what a projection cannot say is cut here', async (t) => {
  for (const [rules, asked] of [
    [[['*'], ['a']], null],
    [[['*', '-a.b']], ['a']],
  ] as const) {
    const found = showing(rules, asked);
    t.equal(found.fields, null);
    t.type(found.cut, 'function');
  }
});

t.test('a member that nobody may see is not asked for by name', async (t) => {
  t.throws(() => showing([['*', '-a'], ['b']], ['a']), { code: 'field-hidden' });
  t.ok(showing([['*', '-a'], ['a']], ['a']));
  t.ok(showing([['*', '-a'], ['b']], ['-a']));
});
