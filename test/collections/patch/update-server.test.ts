/**
 * Update operators against the database's own: random documents of all number types and nestings, random updates, the
 * same bytes afterwards, and rejections where the database rejects. A seed repeats a run.
 */
import { BSON, Decimal128, Double, Int32, Long, MongoBulkWriteError, MongoClient, ObjectId } from 'mongodb';
import t from 'tap';
import { applyUpdate, parseUpdate } from '../../../src/collections/patch/update.ts';
import {
  decodeExactDocument,
  decodeExactDocumentMap,
  encodeBsonDocument,
  reorderFields,
} from '../../../src/database/bson/stored-document.ts';
import { MillraceError } from '../../../src/lib/errors.ts';
import { testMongo } from '../../helpers/mongo.ts';
import { Random, runSeed } from '../../helpers/random.ts';

const ROUNDS = process.env['MILLRACE_LONG'] === '1' ? 100 : 8;
const PER_ROUND = 1_000;
/** What is rejected here and allowed there is left out of the comparison. */
const NAMES = ['a', 'b', 'c', '0', '1', '2'];

const random = new Random(runSeed());

function number(): unknown {
  return random.pick([
    () => new Int32(random.pick([0, 1, -1, 7, 2_147_483_647, -2_147_483_648, random.below(1_000)])),
    () => new Double(random.pick([0, -0, 0.1, 1.5, -2.25, 1e300, 5e-324, Infinity, NaN, 2 ** 53, random.next() / 7])),
    () => Long.fromString(random.pick(['0', '5', '9007199254740993', '9223372036854775807', '-9223372036854775808'])),
    () =>
      Decimal128.fromString(
        random.pick([
          '0',
          '-0',
          '1',
          '0.10',
          '19.90',
          '1E+3',
          '9.999999999999999999999999999999999',
          '1E-6176',
          '9E+6144',
        ]),
      ),
    () =>
      Decimal128.fromString(random.pick(['NaN', 'Infinity', '-Infinity', '0E-20', '123456789012345678901234567890.1'])),
  ])();
}

function scalar(): unknown {
  return random.pick([
    number,
    number,
    () => random.pick(['', 'a', 'b', 'ä', '\u{1f600}', '\uffee', '5']),
    () => null,
    () => random.below(2) === 0,
    () => new Date(random.below(10) * 1e11),
    () => ObjectId.createFromHexString(`00000000000000000000000${random.below(10)}`),
  ])();
}

function value(depth: number): unknown {
  const kind = random.below(depth > 2 ? 4 : 10);
  if (kind < 5) return scalar();
  if (kind < 8) return Array.from({ length: random.below(5) }, () => value(depth + 1));
  return fields(depth + 1, 3);
}

function fields(depth: number, most: number): Record<string, unknown> {
  return Object.fromEntries(
    Array.from({ length: random.below(most + 1) }, () => [random.pick(NAMES.slice(0, 3)), value(depth)] as const),
  );
}

/**
 * What JSON can express. Sets use numbers of their own: ours keeps the stored type of a number that is set to itself.
 */
function json(depth: number, numbers: readonly number[]): unknown {
  const kind = random.below(depth > 1 ? 6 : 9);
  if (kind < 3) return random.pick(numbers);
  if (kind === 3) return random.pick(['', 'a', 'b', 'ä', '\u{1f600}', '\uffee', '5']);
  if (kind === 4) return numbers === OWN_NUMBERS ? 'c' : null;
  if (kind === 5) return random.below(2) === 0;
  if (kind < 8) return Array.from({ length: random.below(3) }, () => json(depth + 1, numbers));
  return Object.fromEntries(['a', 'b'].slice(random.below(2)).map((name) => [name, json(depth + 1, numbers)]));
}

const NUMBERS = [0, 1, -1, 5, 7, 0.1, 1.5, 2_147_483_647, 2 ** 40, 1e300, -2.25, 100_000_000_000_000.5];
const OWN_NUMBERS = [2001, 2002.5, 2 ** 33];

const OPERANDS: readonly (readonly [string, () => unknown])[] = [
  ['$inc', () => random.pick(NUMBERS)],
  ['$mul', () => random.pick(NUMBERS)],
  ['$min', () => json(0, NUMBERS)],
  ['$max', () => json(0, NUMBERS)],
  ['$set', () => json(0, OWN_NUMBERS)],
  ['$unset', () => ''],
  ['$push', () => (random.below(2) === 0 ? json(0, NUMBERS) : pushModifiers())],
  [
    '$addToSet',
    () =>
      random.below(2) === 0
        ? json(0, NUMBERS)
        : { $each: Array.from({ length: random.below(4) }, () => json(1, NUMBERS)) },
  ],
  ['$pull', pullOperand],
];

function pushModifiers(): Record<string, unknown> {
  const modifiers: Record<string, unknown> = { $each: Array.from({ length: random.below(4) }, () => json(1, NUMBERS)) };
  if (random.below(2) === 0) modifiers['$position'] = random.below(7) - 3;
  if (random.below(2) === 0) modifiers['$slice'] = random.below(7) - 3;
  return modifiers;
}

/** A value, or a condition on an element or on its fields. */
function pullOperand(): unknown {
  const operand = json(0, NUMBERS);
  const plain = typeof operand === 'object' && operand !== null && !Array.isArray(operand) ? 'a' : operand;
  const condition = (): unknown =>
    random.pick([
      () => ({ $gte: random.pick(NUMBERS) }),
      () => ({ $lt: random.pick(['b', 5, true]) }),
      () => ({ $in: [random.pick(NUMBERS), 'a', null] }),
      () => ({ $ne: random.pick(NUMBERS) }),
      () => ({ $exists: true }),
    ])();
  return random.pick([() => plain, condition, () => ({ a: condition() }), () => ({ b: random.pick(NUMBERS) })])();
}

function update(): Record<string, Record<string, unknown>> {
  const result: Record<string, Record<string, unknown>> = {};
  for (let clauses = 1 + random.below(3); clauses > 0; clauses--) {
    const [operator, operand] = random.pick(OPERANDS);
    const length = 1 + random.below(3);
    const steps = Array.from({ length }, (_, at) => random.pick(at === 0 ? NAMES.slice(0, 3) : NAMES));
    const paths = result[operator] ?? {};
    paths[steps.join('.')] = operand();
    result[operator] = paths;
  }
  return result;
}

/** Ours: the bytes after, or null when rejected. */
function ours(raw: Uint8Array, change: unknown): Uint8Array | null {
  try {
    const next = applyUpdate(decodeExactDocument(raw), parseUpdate(change), new Date(0));
    return encodeBsonDocument(reorderFields(Object(next), decodeExactDocumentMap(raw)));
  } catch (error) {
    if (error instanceof MillraceError && error.code === 'invalid-patch') return null;
    throw error;
  }
}

t.test(`update operators do what the database does (MILLRACE_SEED=${random.seed})`, async (t) => {
  const { url, database } = await testMongo(t);
  const client = new MongoClient(url);
  t.teardown(() => client.close());
  const collection = client.db(database).collection<{ _id: number }>('updates');

  const applied = new Map<string, number>();
  for (let round = 0; round < ROUNDS; round++) {
    const documents = Array.from({ length: PER_ROUND }, (_, n) => ({ _id: n, ...fields(0, 3) }));
    const updates = documents.map(update);
    await collection.deleteMany({});
    await collection.insertMany(documents);
    const before = await collection.find({}, { raw: true, sort: { _id: 1 } }).toArray();
    const failed = new Map<number, string>();
    try {
      await collection.bulkWrite(
        updates.map((change, n) => ({ updateOne: { filter: { _id: n }, update: change } })),
        { ordered: false },
      );
    } catch (error) {
      if (!(error instanceof MongoBulkWriteError)) throw error;
      for (const issue of [error.writeErrors].flat()) failed.set(issue.index, issue.errmsg ?? 'refused');
    }
    const after = await collection.find({}, { raw: true, sort: { _id: 1 } }).toArray();
    for (const [n, change] of updates.entries()) {
      const old: unknown = before[n];
      const theirs: unknown = after[n];
      if (!(old instanceof Uint8Array) || !(theirs instanceof Uint8Array)) throw new Error('The driver gave no bytes');
      const result = ours(old, change);
      for (const operator of Object.keys(change)) {
        const key = `${operator} ${failed.has(n) ? 'refused' : 'done'}`;
        applied.set(key, (applied.get(key) ?? 0) + 1);
      }
      const same = result === null ? failed.has(n) : !failed.has(n) && Buffer.compare(result, theirs) === 0;
      if (same) continue;
      const show = (raw: Uint8Array): string =>
        BSON.EJSON.stringify(BSON.deserialize(raw, { promoteValues: false }), { relaxed: false });
      t.fail(`${JSON.stringify(change)} on ${show(old)}`, {
        theirs: failed.get(n) ?? show(theirs),
        ours: result === null ? 'refused' : show(result),
      });
      if (t.counts.fail > 10) return;
    }
  }
  for (const [operator] of OPERANDS) {
    t.ok((applied.get(`${operator} done`) ?? 0) > 200, `${operator} done`);
    t.ok(operator === '$unset' || (applied.get(`${operator} refused`) ?? 0) > 50, `${operator} refused`);
  }
});
