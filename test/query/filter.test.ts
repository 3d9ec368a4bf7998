/** The tree of a filter: filters that always or never pass, negation, and tested paths. */
import t from 'tap';
import {
  and,
  fieldFilter,
  matchAllFilter,
  matchNoneFilter,
  not,
  or,
  pathsInFilter,
  Variable,
} from '../../src/query/filter.ts';

const a = fieldFilter('a', { op: 'in', values: [1] });
const b = fieldFilter('b', { op: 'gt', value: 2 });

t.test('and joins filters flat', async (t) => {
  t.equal(and([]), matchAllFilter);
  t.equal(and([matchAllFilter, a]), a, 'everything adds nothing');
  t.same(and([and([a, b]), a]), { kind: 'and', filters: [a, b, a] });
  t.equal(and([a, matchNoneFilter]), matchNoneFilter);
});

t.test('or joins filters flat', async (t) => {
  t.equal(or([]), matchNoneFilter);
  t.equal(or([matchNoneFilter, a]), a);
  t.same(or([or([a, b]), a]), { kind: 'or', filters: [a, b, a] });
  t.equal(or([a, matchAllFilter]), matchAllFilter);
});

t.test('not inverts everything and nothing', async (t) => {
  t.equal(not(matchAllFilter), matchNoneFilter);
  t.equal(not(matchNoneFilter), matchAllFilter);
  t.same(not(a), fieldFilter('a', { op: 'not', tests: [{ op: 'in', values: [1] }] }));
  t.same(not(or([a, b])), { kind: 'nor', filters: [or([a, b])] });
});

t.test('pathsOf returns every tested field, at any depth', async (t) => {
  const filter = and([
    not(or([a, b])),
    fieldFilter('c', { op: 'elemWhere', filter: fieldFilter('d.e', { op: 'exists', exists: true }) }),
    fieldFilter('f', { op: 'not', tests: [{ op: 'in', values: [new Variable('user.id')] }] }),
    fieldFilter('g', { op: 'elem', tests: [{ op: 'elemWhere', filter: a }] }),
  ]);
  t.same([...pathsInFilter(filter)], ['a', 'b', 'c', 'c.d.e', 'f', 'g', 'g.a']);
});
