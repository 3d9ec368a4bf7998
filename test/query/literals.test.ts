/** The ids that a text represents in a filter are those that a look-up by id tries, for every common type of id. */
import { Binary, Decimal128, ObjectId } from 'mongodb';
import t from 'tap';
import { idCandidates, idFromText, idText } from '../../src/database/json/ids.ts';
import { compareValues } from '../../src/query/evaluate/bson-order.ts';
import { possibleValuesAtPath, readDate, readNumber } from '../../src/query/parse-values.ts';

t.test('filters and look-ups by id use the same ids', async (t) => {
  const texts = ['abc', '', '5', '-1.5', '0.1', '007', '1e3', '9007199254740993', '65a000000000000000000000'];
  texts.push(
    '65A000000000000000000000',
    '00112233-4455-6677-8899-aabbccddeeff',
    '2024-01-01T00:00:00.000Z',
    '2024-01-01',
  );
  for (const text of texts) {
    const lookedUp = [idFromText(text), ...idCandidates(text), text].filter(
      // Ids of rarer kinds are found by look-up alone; equal numbers are one number.
      (id) => typeof id !== 'boolean' && !(id instanceof Decimal128) && (!(id instanceof Binary) || id.sub_type === 4),
    );
    const requested = possibleValuesAtPath('_id', [text]);
    for (const id of lookedUp) {
      if (idText(id) !== text && !(id instanceof ObjectId)) continue;
      t.ok(
        requested.some((value) => compareValues(value, id) === 0),
        `${text} as ${id}`,
      );
    }
  }
});

t.test('short values are parsed as dates', async (t) => {
  const cases: [string, string | null][] = [
    ['2024-02-29', '2024-02-29T00:00:00.000Z'],
    ['2023-02-29', null],
    ['2024-13-01', null],
    ['2024-01-01T24:01', null],
    ['2024-01-01T10:20', '2024-01-01T10:20:00.000Z'],
    ['2024-01-01T10:20:30.123456789Z', '2024-01-01T10:20:30.123Z'],
    ['2024-01-01T00:30+01:00', '2023-12-31T23:30:00.000Z'],
    ['+010000-01-01', '+010000-01-01T00:00:00.000Z'],
    ['-000001-01-01T00:00Z', '-000001-01-01T00:00:00.000Z'],
    ['2024', null],
    ['2024-01', null],
    ['2024-01-01 10:20', null],
    ['20240101', null],
  ];
  for (const [text, iso] of cases) t.equal(readDate(text)?.toISOString() ?? null, iso, text);
});

t.test('short values are parsed as numbers', async (t) => {
  for (const text of ['0', '-0', '10', '1.50', '-1e-3', '1E5']) t.equal(readNumber(text), Number(text), text);
  for (const text of ['', '+1', '.5', '1.', '01', '0x1', 'NaN', 'Infinity', '1e400', ' 1'])
    t.equal(readNumber(text), null, text);
  t.equal(String(readNumber('-9223372036854775808')), '-9223372036854775808');
  t.equal(readNumber('9223372036854775808'), 2 ** 63, 'beyond int64 a double comes nearest');
});
