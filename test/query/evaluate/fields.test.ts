/** Projections: how they are parsed, and that cutting a document in memory gives what the server returns. */
import { BSON, type Document, EJSON } from 'bson';
import { MongoClient } from 'mongodb';
import t from 'tap';
import { decodeExactDocument } from '../../../src/database/bson/stored-document.ts';
import {
  coversAllPaths,
  includesMeta,
  parseFields,
  toFieldTree,
  toMongoProjection,
} from '../../../src/query/evaluate/field-selection.ts';
import { selectFields } from '../../../src/query/evaluate/field-tree.ts';
import { testMongo } from '../../helpers/mongo.ts';
import { seeded } from '../random.ts';
import { documentFields, id } from '../random-documents.ts';

const PATHS = ['a', 'b', 'a.a', 'a.b', 'a.b.a', 'b.a', '0', 'a.0', 'b.1.a', 'c', '_meta.revision'];

t.test('cutting in memory and the server give the same document', { timeout: 60_000 }, async (t) => {
  const random = seeded(t);
  const { url, database } = await testMongo(t);
  const client = new MongoClient(url);
  t.teardown(() => client.close());
  const collection = client.db(database).collection('documents');
  const documents = Array.from({ length: 120 }, (_, n): Document => {
    const fields = documentFields(random);
    // The database stores the id first.
    return { _id: id(random, n), ...fields };
  });
  await collection.insertMany(documents);
  const sign = (document: unknown): string => EJSON.stringify(document, { relaxed: false });
  for (let n = 0; n < 40; n++) {
    const out = random.chance(0.5);
    const names = random.several(1, 4, () => (out ? '-' : '') + random.pick(PATHS));
    if (random.chance(0.3)) names.push(random.pick(out ? ['-id', 'id'] : ['-id', 'id']));
    const fields = parseFields(names);
    const options = { projection: toMongoProjection(fields), promoteValues: false, bsonRegExp: true };
    const shown = await collection.find({}, options).toArray();
    const wrong = shown.findIndex((document, index) => {
      const inHand = selectFields(decodeExactDocument(BSON.serialize(documents[index] ?? {})), toFieldTree(fields));
      return sign(decodeExactDocument(BSON.serialize(document))) !== sign(inHand);
    });
    t.equal(wrong, -1, `${names}${wrong < 0 ? '' : ` of ${sign(documents[wrong])}: ${sign(shown[wrong])}`}`);
  }
});

t.test('_meta is included as a whole or not', async (t) => {
  t.equal(includesMeta(null), true);
  for (const names of [['_meta'], ['a', '_meta'], ['-a'], ['-id'], ['-_meta.revision']])
    t.equal(includesMeta(parseFields(names)), true, String(names));
  for (const names of [['a'], ['id'], ['-_meta'], ['-a', '-_meta']])
    t.equal(includesMeta(parseFields(names)), false, String(names));
});

t.test('names of fields are parsed and checked', async (t) => {
  t.same(parseFields(['a', 'b.c']), { mode: 'include', paths: ['a', 'b.c'] });
  t.same(parseFields(['-a']), { mode: 'exclude', paths: ['a'] });
  t.same(parseFields(['a', '-id']), { mode: 'include', paths: ['a'] });
  t.same(parseFields(['-a', 'id']), { mode: 'exclude', paths: ['a'] });
  t.same(parseFields(['id']), { mode: 'include', paths: [] });
  t.same(parseFields(['-id']), { mode: 'exclude', paths: [] });
  t.same(parseFields(['a.b', 'a', 'a', 'ab']), { mode: 'include', paths: ['a', 'ab'] });
  for (const names of [
    ['-id.x', '-id'],
    ['-id', '-id.x'],
  ])
    t.same(parseFields(names), { mode: 'exclude', paths: [] });
  t.same(parseFields(['-id', '-id.x', '-a']), { mode: 'exclude', paths: ['a'] });
  t.same(parseFields(['id.x']), { mode: 'include', paths: [] });
  t.same(parseFields(['a', 'id.x']), { mode: 'include', paths: ['a'] });
  t.same(parseFields(['-id.x']), { mode: 'exclude', paths: [] });
  t.same(parseFields(['-a', '-id.x']), { mode: 'exclude', paths: ['a'] });
  t.same(parseFields(['-id', 'id.x']), { mode: 'exclude', paths: [] });
  for (const names of [['a', '-b'], [''], ['a.$b'], ['-']]) {
    t.throws(() => parseFields(names), { code: 'invalid-parameter' }, names.join());
  }
});

t.test('a sort is covered by the fields or not', async (t) => {
  t.ok(coversAllPaths(parseFields(['a', 'b.c']), ['_id', 'a', 'a.x', 'b.c', 'b.c.d']));
  t.notOk(coversAllPaths(parseFields(['b.c']), ['b']));
  t.notOk(coversAllPaths(parseFields(['b']), ['a']));
  t.ok(coversAllPaths(parseFields(['a', '-id']), ['_id']), 'the id stays');
  t.ok(coversAllPaths(parseFields(['-a']), ['b', 'ab', '_id']));
  for (const path of ['a', 'a.b']) t.notOk(coversAllPaths(parseFields(['-a']), [path]), path);
  t.notOk(coversAllPaths(parseFields(['-a.b']), ['a']));
});
