/** Who cuts a list: the database, where every document shows the same members, and otherwise the program. */
import { BSON } from 'mongodb';
import t from 'tap';
import { cutStored } from '../../../src/collections/read/field-selection.ts';
import { projectionOf } from '../../../src/collections/read/projection.ts';
import { parseCollectionName } from '../../../src/database/names.ts';
import { Policies } from '../../../src/policies/policies.ts';
import { toPolicySet } from '../../../src/policies/policy-set.ts';
import { parseFields } from '../../../src/query/evaluate/fields.ts';
import { user } from '../../helpers/principals.ts';

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
  return projectionOf(scope, asked === null ? null : parseFields(asked));
}

t.test('one rule for all documents is a projection, and the bytes stay as they come', async (t) => {
  for (const [rules, asked, fields] of [
    [['*'], null, null],
    [['*', '-a', '-b.c'], null, { mode: 'exclude', paths: ['a', 'b.c'] }],
    [['a', 'b.c'], null, { mode: 'include', paths: ['a', 'b.c', '_meta'] }],
    [['*', '-a'], ['b', 'c.d'], { mode: 'include', paths: ['b', 'c.d'] }],
    [['*', '-a'], ['-b', '-id'], { mode: 'exclude', paths: ['a', 'b'] }],
    [['a', 'b'], ['-a', '-_meta'], { mode: 'include', paths: ['b'] }],
    [['a.b'], ['a'], { mode: 'include', paths: ['a.b'] }],
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

t.test('what a thousand fields show is worked out once for all documents of a list', async (t) => {
  let asked = 0;
  const { mode, paths } = parseFields(Array.from({ length: 1_000 }, (_, n) => `a.m${n}`));
  const fields = {
    mode,
    get paths() {
      asked++;
      return paths;
    },
  };
  for (let n = 0; n < 3; n++) {
    const cut = cutStored(BSON.serialize({ _id: n, a: { m7: 1, other: 1 }, b: 1 }), fields);
    t.strictSame(BSON.deserialize(cut), { _id: n, a: { m7: 1 } });
  }
  t.equal(asked, 1);
});
