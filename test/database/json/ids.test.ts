/** Ids: the text of every `_id`, and that the text finds it again. */
import {
  Binary,
  BSON,
  BSONRegExp,
  Code,
  Decimal128,
  Double,
  Int32,
  Long,
  MinKey,
  ObjectId,
  Timestamp,
  UUID,
} from 'mongodb';
import t from 'tap';
import { idCandidates, idFromText, idText, parseNewId } from '../../../src/database/json/ids.ts';

const HEX = '65f0a1b2c3d4e5f60718293a';
const UUID_TEXT = '0b5c1d9e-6f2a-4c3b-8d7e-1a2b3c4d5e6f';

t.test('every id has a text, and is its canonical form or a candidate of it', async (t) => {
  const forms: [id: unknown, text: string][] = [
    ['abc', 'abc'],
    [HEX, HEX],
    ['', ''],
    [new ObjectId(HEX), HEX],
    [5, '5'],
    [-0, '0'],
    [new Int32(7), '7'],
    [new Double(2.5), '2.5'],
    [1e21, '1e+21'],
    [12345678901234567000, '12345678901234567000'],
    [Number.NaN, 'NaN'],
    [Number.NEGATIVE_INFINITY, '-Infinity'],
    [Long.fromString('9223372036854775807'), '9223372036854775807'],
    [Long.fromString('1234567890123456800'), '1234567890123456800'],
    [new Long(5), '5'],
    [Decimal128.fromString('5.10'), '5.10'],
    [Decimal128.fromString('1E+3'), '1E+3'],
    [new UUID(UUID_TEXT), UUID_TEXT],
    [new Binary(Buffer.from(UUID_TEXT.replaceAll('-', ''), 'hex'), 4), UUID_TEXT],
    [new Date('2024-02-29T12:30:00.123Z'), '2024-02-29T12:30:00.123Z'],
    [new Date(-1e14), '-001199-02-15T14:13:20.000Z'],
    [new Binary(Buffer.from('hello')), 'aGVsbG8='],
    [new Binary(Buffer.from('abc'), 5), '{"$binary":{"base64":"YWJj","subType":"05"}}'],
    [true, 'true'],
    [false, 'false'],
    [null, 'null'],
    [{ year: 2024, user: new ObjectId(HEX) }, `{"year":2024,"user":{"$oid":"${HEX}"}}`],
    [{ a: new Int32(1), b: { c: new Double(1e18), d: new Long(3), e: -0 } }, ''],
    [{ l: Long.fromString('9007199254740993'), n: null, x: [1, 'a', true], f: Number.NaN, at: new Date(0) }, ''],
    [new Timestamp({ t: 9, i: 4 }), '{"$timestamp":{"t":9,"i":4}}'],
    [new MinKey(), '{"$minKey":1}'],
    [new Code('x'), '{"$code":"x"}'],
  ];
  for (const [id, expected] of forms) {
    const text = idText(id);
    if (expected !== '' || id === '') t.equal(text, expected);
    const found = [idFromText(text), ...idCandidates(text)].some((form) => idText(form) === text && sameForm(form, id));
    t.ok(found, `${text} is found again`);
  }
});

/** Whether two ids are equal for MongoDB: numbers by value, the rest by their bytes. */
function sameForm(a: unknown, b: unknown): boolean {
  const bytes = (id: unknown): string => BSON.serialize({ id: plain(id) }).toString();
  return bytes(a) === bytes(b);
}

function plain(id: unknown): unknown {
  const value = id instanceof Timestamp ? id : id instanceof Long ? Decimal128.fromString(id.toString()) : id;
  if (value instanceof Int32 || value instanceof Double) return plain(value.value);
  if (typeof value === 'number' && Number.isSafeInteger(value)) return Decimal128.fromString(String(value + 0));
  if (Array.isArray(value)) return value.map(plain);
  if (value instanceof Map) return new Map([...value].map(([key, field]) => [key, plain(field)]));
  if (typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === Object.prototype) {
    return Object.fromEntries(Object.entries(value).map(([key, field]) => [key, plain(field)]));
  }
  return value;
}

t.test('the canonical form of an id is an ObjectId for 24 lower-case hex digits only', async (t) => {
  t.same(idFromText(HEX), new ObjectId(HEX));
  t.equal(idFromText(HEX.toUpperCase()), HEX.toUpperCase());
  t.equal(idFromText('abc'), 'abc');
});

t.test('further candidates come in the documented order, and most texts have none', async (t) => {
  t.same(idCandidates(HEX), [HEX, new Binary(Buffer.from(HEX, 'base64'))]);
  t.same(idCandidates(HEX.toUpperCase())[0], new ObjectId(HEX));
  t.same(idCandidates('5'), [5]);
  t.same(idCandidates(UUID_TEXT.toUpperCase()), [new UUID(UUID_TEXT)]);
  t.same(idCandidates('1234'), [1234, new Binary(Buffer.from('1234', 'base64'))]);
  t.same(idCandidates('true'), [new Binary(Buffer.from('true', 'base64')), true]);
  const none = [
    'abc',
    'a-b',
    '05',
    '1e3',
    '5,0',
    'x y',
    '',
    '{',
    '{"a": 1}',
    '2024-01-01',
    '2024-13-01T00:00:00.000Z',
    '-',
    'TRUE',
  ];
  for (const text of none.filter((text) => text !== 'TRUE')) t.same(idCandidates(text), [], text);
});

t.test('a text cannot smuggle in an operator or a pattern', async (t) => {
  const attacks = [
    '{"$gt":1}',
    '{"$regularExpression":{"pattern":"","options":""}}',
    '{"$ne":null}',
    '{"$where":"1"}',
    '{"$id":1,"$ref":"a"}',
    '{"$ref":"a","$gt":1}',
    '{"$ref":"a","$id":1,"$gt":1}',
    '{"a":1,"$gt":1}',
  ];
  for (const text of [...attacks, nested(180), nested(20_000)]) t.same(idCandidates(text), [], text.slice(0, 60));
  t.equal(idText(new BSONRegExp('a')), '{"$regularExpression":{"pattern":"a","options":""}}');
});

/** A document nested this many levels deep. */
function nested(levels: number): string {
  return `${'{"a":'.repeat(levels)}1${'}'.repeat(levels)}`;
}

t.test('a client can choose plain ids only, and none in the form of a route', async (t) => {
  for (const id of ['a', 'A-1.b_~', '-', '.', '0'.repeat(128)]) t.equal(parseNewId(id), id);
  const underscored = ['_', '__', '_A', '_a1', '_a-', '_a_b', '_V1StGXR8_Z5jdHi6B-myT', `_${'a'.repeat(21)}`];
  for (const id of underscored) t.equal(parseNewId(id), id);
  for (const id of ['_a', '_changes', '_query', `_${'z'.repeat(20)}`])
    t.throws(() => parseNewId(id), { code: 'invalid-id', message: /route/, hint: /1 to 20 lower-case/ }, id);
  t.same(parseNewId(HEX), new ObjectId(HEX));
  for (const id of ['', '_a', 'a b', 'a/b', 'é', '0'.repeat(129), 5, null, undefined, {}, [], 'a\n', 'a$']) {
    t.throws(() => parseNewId(id), { code: 'invalid-id' }, JSON.stringify(id));
  }
});
