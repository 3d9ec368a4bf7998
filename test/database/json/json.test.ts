/** The codec on chosen documents: the wire shape, every type by name, lists in chunks, and damaged bytes. */
import {
  Binary,
  BSON,
  BSONRegExp,
  BSONSymbol,
  Code,
  Decimal128,
  type Document,
  Double,
  Long,
  MaxKey,
  MinKey,
  ObjectId,
  Timestamp,
  UUID,
} from 'mongodb';
import t from 'tap';
import { encodeDocumentJson, JsonListEncoder, toWireDocument } from '../../../src/database/json/json.ts';

const HEX = '65f0a1b2c3d4e5f60718293a';
const NO_META = { revision: 0, createdAt: null, updatedAt: null, createdBy: null, updatedBy: null };
const META = {
  revision: 3,
  createdAt: new Date(0),
  updatedAt: new Date(1e12),
  createdBy: 'u1',
  updatedBy: null,
  by: 'user:u1',
  request: 'r1',
  foreign: 1,
};
const WIRE_META =
  '{"revision":3,"createdAt":"1970-01-01T00:00:00.000Z","updatedAt":"2001-09-09T01:46:40.000Z","createdBy":"u1","updatedBy":null}';

const encode = (document: Document): string => encodeDocumentJson(BSON.serialize(document)).toString();

t.test('id comes first, _meta last, and reserved fields of others are hidden', async (t) => {
  const document = {
    id: 'foreign',
    b: 1,
    _meta: META,
    _id: new ObjectId(HEX),
    __v: 0,
    _expanded: 1,
    a: { id: 1, _id: 2, _meta: 3 },
  };
  const expected = `{"id":"${HEX}","b":1,"__v":0,"a":{"id":1,"_id":2,"_meta":3},"_meta":${WIRE_META}}`;
  t.equal(encode(document), expected);
  t.equal(JSON.stringify(toWireDocument(document)), expected);
  const raw = BSON.serialize(document);
  t.equal(encodeDocumentJson(raw, { meta: false }).toString(), `${expected.slice(0, expected.indexOf(',"_meta":{'))}}`);
  t.notOk('_meta' in toWireDocument(document, { meta: false }));
});

t.test('a missing or foreign _meta is revision 0 and nulls', async (t) => {
  const metas: unknown[] = [
    undefined,
    null,
    5,
    'x',
    [META],
    { revision: 'x', createdAt: 'x', createdBy: 5 },
    { revision: 1.5 },
  ];
  for (const meta of metas) {
    const document = meta === undefined ? { _id: 1 } : { _id: 1, _meta: meta };
    t.equal(encode(document), JSON.stringify({ id: '1', _meta: NO_META }));
    t.same(toWireDocument(document), { id: '1', _meta: NO_META });
  }
  t.match(JSON.parse(encode({ _id: 1, _meta: { updatedBy: 'x', revision: Long.fromNumber(7) } })), {
    _meta: { revision: 7, updatedBy: 'x' },
  });
  t.equal(encodeDocumentJson(BSON.serialize({}), { meta: false }).toString(), '{}', 'a row without an id has none');
});

t.test('an id of any type is a string', async (t) => {
  const ids: [id: unknown, text: string][] = [
    ['a"\\\n\u00e9', '"a\\"\\\\\\n\u00e9"'],
    [new ObjectId(HEX), `"${HEX}"`],
    [5, '"5"'],
    [2.5, '"2.5"'],
    [Number.NaN, '"NaN"'],
    [Long.fromString('9007199254740993'), '"9007199254740993"'],
    [new Date(0), '"1970-01-01T00:00:00.000Z"'],
    [null, '"null"'],
    [{ year: 2024, who: 'x' }, '"{\\"year\\":2024,\\"who\\":\\"x\\"}"'],
  ];
  for (const [_id, text] of ids) {
    t.equal(encode({ _id, _meta: META }), `{"id":${text},"_meta":${WIRE_META}}`);
    t.equal(JSON.stringify(toWireDocument({ _id, _meta: META })), `{"id":${text},"_meta":${WIRE_META}}`);
  }
});

t.test('every BSON type has a JSON form', async (t) => {
  const values: [value: unknown, json: string][] = [
    [null, 'null'],
    [true, 'true'],
    [0, '0'],
    [-2147483648, '-2147483648'],
    [1_000_000_000, '1000000000'],
    [new Double(-0), '0'],
    [new Double(9007199254740991), '9007199254740991'],
    [1e21, '1e+21'],
    [5e-324, '5e-324'],
    [0.1 + 0.2, '0.30000000000000004'],
    [-12.345, '-12.345'],
    [0.000001, '0.000001'],
    [1.5e-7, '1.5e-7'],
    [Number.POSITIVE_INFINITY, 'null'],
    [Number.NaN, 'null'],
    [Long.fromString('9007199254740992'), '9007199254740992'],
    [Long.fromString('-9007199254740992'), '-9007199254740992'],
    [Long.fromString('9007199254740993'), '"9007199254740993"'],
    [Long.fromString('-9223372036854775808'), '"-9223372036854775808"'],
    [Decimal128.fromString('1.10'), '"1.10"'],
    [Decimal128.fromString('NaN'), '"NaN"'],
    [new Date('2024-02-29T23:59:59.999Z'), '"2024-02-29T23:59:59.999Z"'],
    [new Date('0000-01-01T00:00:00.000Z'), '"0000-01-01T00:00:00.000Z"'],
    [new Date('-000001-12-31T23:59:59.999Z'), '"-000001-12-31T23:59:59.999Z"'],
    [new Date('+010000-01-01T00:00:00.000Z'), '"+010000-01-01T00:00:00.000Z"'],
    [new Date('9999-12-31T23:59:59.999Z'), '"9999-12-31T23:59:59.999Z"'],
    [new ObjectId(HEX), `"${HEX}"`],
    [new UUID('0b5c1d9e-6f2a-4c3b-8d7e-1a2b3c4d5e6f'), '"0b5c1d9e-6f2a-4c3b-8d7e-1a2b3c4d5e6f"'],
    [new Binary(Buffer.from('hello')), '"aGVsbG8="'],
    [new Binary(Buffer.from('hello'), 2), '"aGVsbG8="'],
    [new Binary(Buffer.from('hello'), 4), '"aGVsbG8="'],
    [new Timestamp({ t: 4294967295, i: 7 }), '"4294967295:7"'],
    [new BSONRegExp('a/"b', 'im'), '"/a/\\"b/im"'],
    [new Code('x => "1"'), '"x => \\"1\\""'],
    [new Code('x', { a: 1 }), '"x"'],
    [new BSONSymbol('s'), '"s"'],
    [new MinKey(), '"MinKey"'],
    [new MaxKey(), '"MaxKey"'],
    [
      '\0\b\t\n\f\r\u001f"\\/\u007f\u2028\u00e9\u20ac\u{1f600}',
      '"\\u0000\\b\\t\\n\\f\\r\\u001f\\"\\\\/\u007f\u2028\u00e9\u20ac\u{1f600}"',
    ],
    [[], '[]'],
    [{}, '{}'],
    [[[], {}, [1, { a: [] }]], '[[],{},[1,{"a":[]}]]'],
  ];
  for (const [value, json] of values) {
    const document = { _id: 1, v: value };
    t.equal(encode(document), `{"id":"1","v":${json},"_meta":${JSON.stringify(NO_META)}}`);
    for (const promoteValues of [true, false]) {
      const read = BSON.deserialize(BSON.serialize(document), { promoteValues, bsonRegExp: true });
      t.equal(JSON.stringify(toWireDocument(read)['v']), json, `as an object, promoteValues ${promoteValues}`);
    }
  }
});

t.test('long and short lists of doubles, mixed with others, are written correctly', async (t) => {
  const doubles = Array.from({ length: 1000 }, (_, n) => new Double(n % 7 === 0 ? n / 8 : Math.sin(n)));
  const list = [...doubles, 'text', ...doubles.slice(0, 300), new Double(-0), Number.NaN, 5];
  const document = { _id: 1, one: [doubles[1]], list, all: doubles.slice(0, 256), pairs: [0.5, 1 / 3] };
  t.equal(encode(document), JSON.stringify(toWireDocument(document)));
});

t.test('a field called __proto__ is an ordinary field', async (t) => {
  const raw = BSON.serialize(JSON.parse('{"_id":1,"__proto__":{"__proto__":5}}'));
  const text = `{"id":"1","__proto__":{"__proto__":5},"_meta":${JSON.stringify(NO_META)}}`;
  t.equal(encodeDocumentJson(raw).toString(), text);
  t.equal(JSON.stringify(toWireDocument(BSON.deserialize(raw))), text);
});

t.test('a list is one array in chunks of limited size', async (t) => {
  t.equal(new JsonListEncoder().end().toString(), '[]');
  const documents = Array.from({ length: 100 }, (_, n) => ({ _id: n, text: 'x'.repeat(n * 7) }));
  const encoder = new JsonListEncoder({ chunkBytes: 1000 });
  const chunks: Buffer[] = [];
  for (const document of documents) {
    const chunk = encoder.append(BSON.serialize(document));
    if (chunk) chunks.push(chunk);
    if (document._id === 50) chunks.push(encoder.flush());
    if (document._id === 60) t.throws(() => encoder.append(Buffer.from([5, 0, 0, 0, 1])), { code: 'internal' });
  }
  chunks.push(encoder.end());
  t.same(
    JSON.parse(Buffer.concat(chunks).toString()),
    documents.map((document) => toWireDocument(document)),
  );
  t.ok(chunks.length > 10 && chunks.every((chunk) => chunk.length < 2000));
});

t.test('a document larger than every buffer is written, and returned chunks do not change', async (t) => {
  const large = { _id: 1, text: '\u0001'.repeat(3_000_000) };
  const first = encodeDocumentJson(BSON.serialize({ _id: 'first' }));
  const text = encodeDocumentJson(BSON.serialize(large)).toString();
  t.equal(JSON.parse(text).text, large.text);
  encodeDocumentJson(BSON.serialize({ _id: 'other' }));
  t.match(JSON.parse(first.toString()), { id: 'first' });
});

t.test('damaged bytes are an error', async (t) => {
  const raw = Buffer.from(BSON.serialize({ _id: 1, s: 'text', d: { a: [1, 2] } }));
  for (let cut = 0; cut < raw.length; cut++)
    t.throws(() => encodeDocumentJson(raw.subarray(0, cut)), { code: 'internal' });
  t.throws(() => encodeDocumentJson(Buffer.concat([raw, Buffer.alloc(1)])), { code: 'internal' });
  let deep: Document = {};
  for (let depth = 0; depth < 300; depth++) deep = { a: deep };
  t.throws(() => encodeDocumentJson(BSON.serialize(deep)), { code: 'internal' });
});
