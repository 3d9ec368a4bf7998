/** Where lists are cut: in the database if every document shows the same fields, and otherwise in the program. */
import { BSON } from 'mongodb';
import t from 'tap';
import { selectStoredFields } from '../../../src/collections/read/field-selection.ts';
import { createProjection } from '../../../src/collections/read/projection.ts';
import { parseCollectionName } from '../../../src/database/parse-collection-name.ts';
import { parseFieldRules } from '../../../src/policies/fields/field-rules.ts';
import { Policies } from '../../../src/policies/policies.ts';
import { toPolicySet } from '../../../src/policies/policy-set.ts';
import { parseFields } from '../../../src/query/evaluate/field-selection.ts';
import { FULL_FIELD_TREE } from '../../../src/query/evaluate/field-tree.ts';
import { user } from '../../helpers/principals.ts';

function showing(fields: readonly (readonly string[])[], requested: readonly string[] | null, isEncoded = false) {
  const policies = new Policies('production');
  policies.use(
    toPolicySet(
      fields.map((read, index) => ({
        id: `p${index}`,
        policy: {
          name: `p${index}`,
          effect: 'allow',
          resources: ['*'],
          actions: ['read'],
          filter: { n: index },
          fields: { read },
        },
      })),
    ),
  );
  const scope = policies.scope(user('ann'), 'read', parseCollectionName('posts'));
  return createProjection(scope, requested === null ? null : parseFields(requested), isEncoded);
}

t.test('one rule for all documents is a projection, and the bytes stay as received', async (t) => {
  for (const [rules, requested, fields] of [
    [['*'], null, null],
    [['*', '-a', '-b.c'], null, { mode: 'exclude', paths: ['a', 'b.c'] }],
    [['a', 'b.c'], null, { mode: 'include', paths: ['a', 'b.c', '_meta'] }],
    [['*', '-a'], ['b', 'c.d'], { mode: 'include', paths: ['b', 'c.d'] }],
    [['*', '-a'], ['-b', '-id'], { mode: 'exclude', paths: ['a', 'b'] }],
    [['a', 'b'], ['-a', '-_meta'], { mode: 'include', paths: ['b'] }],
    [['a.b'], ['a'], { mode: 'include', paths: ['a.b'] }],
  ] as const) {
    t.strictSame(
      showing([rules, rules], requested),
      { fields, cut: null, visible: FULL_FIELD_TREE },
      JSON.stringify([rules, requested]),
    );
  }
});

t.test('an encoder omits the fields that are hidden in every document, unless few are visible', async (t) => {
  const hides = ['*', '-a', '-b.c'];
  t.strictSame(showing([hides, hides], null, true), { fields: null, cut: null, visible: parseFieldRules(hides) });
  t.equal(showing([['a', 'b.c']], null, true).visible, FULL_FIELD_TREE);
  t.equal(showing([hides], ['b'], true).visible, FULL_FIELD_TREE);
  t.type(showing([['*'], ['*', '-a']], null, true).cut, 'function');
});

t.test('what a projection cannot express is cut here', async (t) => {
  for (const [rules, requested] of [
    [[['*'], ['a']], null],
    [[['*', '-a.b']], ['a']],
  ] as const) {
    const found = showing(rules, requested);
    t.equal(found.fields, null);
    t.type(found.cut, 'function');
  }
});

t.test('a field that the principal cannot read cannot be requested by name', async (t) => {
  t.throws(() => showing([['*', '-a'], ['b']], ['a']), { code: 'field-hidden' });
  t.ok(showing([['*', '-a'], ['a']], ['a']));
  t.ok(showing([['*', '-a'], ['b']], ['-a']));
});

t.test('the result for a thousand fields is computed once for all documents of a list', async (t) => {
  let requested = 0;
  const { mode, paths } = parseFields(Array.from({ length: 1_000 }, (_, n) => `a.m${n}`));
  const fields = {
    mode,
    get paths() {
      requested++;
      return paths;
    },
  };
  for (let n = 0; n < 3; n++) {
    const cut = selectStoredFields(BSON.serialize({ _id: n, a: { m7: 1, other: 1 }, b: 1 }), fields);
    t.strictSame(BSON.deserialize(cut), { _id: n, a: { m7: 1 } });
  }
  t.equal(requested, 1);
});
