/** The JSON form: what becomes a filter document and what is rejected. */
import { ObjectId } from 'bson';
import t from 'tap';
import { bindVariables } from '../../../src/query/evaluate/bind-variables.ts';
import { toMongoFilter } from '../../../src/query/evaluate/to-mongo-filter.ts';
import { parseFilterJson } from '../../../src/query/parse/parse-filter-json.ts';

const HEX = '65a000000000000000000000';
const NOW = new Date('2026-01-08T00:00:00Z');
const TEXT = NOW.toISOString();

const request = (filter: unknown): unknown =>
  toMongoFilter(bindVariables(parseFilterJson(filter), { now: NOW, user: null }).filter);

/** `{"$gt": …}` nested as deeply. */
function nested(depth: number): unknown {
  let filter: unknown = { a: 1 };
  for (let n = 1; n < depth; n++) filter = { $not: filter };
  return filter;
}

t.test('filters of the JSON form are parsed', async (t) => {
  const cases: [unknown, unknown][] = [
    [{}, {}],
    [{ a: 5 }, { a: { $eq: 5 } }],
    [{ a: '5' }, { a: { $eq: '5' } }],
    [{ a: '2024-01-01' }, { a: { $eq: '2024-01-01' } }],
    [{ a: null }, { a: { $eq: null } }],
    [{ a: [1, { b: 2 }] }, { a: { $eq: [1, { b: 2 }] } }],
    [{ a: {} }, { a: { $eq: {} } }],
    [{ a: { b: 1 } }, { a: { $eq: { b: 1 } } }],
    [{ a: { $date: '2026-01-08T00:00:00Z' } }, { a: { $eq: NOW } }],
    [{ a: { $gt: { $date: 1767830400000 } } }, { a: { $gt: NOW } }],
    [{ a: { b: { $oid: HEX } } }, { a: { $eq: { b: new ObjectId(HEX) } } }],
    [{ a: { $gt: 1, $lte: 5 } }, { $and: [{ a: { $gt: 1 } }, { a: { $lte: 5 } }] }],
    [{ a: { $in: [] } }, { a: { $in: [] } }],
    [{ a: { $nin: [] } }, { a: { $nin: [] } }],
    [{ a: { $all: [] } }, { _id: { $in: [] } }],
    [{ a: { $all: [[1], 2] } }, { $and: [{ a: { $eq: [1] } }, { a: { $eq: 2 } }] }],
    [{ a: { $not: { $gt: 5 } } }, { a: { $not: { $gt: 5 } } }],
    [{ a: { $not: { $gt: 5, $lt: 3 } } }, { $nor: [{ $and: [{ a: { $gt: 5 } }, { a: { $lt: 3 } }] }] }],
    [{ $not: { a: 1 } }, { a: { $ne: 1 } }],
    [{ $or: [{ a: 1 }, { b: 2 }] }, { $or: [{ a: { $eq: 1 } }, { b: { $eq: 2 } }] }],
    [{ $nor: [{ a: 1 }, { b: 2 }] }, { $nor: [{ $or: [{ a: { $eq: 1 } }, { b: { $eq: 2 } }] }] }],
    [{ $or: [{}] }, {}],
    [{ a: { $elemMatch: { $gt: 1, $lt: 5 } } }, { a: { $elemMatch: { $gt: 1, $lt: 5 } } }],
    [
      { a: { $elemMatch: { b: 1, id: HEX } } },
      { a: { $elemMatch: { $and: [{ b: { $eq: 1 } }, { id: { $eq: HEX } }] } } },
    ],
    [{ a: { $elemMatch: {} } }, { a: { $elemMatch: {} } }],
    [
      { a: { $elemMatch: { $contains: 'x', $startsWith: 'y', $ne: 1, $nin: [2] } } },
      { a: { $elemMatch: { $regex: '^(?=(?s:.*?)(?:x))(?=(?s:.*?)(?:^y))', $nin: [1, 2] } } },
    ],
    [
      { a: { $elemMatch: { $gt: '$now' } } },
      { $or: [{ a: { $elemMatch: { $gt: NOW } } }, { a: { $elemMatch: { $gt: TEXT } } }] },
    ],
    [{ a: { $type: ['string', 'null'] } }, { a: { $type: ['string', 'null'] } }],
    [{ id: HEX }, { _id: { $in: [new ObjectId(HEX), HEX] } }],
    [{ id: '5' }, { _id: { $in: ['5', 5] } }],
    [{ id: { $not: { $gt: HEX } } }, { $nor: [{ $or: [{ _id: { $gt: new ObjectId(HEX) } }, { _id: { $gt: HEX } }] }] }],
    [{ '_meta.createdAt': { $gte: TEXT } }, { '_meta.createdAt': { $gte: NOW } }],
    [{ a: '$$literal' }, { a: { $eq: '$literal' } }],
    [{ a: { $in: ['$now', '$$x'] } }, { a: { $in: [NOW, TEXT, '$x'] } }],
    [{ a: { b: '$now' } }, { a: { $eq: { b: NOW } } }],
    [{ constructor: 1, toString: { $gt: 1 } }, { $and: [{ constructor: { $eq: 1 } }, { toString: { $gt: 1 } }] }],
  ];
  for (const [filter, expected] of cases) t.same(request(filter), expected, JSON.stringify(filter));
});

t.test('invalid filters of the JSON form are rejected with an error that explains why', async (t) => {
  const many = Array.from({ length: 1_001 }, (_, n) => n);
  const cases: [unknown, string, RegExp][] = [
    [null, 'invalid-filter', /JSON object/],
    [[], 'invalid-filter', /JSON object/],
    [{ $or: [] }, 'invalid-filter', /one or more/],
    [{ $and: [1] }, 'invalid-filter', /JSON object/],
    [{ $where: 'sleep(1)' }, 'unknown-operator', /\$where/],
    [{ $expr: { $gt: ['$a', 1] } }, 'unknown-operator', /\$expr/],
    [{ $gt: 1 }, 'unknown-operator', /\$gt/],
    [{ $unheardof: 1 }, 'unknown-operator', /^(?!.*\$not.*\$not)(?=.*\$not)/],
    [{ a: { $grt: 1 } }, 'unknown-operator', /Did you mean '\$gt'/],
    [{ a: { $gt: 1, b: 2 } }, 'unknown-operator', /'b'/],
    [{ a: { $gt: { $gt: 1 } } }, 'unknown-operator', /\$gt/],
    [{ a: [{ $gt: 1 }] }, 'unknown-operator', /\$date/],
    [{ a: { $regex: 'a', $options: 'i' } }, 'unknown-operator', /\$options/],
    [{ a: { $not: 5 } }, 'invalid-filter', /operators/],
    [{ a: { $not: {} } }, 'invalid-filter', /operators/],
    [{ a: { $exists: 1 } }, 'invalid-filter', /true or false/],
    [{ a: { $in: 'x' } }, 'invalid-filter', /list/],
    [{ a: { $in: many } }, 'invalid-filter', /1,000/],
    [{ a: many }, 'invalid-filter', /1,000/],
    [{ $or: many.map((n) => ({ a: n })) }, 'invalid-filter', /1,000/],
    [{ $or: [{ $or: many.slice(1).map((n) => ({ a: n })) }, { a: 1 }] }, 'invalid-filter', /1,000 conditions/],
    [{ a: { $contains: 5 } }, 'invalid-filter', /string/],
    [{ a: { $size: 1.5 } }, 'invalid-filter', /whole number/],
    [{ a: { $oid: 'x' } }, 'invalid-filter', /24/],
    [{ a: { $date: '2024-13-01' } }, 'invalid-filter', /ISO/],
    [{ a: { $date: 1e20 } }, 'invalid-filter', /ISO/],
    [{ a: 2 ** 53 }, 'invalid-filter', /short form/],
    [{ a: 'half \ud800' }, 'invalid-filter', /surrogate/],
    [{ 'a\0': 1 }, 'invalid-filter', /NUL/],
    [{ 'a.$b': 1 }, 'invalid-filter', /'\$'/],
    [{ a: JSON.parse('{"__proto__":1}') }, 'invalid-filter', /__proto__/],
    [{ a: { _bsontype: 'Long' } }, 'invalid-filter', /_bsontype/],
    [{ a: { $in: [{ b: { _bsontype: 1 } }] } }, 'invalid-filter', /_bsontype/],
    [{ _bsontype: 1 }, 'invalid-filter', /_bsontype/],
    [{ a: { $elemMatch: { _bsontype: 1 } } }, 'invalid-filter', /_bsontype/],
    [{ a: { $type: [] } }, 'invalid-filter', /\$type/],
    [{ a: { $elemMatch: { $type: [] } } }, 'invalid-filter', /\$type/],
    [{ a: { $elemMatch: { $not: { $gt: '$now' } } } }, 'invalid-filter', /\$now/],
    [{ '_meta.createdAt': 5 }, 'invalid-filter', /date/],
    [nested(33), 'invalid-filter', /32/],
  ];
  for (const [filter, code, said] of cases) {
    const shown = JSON.stringify(filter)?.slice(0, 60);
    try {
      request(filter);
      t.fail(shown);
    } catch (error) {
      t.equal(Reflect.get(Object(error), 'code'), code, shown);
      t.match(`${error} ${Reflect.get(Object(error), 'hint')}`, said, shown);
    }
  }
  t.doesNotThrow(() => request(nested(32)));
});

t.test('a variable without a value makes the filter nothing, and is named', async (t) => {
  const anonymous = { now: NOW, user: null };
  for (const filter of [
    { owner: '$user.id' },
    { owner: { $ne: '$user.id' } },
    { $or: [{ public: true }, { owner: '$user.id' }] },
    { team: { $in: '$user.roles' } },
    { a: { $elemMatch: { $eq: '$user.id' } } },
    { a: { b: '$user.id' } },
    { name: { $startsWith: '$user.id' } },
  ]) {
    const bound = bindVariables(parseFilterJson(filter), anonymous);
    t.same(toMongoFilter(bound.filter), { _id: { $in: [] } }, JSON.stringify(filter));
    t.equal(bound.missing.length, 1);
  }
  const claims = { now: NOW, user: { id: 'u', roles: [], claims: { o: { x: 1 }, list: [{}] } } };
  for (const name of ['o', 'list', 'constructor', 'o.y']) {
    t.same(bindVariables(parseFilterJson({ a: `$user.claims.${name}` }), claims).missing, [`$user.claims.${name}`]);
  }
  t.same(toMongoFilter(bindVariables(parseFilterJson({ a: { $in: '$user.roles' } }), claims).filter), {
    a: { $in: [] },
  });
  t.same(bindVariables(parseFilterJson({ a: 1 }), anonymous).missing, []);
});
