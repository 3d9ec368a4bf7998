/** The short form: the MongoDB filter of a URL parameter. */
import { Long, ObjectId, UUID } from 'bson';
import t from 'tap';
import { bindVariables } from '../../../src/query/evaluate/bind-variables.ts';
import { toMongoFilter } from '../../../src/query/evaluate/to-mongo-filter.ts';
import { parseQuery } from '../../../src/query/parse/parse-query.ts';
import { parseQueryString } from '../../../src/query/parse/parse-query-string.ts';

const HEX = '65a000000000000000000000';
const USER = {
  id: 'u1',
  roles: ['author', 'editor'],
  claims: { team: 'red', teams: ['a', 1], deep: { level: 3 }, o: {} },
};
const NOW = new Date('2026-01-08T00:00:00Z');

/** The filter of a query string; the short form needs nothing else. */
function request(search: string): unknown {
  return toMongoFilter(bindVariables(parseQuery(parseQueryString(search)).filter, { now: NOW, user: USER }).filter);
}

const date = (text: string): Date => new Date(text);

t.test('values of the short form are typed by their form', async (t) => {
  const cases: [string, unknown][] = [
    ['a=x', { a: { $eq: 'x' } }],
    ['a=', { a: { $eq: '' } }],
    ['a', { a: { $eq: '' } }],
    ['a=5', { a: { $in: [5, '5'] } }],
    ['a=-1.50', { a: { $in: [-1.5, '-1.50'] } }],
    ['a=1e3', { a: { $in: [1000, '1e3'] } }],
    ['a=007', { a: { $eq: '007' } }],
    ['a=1e999', { a: { $eq: '1e999' } }],
    ['a=9007199254740993', { a: { $in: [Long.fromString('9007199254740993'), '9007199254740993'] } }],
    ['a=true', { a: { $in: [true, 'true'] } }],
    ['a=null', { a: { $eq: null } }],
    ['a="null"', { a: { $eq: 'null' } }],
    ['a="5"', { a: { $eq: '5' } }],
    ['a=%22a%5C%22b%2Cc%22', { a: { $eq: 'a"b,c' } }],
    ['a=x+y%2Bz', { a: { $eq: 'x y+z' } }],
    ['a=%F0%9F%98%80', { a: { $eq: '\u{1F600}' } }],
    ['a=2024-02-29', { a: { $in: ['2024-02-29', date('2024-02-29')] } }],
    ['a=2023-02-29', { a: { $eq: '2023-02-29' } }],
    ['a=2024-01-01T10:00', { a: { $in: ['2024-01-01T10:00', date('2024-01-01T10:00Z')] } }],
    [
      'a=2024-01-01T10:00:00.5%2B02:00',
      { a: { $in: ['2024-01-01T10:00:00.5+02:00', date('2024-01-01T08:00:00.5Z')] } },
    ],
    ['a=$$5', { a: { $eq: '$5' } }],
    ['a="$user.id"', { a: { $eq: '$user.id' } }],
    ['a.b.0=x', { 'a.b.0': { $eq: 'x' } }],
  ];
  for (const [search, expected] of cases) t.same(request(search), expected, search);
});

t.test('operators of the short form are parsed', async (t) => {
  const cases: [string, unknown][] = [
    ['a[eq]=5', { a: { $in: [5, '5'] } }],
    ['a[ne]=5', { a: { $nin: [5, '5'] } }],
    ['a[ne]=x', { a: { $ne: 'x' } }],
    ['a[gt]=5', { a: { $gt: 5 } }],
    ['a[gte]=x', { a: { $gte: 'x' } }],
    ['a[lt]=2024-01-01', { $or: [{ a: { $lt: '2024-01-01' } }, { a: { $lt: date('2024-01-01') } }] }],
    ['a[lte]=null', { a: { $lte: null } }],
    ['a[in]=x,5,"y,z",', { a: { $in: ['x', 5, '5', 'y,z', ''] } }],
    ['a[nin]=x,null', { a: { $nin: ['x', null] } }],
    ['a[all]=x,5', { $and: [{ a: { $eq: 'x' } }, { a: { $eq: 5 } }] }],
    ['a[exists]=false', { a: { $exists: false } }],
    ['a[type]=number', { a: { $type: ['number'] } }],
    ['a[type]=boolean,binary', { a: { $type: ['bool', 'binData'] } }],
    ['a[size]=0', { a: { $size: 0 } }],
    ['a[contains]=a.b', { a: { $regex: 'a\\.b' } }],
    ['a[contains]=5', { a: { $regex: '5' } }],
    ['a[icontains]=k1', { a: { $regex: '[Kk\u212a]1' } }],
    ['a[startsWith]=$$a', { a: { $regex: '^\\$a' } }],
    ['a[endsWith]="x"', { a: { $regex: 'x\\z' } }],
    ['a[like]=a*', { a: { $regex: '^a' } }],
    ['a[like]=a*b*c', { a: { $regex: '^a(?>(?s:.*?)b)(?s:.*)c\\z' } }],
    ['a[ilike]=é', { a: { $regex: '^[Éé]\\z' } }],
    ['a[regex]=^a$', { a: { $regex: '^a\\z' } }],
    ['a%5Bgt%5D=5', { a: { $gt: 5 } }],
    ['limit[eq]=5', { limit: { $in: [5, '5'] } }],
    ['a=1&b=x', { $and: [{ a: { $in: [1, '1'] } }, { b: { $eq: 'x' } }] }],
    ['a=x&a=y', { a: { $in: ['x', 'y'] } }],
    ['a[gt]=1&a[gt]=2', { $and: [{ a: { $gt: 1 } }, { a: { $gt: 2 } }] }],
    ['filter={"a":1}&b=x', { $and: [{ a: { $eq: 1 } }, { b: { $eq: 'x' } }] }],
  ];
  for (const [search, expected] of cases) t.same(request(search), expected, search);
});

t.test('the id is found in every form it may have, the times of _meta are dates', async (t) => {
  const uuid = '00112233-4455-6677-8899-aabbccddeeff';
  const cases: [string, unknown][] = [
    [`id=${HEX}`, { _id: { $in: [new ObjectId(HEX), HEX] } }],
    ['id=abc', { _id: { $eq: 'abc' } }],
    [`id=${uuid}`, { _id: { $in: [uuid, new UUID(uuid)] } }],
    [`id[in]=a,${HEX}`, { _id: { $in: ['a', new ObjectId(HEX), HEX] } }],
    [`id[gt]=${HEX}`, { $or: [{ _id: { $gt: new ObjectId(HEX) } }, { _id: { $gt: HEX } }] }],
    ['_meta.createdAt[gt]=2026-01-01', { '_meta.createdAt': { $gt: date('2026-01-01') } }],
    ['_meta.updatedAt=2026-01-01', { '_meta.updatedAt': { $eq: date('2026-01-01') } }],
    ['_meta.createdAt[lt]=$now-1d', { '_meta.createdAt': { $lt: date('2026-01-07') } }],
    ['_meta.createdAt[exists]=true', { '_meta.createdAt': { $exists: true } }],
  ];
  for (const [search, expected] of cases) t.same(request(search), expected, search);
  t.throws(() => request('_meta.createdAt[gt]=2026'), { code: 'invalid-filter' });
});

t.test('variables of the short form are parsed', async (t) => {
  const week = date('2026-01-01');
  const cases: [string, unknown][] = [
    ['a=$user.id', { a: { $eq: 'u1' } }],
    ['a[in]=$user.roles,x', { a: { $in: ['author', 'editor', 'x'] } }],
    ['a=$user.claims.team', { a: { $eq: 'red' } }],
    ['a=$user.claims.deep.level', { a: { $eq: 3 } }],
    ['a[all]=$user.claims.teams', { $and: [{ a: { $eq: 'a' } }, { a: { $eq: 1 } }] }],
    ['a[gt]=$now-7d', { $or: [{ a: { $gt: week } }, { a: { $gt: '2026-01-01T00:00:00.000Z' } }] }],
    ['a=$now-1w', { a: { $in: [week, '2026-01-01T00:00:00.000Z'] } }],
    ['a[startsWith]=$user.claims.team', { a: { $regex: '^red' } }],
  ];
  for (const [search, expected] of cases) t.same(request(search), expected, search);
});

t.test('invalid conditions of the short form are rejected with an error that names them', async (t) => {
  const cases: [string, string, RegExp][] = [
    ['a[gtee]=5', 'unknown-operator', /Did you mean 'gte'/],
    ['a[$gt]=5', 'unknown-operator', /'gt'/],
    ['a[startswith]=x', 'unknown-operator', /'startsWith'/],
    ['a[elemMatch]=x', 'unknown-operator', /Known are eq/],
    ['a[b][c]=5', 'unknown-parameter', /field\[operator\]/],
    ['[gt]=5', 'unknown-parameter', /field\[operator\]/],
    ['a[gt=5', 'unknown-parameter', /field\[operator\]/],
    ['$where=1', 'unknown-parameter', /./],
    ['a..b=1', 'invalid-filter', /./],
    ['__proto__.x=1', 'invalid-filter', /./],
    ['a=$usr.id', 'invalid-filter', /Did you mean '\$user\.id'/],
    ['a=$now+7d', 'invalid-filter', /./],
    ['a="x', 'invalid-filter', /./],
    ['a=%22%5Cud800%22', 'invalid-filter', /./],
    ['a[in]="x"y', 'invalid-filter', /./],
    ['a[exists]=yes', 'invalid-filter', /./],
    ['a[size]=-1', 'invalid-filter', /./],
    ['a[type]=int', 'invalid-filter', /./],
    ['a[type]=strng', 'invalid-filter', /'string'/],
    ['a[regex]=(', 'invalid-filter', /./],
    ['a=%ff', 'malformed-request', /%25/],
    ['a=%', 'malformed-request', /%25/],
    [`a[contains]=${'x'.repeat(1_025)}`, 'invalid-filter', /./],
    [`a[in]=${'x,'.repeat(1_000)}`, 'invalid-filter', /./],
    [`${'a=1&'.repeat(1_000)}a=1`, 'invalid-parameter', /_query/],
    [`${'a.'.repeat(200)}a=1`, 'invalid-filter', /./],
    [`${'a'.repeat(2_000)}=1`, 'invalid-filter', /./],
  ];
  for (const [search, code, hint] of cases) {
    const shown = search.slice(0, 40);
    t.throws(() => request(search), { code }, shown);
    try {
      request(search);
    } catch (error) {
      t.match(`${Reflect.get(Object(error), 'hint')} ${error}`, hint, shown);
    }
  }
});
