/** Sort keys for clients: JSON whose values compare as the database's do. */
import { Decimal128, Double, Long } from 'mongodb';
import t from 'tap';
import { parseCollectionName } from '../../../src/database/parse-collection-name.ts';
import { unlimitedScope } from '../../../src/policies/scope.ts';
import { parseQueryJson } from '../../../src/query/parse/parse-query.ts';
import { toLiveQuerySpec, toSubscriptionQuery } from '../../../src/realtime/result/live-query-spec.ts';
import { sortKeyJson } from '../../../src/realtime/result/rendering.ts';

const MOST = '1.7976931348623157e+308';

t.test('sort keys as JSON compare as in the database', async (t) => {
  const requested = toSubscriptionQuery(parseQueryJson({ sort: 'n' }), true, new Date(0));
  const query = toLiveQuerySpec(parseCollectionName('todos'), requested, unlimitedScope({ kind: 'anonymous' }, 'read'));
  const cases: [name: string, value: unknown, text: string][] = [
    ['a decimal', Decimal128.fromString('12.50'), '12.50'],
    ['a small decimal', Decimal128.fromString('1E-7'), '1E-7'],
    ['a large decimal', Decimal128.fromString('-1E+30'), '-1E+30'],
    ['a decimal beyond all doubles', Decimal128.fromString('1E+6000'), MOST],
    ['an infinite decimal', Decimal128.fromString('Infinity'), MOST],
    ['an infinity', Infinity, MOST],
    ['a negative one', new Double(-Infinity), `-${MOST}`],
    ['no number at all', new Double(Number.NaN), `-${MOST}`],
    ['a decimal that is none', Decimal128.fromString('NaN'), `-${MOST}`],
    ['the smallest fraction', new Double(5e-324), '5e-324'],
    ['a large integer', Long.fromString('9223372036854775807'), '9223372036854775807'],
    ['a small integer', Long.fromNumber(7), '7'],
    ['a text of digits', '12.50', '"12.50"'],
    ['a date', new Date(0), '"1970-01-01T00:00:00.000Z"'],
    ['a date behind the year 9999', new Date(8.64e15), '"9999-12-31T23:59:59.999Z"'],
    ['a date before the year 0', new Date(-8.64e15), '"0000-01-01T00:00:00.000Z"'],
    ['nothing', undefined, 'null'],
  ];
  for (const [name, n, text] of cases) t.equal(sortKeyJson(query, { _id: 'a', n }), `[${text},"a"]`, name);
});
