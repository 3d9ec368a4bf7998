/** The tree of a filter: filters that always or never pass, negation, and tested paths. */
import t from 'tap';
import { and, everything, field, not, nothing, or, pathsOf, Variable } from '../../src/query/filter.ts';

const a = field('a', { op: 'in', values: [1] });
const b = field('b', { op: 'gt', value: 2 });

t.test('and joins filters flat', async (t) => {
  t.equal(and([]), everything);
  t.equal(and([everything, a]), a, 'everything adds nothing');
  t.same(and([and([a, b]), a]), { kind: 'and', filters: [a, b, a] });
  t.equal(and([a, nothing]), nothing);
});

t.test('or joins filters flat', async (t) => {
  t.equal(or([]), nothing);
  t.equal(or([nothing, a]), a);
  t.same(or([or([a, b]), a]), { kind: 'or', filters: [a, b, a] });
  t.equal(or([a, everything]), everything);
});

t.test('not inverts everything and nothing', async (t) => {
  t.equal(not(everything), nothing);
  t.equal(not(nothing), everything);
  t.same(not(a), field('a', { op: 'not', tests: [{ op: 'in', values: [1] }] }));
  t.same(not(or([a, b])), { kind: 'nor', filters: [or([a, b])] });
});

t.test('pathsOf returns every tested field, at any depth', async (t) => {
  const filter = and([
    not(or([a, b])),
    field('c', { op: 'elemWhere', filter: field('d.e', { op: 'exists', exists: true }) }),
    field('f', { op: 'not', tests: [{ op: 'in', values: [new Variable('user.id')] }] }),
    field('g', { op: 'elem', tests: [{ op: 'elemWhere', filter: a }] }),
  ]);
  t.same([...pathsOf(filter)], ['a', 'b', 'c', 'c.d.e', 'f', 'g', 'g.a']);
});
