/** Whole queries, as a URL and as a body; everything except the conditions themselves. */
import t from 'tap';
import { fieldFilter, matchAllFilter } from '../../../src/query/filter.ts';
import { parseQuery, parseQueryJson } from '../../../src/query/parse/parse-query.ts';
import { parseQueryString } from '../../../src/query/parse/parse-query-string.ts';
import { type Query, queryFingerprint } from '../../../src/query/parse/query.ts';

const request = (search: string): Query => parseQuery(parseQueryString(search));

t.test('an empty query is all documents, sorted by id', async (t) => {
  const all: Query = {
    filter: matchAllFilter,
    sort: [{ path: '_id', direction: 1 }],
    fields: null,
    limit: null,
    cursor: null,
    skip: 0,
    count: 'none',
    expand: [],
  };
  t.same(request(''), all);
  t.same(request('?'), all);
  t.same(parseQueryJson({}), all);
});

t.test("a filter's names do not depend on the filters before it (nodejs/node#63785)", async (t) => {
  const named = (filter: string): Query => request(`?filter=${encodeURIComponent(filter)}`);
  named('{"a":1,"\\\\":1}');
  t.same(named('{"a":1,"\\u5e74":2}').filter, parseQueryJson({ filter: { a: 1, 年: 2 } }).filter);
});

t.test('a URL and a body mean the same', async (t) => {
  const search =
    '?filter={"a":1}&sort=-a,b.c&fields=a,b.c&limit=10&skip=5&count=exact&expand=authorId:users,teams.id:teams';
  const expected: Query = {
    filter: fieldFilter('a', { op: 'in', values: [1] }),
    sort: [
      { path: 'a', direction: -1 },
      { path: 'b.c', direction: 1 },
      { path: '_id', direction: 1 },
    ],
    fields: { mode: 'include', paths: ['a', 'b.c'] },
    limit: 10,
    cursor: null,
    skip: 5,
    count: 'exact',
    expand: [
      { path: 'authorId', collection: 'users' },
      { path: 'teams.id', collection: 'teams' },
    ],
  };
  t.same(request(search), expected);
  const body = { filter: { a: 1 }, sort: '-a,b.c', fields: ['a', 'b.c'], limit: 10, skip: 5, count: 'exact' };
  t.same(parseQueryJson({ ...body, expand: ['authorId:users', 'teams.id:teams'] }), expected);
});

t.test('the id is part of sorts', async (t) => {
  t.same(request('sort=-id').sort, [{ path: '_id', direction: -1 }]);
  t.same(request('sort=a,id').sort.length, 2);
});

t.test('limits of a query accept their maximum and no more', async (t) => {
  t.equal(request('limit=0').limit, 0);
  t.equal(request('limit=1000').limit, 1_000);
  t.equal(request('skip=10000').skip, 10_000);
  t.equal(request('sort=a,b,c,d').sort.length, 5);
  t.equal(request(`sort=${'a.'.repeat(9)}a`).sort.length, 2);
  const refused: [string, string][] = [
    ['limit=1001', 'invalid-parameter'],
    ['limit=-1', 'invalid-parameter'],
    ['limit=1.5', 'invalid-parameter'],
    ['limit=', 'invalid-parameter'],
    ['limit=5&limit=5', 'invalid-parameter'],
    ['skip=10001', 'invalid-parameter'],
    ['cursor=x', 'invalid-parameter'],
    ['cursor=x&limit=5&skip=0', 'invalid-parameter'],
    ['count=all', 'invalid-parameter'],
    ['sort=a,b,c,d,e', 'invalid-parameter'],
    ['sort=a,-a', 'invalid-parameter'],
    ['sort=', 'invalid-parameter'],
    ['sort=a.0', 'invalid-parameter'],
    ['sort=$a', 'invalid-parameter'],
    [`sort=${'a.'.repeat(10)}a`, 'invalid-parameter'],
    ['fields=a,-b', 'invalid-parameter'],
    ['fields=', 'invalid-parameter'],
    ['expand=a', 'invalid-parameter'],
    ['expand=a:b:c', 'invalid-parameter'],
    ['expand=a:b,a:c', 'invalid-parameter'],
    [`expand=${Array.from({ length: 11 }, (_, n) => `a${n}:b`).join(',')}`, 'invalid-parameter'],
    ['filter={', 'invalid-filter'],
    ['filter=null', 'invalid-filter'],
    ['filter={}&filter={}', 'invalid-parameter'],
  ];
  for (const [search, code] of refused) t.throws(() => request(search), { code }, search.slice(0, 40));
});

t.test('a body accepts only known names', async (t) => {
  t.throws(() => parseQueryJson({ limt: 5 }), { code: 'unknown-parameter', hint: "Did you mean 'limit'?" });
  t.throws(() => parseQueryJson([]), { code: 'invalid-parameter' });
  t.throws(() => parseQueryJson({ limit: '5' }), { code: 'invalid-parameter' });
  t.throws(() => parseQueryJson({ sort: 5 }), { code: 'invalid-parameter' });
  t.throws(() => parseQueryJson({ cursor: 5, limit: 5 }), { code: 'invalid-parameter' });
  t.throws(() => parseQueryJson({ filter: null }), { code: 'invalid-filter' });
});

t.test('queries differ by collection, filter, sort and fields, and by nothing else', async (t) => {
  const query = (search: string, collection = 'a'): string => queryFingerprint(collection, request(search));
  t.equal(query('a=1&limit=5'), query('limit=7&a=1&count=exact'));
  t.equal(query('a[gt]=$now'), query('a[gt]=$now'));
  const different = [query('a=1'), query('a=1', 'b'), query('a="1"'), query('a=1&sort=a'), query('a=1&fields=a')];
  different.push(query('a=2024-01-01'), query('a="2024-01-01"'), query('a=$now'), query('a=$now-1d'));
  t.equal(new Set(different).size, different.length);
});
