/** Every returned id finds its document again, on a real MongoDB. The seed is printed; MILLRACE_SEED repeats. */
import { Binary, Code, Decimal128, type Document, Double, Int32, Long, MongoClient, ObjectId, UUID } from 'mongodb';
import t from 'tap';
import { decodeDocument, decodeExactDocumentMap } from '../../src/database/bson/stored-document.ts';
import { idCandidates, idFromText, idText } from '../../src/database/json/ids.ts';
import { encodeDocumentJson } from '../../src/database/json/json.ts';
import { randomBson } from '../helpers/database/random-bson.ts';
import { testMongo } from '../helpers/mongo.ts';
import { Random, runSeed } from '../helpers/random.ts';

const seed = runSeed();
t.comment(`seed ${seed}`);

const CHOSEN: readonly unknown[] = [
  5,
  -0,
  2.5,
  new Double(6),
  new Int32(7),
  Long.fromString('9223372036854775807'),
  Long.fromString('1234567890123456800'),
  1e21,
  Number.NaN,
  Decimal128.fromString('8'),
  Decimal128.fromString('8.10'),
  Decimal128.fromString('0.1'),
  new UUID(),
  new Date(0),
  true,
  null,
  '',
  'true ',
  new ObjectId().toHexString(),
  new ObjectId(),
  // Bytes with the subtype of a UUID that are none, within the scope of a code: the driver's parser fails on them.
  { js: new Code('f', { odd: new Binary(Buffer.alloc(17, 1), Binary.SUBTYPE_UUID) }) },
  new Code('f'),
  new Code('f', { $oid: 'x', n: new Int32(5), $ref: 'users', $id: 1 }),
  // Names that a decoder could interpret as a type, which the driver writes in Maps.
  new Map<string, unknown>([
    ['_bsontype', 'Long'],
    ['low', 1],
  ]),
  new Map<string, unknown>([
    ['$ref', 'users'],
    ['$id', new Int32(5)],
  ]),
  new Map<string, unknown>([
    ['$ref', 'users'],
    ['$id', Long.fromString('9007199254740993')],
    ['$db', 'shop'],
    ['more', 1.5],
  ]),
  {
    a: [
      new Map<string, unknown>([
        ['$ref', 'users'],
        ['$id', { __proto__: null, n: 1 }],
        ['a', null],
      ]),
    ],
  },
  { a: JSON.parse('{"__proto__":{"b":1},"constructor":2}') },
  { 'x\\': 1 },
  { 'x\n': 1 },
  // As deep as the server stores.
  JSON.parse(`${'{"a":'.repeat(179)}1${'}'.repeat(179)}`),
  { year: 2024, who: new ObjectId(), at: new Date(5), n: Long.fromNumber(3), d: new Double(-0), list: [1, { a: 'x' }] },
];

t.test('every returned id finds its document again', async (t) => {
  const { url, database } = await testMongo(t);
  const client = new MongoClient(url);
  t.teardown(() => client.close());
  const collection = client.db(database).collection('things');
  const random = new Random(seed);
  for (const _id of CHOSEN) await collection.insertOne({ _id } as Document);
  const drawn = Array.from({ length: 800 }, () => decodeExactDocumentMap(randomBson(random)).get('_id'));
  // The server rejects some of these (patterns, names with $ in them) and equal ones: those do not matter.
  const documents: Document[] = drawn.filter((id) => id !== undefined).map((_id) => ({ _id }));
  for (let from = 0; from < documents.length; from += 100) {
    await collection.insertMany(documents.slice(from, from + 100), { ordered: false }).catch(() => undefined);
  }
  const stored = await collection.find<Buffer>({}, { raw: true }).toArray();
  t.ok(stored.length > 500, `${stored.length} ids are stored`);
  for (const raw of stored) {
    const text = String(JSON.parse(encodeDocumentJson(raw).toString()).id);
    let found: Buffer | null = null;
    for (const form of [idFromText(text), ...idCandidates(text)]) {
      const query: Document = { _id: form };
      found ??= await collection.findOne<Buffer>(query, { raw: true });
    }
    // With our own reader: the driver would make a reference of an id with the names $ref and $id.
    if (found === null || idText(decodeDocument(found)['_id']) !== text)
      t.fail(`${text} is not found`, { raw: raw.toString('hex') });
  }
});
