/**
 * The two evaluators agree: what `toMongo` finds on a real server is what `compileMatch` finds in the same documents,
 * for every operator and every BSON type. `MILLRACE_LONG=1` runs ten times as many.
 */
import { BSON, type Document, EJSON } from 'bson';
import { type Collection, MongoClient } from 'mongodb';
import t, { type Test } from 'tap';
import { decodeExactDocument } from '../../src/database/bson/stored-document.ts';
import { compileMatcher } from '../../src/query/evaluate/match.ts';
import { toMongoFilter } from '../../src/query/evaluate/to-mongo-filter.ts';
import { joinPath, splitPath } from '../../src/query/field-paths.ts';
import { type Filter, type FieldTest as FilterTest, fieldFilter } from '../../src/query/filter.ts';
import { testMongo } from '../helpers/mongo.ts';
import { type Random, seeded } from './random.ts';
import { documentFields, id } from './random-documents.ts';
import { filter, PATHS, TEST_NAMES, test } from './random-filters.ts';

const DOCUMENTS = 300;
const TIMES = process.env['MILLRACE_LONG'] === '1' ? 10 : 1;
t.setTimeout(300_000 * TIMES);
const PER_OPERATOR = 20 * TIMES;
const MIXED = 250 * TIMES;

/** The collection, and its documents as they are read back; `n` is the index of each. */
async function insertDocuments(t: Test, random: Random): Promise<{ collection: Collection; stored: Document[] }> {
  const { url, database } = await testMongo(t);
  const client = new MongoClient(url);
  t.teardown(() => client.close());
  const collection = client.db(database).collection('documents');
  const documents = Array.from({ length: DOCUMENTS }, (_, n): Document => {
    return { ...documentFields(random), _id: id(random, n), n };
  });
  await collection.insertMany(documents);
  return { collection, stored: documents.map((document) => decodeExactDocument(BSON.serialize(document))) };
}

/** Runs both on every document; returns the number of matches. */
async function compare(t: Test, collection: Collection, stored: readonly Document[], filter: Filter): Promise<number> {
  const requested = toMongoFilter(filter);
  const found = new Set(
    (await collection.find(requested, { projection: { _id: 0, n: 1 } }).toArray()).map(({ n }) => n),
  );
  const match = compileMatcher(filter);
  const wrong = stored.findIndex((document, n) => match(document) !== found.has(n));
  if (wrong >= 0) {
    const said = found.has(wrong) ? 'the server finds it' : 'the server does not find it';
    t.fail(`${said}: ${EJSON.stringify(requested)} of ${EJSON.stringify(stored[wrong], { relaxed: false })}`);
  }
  return found.size;
}

t.test('to-mongo and match agree on random filters and documents', { timeout: 120_000 * TIMES }, async (t) => {
  const random = seeded(t);
  const { collection, stored } = await insertDocuments(t, random);
  let pairs = 0;
  for (const name of TEST_NAMES) {
    let [hits, misses] = [0, 0];
    for (let n = 0; n < PER_OPERATOR || (n < 20 * PER_OPERATOR && Math.min(hits, misses) < 200); n++) {
      const single = fieldFilter(random.pick(n % 3 === 0 ? PATHS : ['a', 'b']), test(random, name));
      const found = await compare(t, collection, stored, single);
      hits += found;
      misses += stored.length - found;
    }
    t.ok(hits >= 200 && misses >= 200, `${name}: ${hits} hits, ${misses} misses`);
    pairs += hits + misses;
  }
  for (let n = 0; n < MIXED; n++) {
    await compare(t, collection, stored, filter(random, 3));
    pairs += stored.length;
  }
  t.ok(pairs >= 50_000, `${pairs.toLocaleString('en')} pairs of filter and document`);
});

t.test('two texts under one negation may match in two elements of an array', async (t) => {
  const { collection } = await insertDocuments(t, seeded(t));
  const stored = [{ b: ['x', 'y'] }, { b: ['xy'] }, { b: ['x'] }, { b: 'xy' }, {}].map((fields, n) => ({
    ...fields,
    n,
  }));
  await collection.deleteMany({});
  await collection.insertMany(stored.map((document) => ({ ...document })));
  const texts = ['x', 'y'].map((text) => ({ op: 'text', how: 'contains', fold: false, text }) as const);
  t.equal(await compare(t, collection, stored, fieldFilter('b', { op: 'not', tests: texts })), 2);
  t.equal(
    await compare(t, collection, stored, fieldFilter('b', { op: 'not', tests: [{ op: 'not', tests: texts }] })),
    3,
  );
});

/** Names for which the database has no path, instead of plain ones. */
const ESCAPED: Readonly<Record<string, string>> = { a: 'x.y', b: '$r', '1': '' };
const renamed = (name: string): string => ESCAPED[name] ?? name;

function withNames(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withNames);
  if (typeof value !== 'object' || value === null || Object.getPrototypeOf(value) !== Object.prototype) return value;
  return Object.fromEntries(Object.entries(value).map(([name, property]) => [renamed(name), withNames(property)]));
}

function withPaths(requested: Filter): Filter {
  if (requested.kind !== 'field') return { ...requested, filters: requested.filters.map(withPaths) };
  return fieldFilter(joinPath(splitPath(requested.path).map(renamed)), withPathsInside(requested.test));
}

function withPathsInside(one: FilterTest): FilterTest {
  if (one.op === 'elemWhere') return { ...one, filter: withPaths(one.filter) };
  if (one.op === 'not' || one.op === 'elem') return { ...one, tests: one.tests.map(withPathsInside) };
  return one;
}

t.test(
  'to-mongo and match agree on names with dots, a leading $ or no characters',
  { timeout: 120_000 * TIMES },
  async (t) => {
    const random = seeded(t);
    const { collection } = await insertDocuments(t, random);
    const documents = Array.from({ length: DOCUMENTS }, (_, n): Document => {
      return { ...(withNames(documentFields(random)) as Document), _id: id(random, n), n };
    });
    await collection.deleteMany({});
    await collection.insertMany(documents);
    const stored = documents.map((document) => decodeExactDocument(BSON.serialize(document)));
    let hits = 0;
    for (const name of TEST_NAMES) {
      for (let n = 0; n < PER_OPERATOR; n++) {
        hits += await compare(t, collection, stored, withPaths(fieldFilter(random.pick(PATHS), test(random, name))));
      }
    }
    for (let n = 0; n < MIXED; n++) hits += await compare(t, collection, stored, withPaths(filter(random, 3)));
    t.ok(hits >= 10_000, `${hits.toLocaleString('en')} hits`);
  },
);
