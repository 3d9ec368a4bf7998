/**
 * Everything that tests or shows a document agrees: the database, `match`, cutting as bytes and as objects, rendering,
 * and events. Random documents of every type, with names that a decoder could misread, under random policies.
 * MILLRACE_LONG=1 takes 1,000,000 documents, MILLRACE_RUNS sets the number of batches, MILLRACE_SEED repeats a run.
 */
import { BSON, type Document, Int32, Long, MongoClient, Timestamp } from 'mongodb';
import t from 'tap';
import { decodeDocument } from '../../../src/database/bson/stored-document.ts';
import { encodeDocumentJson, toWireDocument } from '../../../src/database/json/json.ts';
import { toEvent } from '../../../src/events/log/event.ts';
import { LOG_ROW_DEFAULTS, type LogRow } from '../../../src/events/log/log-row.ts';
import { redactRow } from '../../../src/events/read/redact-row.ts';
import { isPlainObject, setField } from '../../../src/lib/plain-object.ts';
import { parseFieldRules } from '../../../src/policies/fields/field-rules.ts';
import { selectBsonFields } from '../../../src/policies/fields/select-bson-fields.ts';
import { filterByScope } from '../../../src/policies/recheck-in-memory.ts';
import { createScope, type Grant, type Scope } from '../../../src/policies/scope.ts';
import { isInScope, redactDocument, toDatabaseFilter, visibleFieldTree } from '../../../src/policies/scope-filter.ts';
import { type Filter, fieldFilter, matchAllFilter, matchNoneFilter, not, or } from '../../../src/query/filter.ts';
import { testMongo } from '../../helpers/mongo.ts';
import { user } from '../../helpers/principals.ts';
import { runCount } from '../../helpers/random.ts';
import { type Random, seeded } from '../../query/random.ts';
import { documentFields, HOSTILE, id, scalar, TEXTS, value } from '../../query/random-documents.ts';
import { filter, PATHS, TEST_NAMES, test } from '../../query/random-filters.ts';

const DOCUMENTS = 2_000;
const SCOPES = 6;
const BATCHES = runCount(3, 500);
/** From so many batches on, the random cases reach, hide and make the database give up often enough to require it. */
const BATCHES_FOR_CHANCE = 50;
t.setTimeout(120_000 + BATCHES * 20_000);

const RULES = [
  ['*', '-a'],
  ['*', '-a.b', '-fields'],
  ['*', '-b.a', '-oid'],
  ['a', 'b'],
  ['a.b', 'b', 'db'],
  ['collection', 'a.a', 'fields.a'],
  ['*'],
];
/** Patterns on which the database's engine gives up in these texts; it then says "no match". */
const STUBBORN = ['(a+)+c', '^(?:(?:a|b)+ ?)*c$', '(?:a?){20}a{20}c'];
/** The database always gives up on the first pattern in the first text. */
const STUBBORN_TEXTS = [`${'a'.repeat(40)} ac`, 'a'.repeat(40), `${'ab'.repeat(20)}c`];
const CERTAINLY_STUBBORN: Document = { _id: 'stubborn', a: STUBBORN_TEXTS[0], n: new Int32(DOCUMENTS - 1) };
const HOSTILE_PATHS = ['collection', 'oid', 'db', 'fields', 'fields.a', 'constructor', 'a.collection', 'a.fields.b'];

/** A document with hostile field names, at the top and within: often those of which the driver creates a DBRef. */
function hostileDocument(random: Random, n: number): Document {
  const document = documentFields(random);
  const spots = [document, ...Object.values(document).flat().filter(isPlainObject)];
  for (const resource of spots) {
    if (random.chance(0.3)) {
      resource['$ref'] = random.pick(TEXTS);
      resource['$id'] = scalar(random);
      if (random.chance(0.3)) resource['$db'] = random.pick(TEXTS);
    }
    if (random.chance(0.05)) resource['a'] = random.pick(STUBBORN_TEXTS);
    if (random.chance(0.3)) setField(resource, random.pick(HOSTILE), value(random, 1));
  }
  const { _id: _, n: __, ...fields } = document;
  return { _id: id(random, n), ...fields, n: new Int32(n) };
}

/** Maps are written field by field, whatever the names of their fields. */
function asMap(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(asMap);
  return isPlainObject(value) ? new Map(Object.keys(value).map((name) => [name, asMap(value[name])])) : value;
}

function randomFilter(random: Random): Filter {
  if (random.chance(0.7)) return filter(random, 2);
  return fieldFilter(random.pick([...HOSTILE_PATHS, ...PATHS]), test(random, random.pick(TEST_NAMES)));
}

interface Requested {
  readonly scope: Scope<'read'>;
  /** Whether something is denied, or not granted, by a pattern on which the database gives up. */
  readonly isStubborn: boolean;
  readonly isRandom: boolean;
}

/** Random Scopes, and three fixed ones: over all documents, over none, and one on which the database gives up. */
function scopesOf(random: Random): readonly Requested[] {
  const drawnScopes = Array.from({ length: SCOPES }, (_, n) => {
    const isStubborn = n === SCOPES - 1;
    return { scope: randomScope(random, isStubborn), isStubborn, isRandom: true };
  });
  const drawn = randomFilter(random);
  const all = readScope([granted(random, drawn), granted(random, not(drawn))], matchNoneFilter);
  const none = readScope([granted(random, drawn)], drawn);
  const givenUp = readScope(
    [granted(random, matchAllFilter)],
    fieldFilter('a', { op: 'regex', pattern: STUBBORN[0] ?? '' }),
  );
  return [
    ...drawnScopes,
    { scope: all, isStubborn: false, isRandom: false },
    { scope: none, isStubborn: false, isRandom: false },
    { scope: givenUp, isStubborn: true, isRandom: false },
  ];
}

function granted(random: Random, filter: Filter): Grant {
  const read = parseFieldRules(random.pick(RULES));
  return { filter, read, write: parseFieldRules(['*']), set: new Map(), policy: null };
}

function readScope(grants: readonly Grant[], denied: Filter): Scope<'read'> {
  return createScope({ principal: user('u'), action: 'read', grants, denied, reader: null, until: null });
}

function randomScope(random: Random, isStubborn: boolean): Scope<'read'> {
  const stubborn = (): Filter => fieldFilter('a', { op: 'regex', pattern: random.pick(STUBBORN) });
  const requested = (): Filter => {
    const drawn = randomFilter(random);
    return isStubborn && random.chance(0.5) ? or([drawn, not(stubborn())]) : drawn;
  };
  const grants = random.several(1, 2, () => granted(random, requested()));
  const denied = or([...random.several(0, 1, requested), ...(isStubborn ? [stubborn()] : [])]);
  return readScope(grants, denied);
}

const inserted = (raw: Buffer, stored: Document): LogRow => ({
  ...LOG_ROW_DEFAULTS,
  number: 1,
  epoch: 1,
  token: '82',
  time: new Timestamp(Long.ONE),
  wall: new Date(0),
  operation: 'insert',
  collection: 'documents',
  key: Buffer.from(BSON.serialize({ _id: asMap(stored['_id']) })),
  after: raw,
});

/** JavaScript puts number-like names first; what clients read from either text is then the same. */
const asRead = (text: string): string => JSON.stringify(JSON.parse(text));

/** What is shown of one document under a Scope, tested in memory; null for nothing. */
function reported(scope: Scope<'read'>, raw: Buffer, stored: Document): string | null {
  const fields = visibleFieldTree(scope, stored);
  const object = redactDocument(scope, stored);
  const row = redactRow(inserted(raw, stored), scope, (state) => visibleFieldTree(scope, decodeDocument(state)));
  const texts = [
    fields && asRead(encodeDocumentJson(selectBsonFields(raw, fields)).toString()),
    object && asRead(JSON.stringify(toWireDocument(object))),
    row && asRead(JSON.stringify(toEvent(row)?.data)),
  ];
  const [first = null] = texts;
  if (texts.some((text) => text !== first)) throw new Error(`Told differently: ${texts.join('\n')}`);
  if ((first !== null) !== isInScope(scope, stored)) throw new Error('Told, or not told, against the Scope');
  return first;
}

t.test(`database and memory agree on ${BATCHES * DOCUMENTS} documents under policies`, async (t) => {
  const random = seeded(t);
  const { url, database } = await testMongo(t);
  const client = new MongoClient(url);
  t.teardown(() => client.close());
  const db = client.db(database);
  const documents = db.collection('documents');
  let documentsRequested = 0;
  const chance = { reached: 0, hidden: 0, givenUp: 0 };
  const certain = { reached: 0, hidden: 0, givenUp: 0 };
  for (let batch = 0; batch < BATCHES; batch++) {
    const drawn = Array.from({ length: DOCUMENTS - 1 }, (_, n) => hostileDocument(random, n));
    const created = [...drawn, CERTAINLY_STUBBORN].map(asMap);
    await documents.deleteMany({});
    await db.command({ insert: 'documents', documents: created });
    const raws = created.map((map) => Buffer.from(BSON.serialize({ map }).subarray(9, -1)));
    const stored = raws.map(decodeDocument);
    for (const [resource, { scope, isStubborn, isRandom }] of scopesOf(random).entries()) {
      const count = isRandom ? chance : certain;
      const requested = toDatabaseFilter(scope);
      const response = await documents.find(requested, { projection: { _id: 0, n: 1 } }).toArray();
      const found = new Set(response.map(({ n }) => n));
      for (const [n, document] of stored.entries()) {
        const raw = raws[n] ?? Buffer.of();
        const what = () => `${JSON.stringify(scope.grants)} ${JSON.stringify(scope.denied)} of ${raw.toString('hex')}`;
        try {
          const text = resource === 0 ? reported(scope, raw, document) : isInScope(scope, document);
          const isReached = text !== null && text !== false;
          const isFound = found.has(n);
          // A document that came because the database gave up is not shown after the second test. What it did not find
          // is not, either.
          const isReported = isFound && (!isStubborn || (await filterByScope(scope, [raw])).length > 0);
          if (isStubborn ? isReported && !isReached : isReported !== isReached)
            throw new Error(`The database says ${isFound}`);
          if (isFound !== isReached) count.givenUp++;
          if (isReached) count.reached++;
          else count.hidden++;
        } catch (error) {
          t.fail(`batch ${batch}: ${error}: ${what()}`);
          return;
        }
      }
    }
    documentsRequested += stored.length;
    if (batch % 25 === 24) t.comment(`${documentsRequested} documents, at random ${JSON.stringify(chance)}`);
  }
  t.ok(certain.reached >= documentsRequested && certain.hidden >= documentsRequested, JSON.stringify(certain));
  t.ok(certain.givenUp >= BATCHES, `the database gave up on ${certain.givenUp}, and no more was told for it`);
  if (BATCHES >= BATCHES_FOR_CHANCE) {
    t.ok(chance.reached > documentsRequested / 4 && chance.hidden > documentsRequested / 4, JSON.stringify(chance));
    t.ok(chance.givenUp > 0, `the database gave up on ${chance.givenUp} at random, and no more was told for it`);
  }
});
