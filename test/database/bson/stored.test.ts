/** Reading stored documents for rewriting: exact for every type, in order, and rejected if impossible. */
import { Binary, BSON, DBRef, Decimal128, type Document, Double, Int32, Long, ObjectId, Timestamp } from 'mongodb';
import t from 'tap';
import {
  decodeDocumentId,
  decodeExactDocument,
  decodeExactDocumentMap,
  encodeBsonDocument,
  reorderFields,
  withStoredFieldOrder,
} from '../../../src/database/bson/stored-document.ts';
import { encodeDocumentJson, toWireDocument } from '../../../src/database/json/json.ts';
import { MillraceError } from '../../../src/lib/errors.ts';
import { element, frame } from '../../helpers/database/bson-parts.ts';
import { randomBson } from '../../helpers/database/random-bson.ts';
import { Random, runSeed } from '../../helpers/random.ts';

const seed = runSeed();
t.comment(`seed ${seed}`);

const asJavaScript = (text: string): string => JSON.stringify(JSON.parse(text));
const raw = (document: Document): Buffer => Buffer.from(BSON.serialize(document, { ignoreUndefined: false }));
/** A document with one field, given by its type, its name and the hex of its value. */
const field = (type: number, name: string, value: string): Buffer =>
  frame([element(type, name, Buffer.from(value, 'hex'))]);

t.test('stored values keep their types', async (t) => {
  const document = {
    _id: new ObjectId(),
    int: new Int32(1),
    double: new Double(1),
    long: Long.fromNumber(1),
    decimal: Decimal128.fromString('1.0'),
    date: new Date(5),
    old: new Binary(Buffer.from('x'), 2),
    at: new Timestamp({ t: 1, i: 2 }),
    list: [new Int32(1), { b: new Double(2) }],
  };
  const read = decodeExactDocument(raw(document));
  t.ok(read['double'] instanceof Double && read['int'] instanceof Int32 && read['long'] instanceof Long);
  t.ok(Buffer.from(encodeBsonDocument(read)).equals(raw(document)));
});

t.test('documents that look like references stay documents', async (t) => {
  const reference = raw({
    _id: 1,
    a: new Map<string, unknown>([
      ['$id', 1],
      ['$ref', 'a.b'],
    ]),
  });
  t.notOk(decodeExactDocument(reference)['a'] instanceof DBRef);
  t.ok(Buffer.from(encodeBsonDocument(decodeExactDocument(reference))).equals(reference));
});

t.test('number-like names keep their position when read in order', async (t) => {
  const stored = raw(
    new Map<string, unknown>([
      ['_id', 1],
      ['b', 1],
      ['2024', { z: 1, '7': 2 }],
      ['10', [1]],
      ['a', 1],
    ]),
  );
  const ordered = decodeExactDocumentMap(stored);
  t.same([...ordered.keys()], ['_id', 'b', '2024', '10', 'a']);
  t.ok(Buffer.from(encodeBsonDocument(ordered)).equals(stored));
  const changed = { ...decodeExactDocument(stored), a: 2, new: 3 };
  t.same([...reorderFields(changed, ordered).keys()], ['_id', 'b', '2024', '10', 'a', 'new']);
});

t.test('a changed document keeps its inner order, arrays included', async (t) => {
  const inner = (): Map<string, unknown> =>
    new Map<string, unknown>([
      ['x', 1],
      ['5', 2],
    ]);
  const stored = raw(
    new Map<string, unknown>([
      ['m', inner()],
      ['l', [inner(), 1, inner()]],
    ]),
  );
  const changed = decodeExactDocument(stored);
  t.ok(Buffer.from(encodeBsonDocument(reorderFields(changed, decodeExactDocumentMap(stored)))).equals(stored));
  delete changed['m']['x'];
  changed['l'].push({ y: 1 });
  t.same(BSON.deserialize(encodeBsonDocument(reorderFields(changed, decodeExactDocumentMap(stored)))), {
    m: { '5': 2 },
    l: [{ x: 1, '5': 2 }, 1, { x: 1, '5': 2 }, { y: 1 }],
  });
});

t.test('a value that could not be written back unchanged is rejected', async (t) => {
  const cases: [what: string, raw: Buffer][] = [
    ['text that is not UTF-8', field(0x02, 'a', '02000000ff00')],
    ['a name that is not UTF-8', frame([Buffer.from('0aff00', 'hex')])],
    ['a date out of range', field(0x09, 'a', 'ffffffffffffff7f')],
    ['undefined', field(0x06, 'a', '')],
    ['a DBPointer', field(0x0c, 'a', '0200000078000102030405060708090a0b0c')],
    ['a repeated name', frame([Buffer.from('0a61000a6100', 'hex')])],
    ['unsorted options', field(0x0b, 'a', '7800736900')],
  ];
  for (const [what, bytes] of cases) {
    t.throws(() => decodeExactDocument(bytes), { code: 'unsupported-value' }, what);
    t.throws(() => decodeExactDocumentMap(bytes), { code: 'unsupported-value' }, what);
    t.doesNotThrow(() => JSON.parse(encodeDocumentJson(bytes).toString()), `${what} is still shown`);
  }
  t.equal(decodeDocumentId(Buffer.from(raw({ _id: 'x' }))), 'x');
  t.throws(() => decodeDocumentId(field(0x06, '_id', '')), { code: 'unsupported-value' });
  t.same(decodeExactDocument(raw({ a: '\ufffd' })), { a: '\ufffd' }, 'a stored replacement character is no damage');
});

t.test('names inside arrays become their indexes', async (t) => {
  const list = frame([Buffer.from('0a3500', 'hex'), Buffer.from('0a3500', 'hex')]);
  t.same(decodeExactDocument(field(0x04, 'a', list.toString('hex'))), { a: [null, null] });
});

t.test('a document read for rewriting is written back byte by byte, or rejected', async (t) => {
  const random = new Random(seed);
  let exact = 0;
  let refused = 0;
  for (let n = 0; n < 5_000; n++) {
    const odd = n % 2 === 1;
    const raw = randomBson(random, { odd });
    try {
      const ordered = Buffer.from(encodeBsonDocument(decodeExactDocumentMap(raw)));
      const kept = BSON.serialize(withStoredFieldOrder(raw, decodeExactDocument(raw)), { ignoreUndefined: false });
      const wire = JSON.stringify(toWireDocument(decodeExactDocument(raw)));
      if (!ordered.equals(raw) || !ordered.equals(kept) || wire !== asJavaScript(encodeDocumentJson(raw).toString())) {
        t.fail(`document ${n} changes`, { seed, raw: raw.toString('hex'), back: ordered.toString('hex'), wire });
        break;
      }
      exact++;
    } catch (error) {
      if (odd && error instanceof MillraceError && error.code === 'unsupported-value') refused++;
      else throw error;
    }
  }
  t.ok(exact > 2500 && refused > 100, `${exact} exact, ${refused} refused`);
});
