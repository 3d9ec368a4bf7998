/**
 * Random documents and random queries, drawn from few values, so that they often match: what JSON can express, and what
 * only other drivers write: every kind of number, times, ids, texts beyond the first plane.
 */
import { Decimal128, type Document, Double, Int32, Long, ObjectId } from 'mongodb';
import type { LiveQuery } from '../../helpers/live/live-model.ts';
import type { Random } from '../../helpers/random.ts';
import { BINARIES, NUMBERS, IDS as OBJECT_IDS, TEXTS } from '../../query/random-documents.ts';

const WORDS = ['a', 'b', 'ä', '\u{1f600}', '\uffee', 'Zoe'] as const;
export const IDS = Array.from({ length: 12 }, (_, index) => `d${index}`);
const DAYS = ['2024-01-01T00:00:00.000Z', '2024-02-29T12:00:00.000Z', '1969-12-31T23:59:59.999Z'];
const DATES = [...DAYS.map((day) => new Date(day)), new Date(8.64e15), new Date(-8.64e15)];
export type StoredId = string | Int32 | Double | Long | Decimal128 | ObjectId | Date;
/** Ids of other drivers; no two have the same text. */
const FOREIGN_IDS: readonly StoredId[] = [
  new Int32(100),
  new Double(100.5),
  Long.fromString('9007199254740993'),
  Decimal128.fromString('-1E+30'),
  new ObjectId('65a000000000000000000000'),
  new Date(DAYS[0] ?? 0),
  '\u{1f600}',
  '\uffee',
];
const PATTERNS = ['^a', '[ä-\u{1f64f}]$', '(?i)^Z', '.', 'b|o', '^.$'];

/** Values of JSON. */
function plainValue(random: Random): unknown {
  switch (random.below(6)) {
    case 0:
      return null;
    case 1:
      return random.pick(WORDS);
    case 2:
      return random.below(2) === 0;
    default:
      return random.below(5);
  }
}

/** Values of a database. */
function storedValue(random: Random): unknown {
  switch (random.below(10)) {
    case 0:
    case 1:
    case 2:
      return random.pick<unknown>(NUMBERS);
    case 3:
      return random.pick(DATES);
    case 4:
      return random.pick<unknown>([...BINARIES, ...OBJECT_IDS]);
    case 5:
      return random.pick(TEXTS);
    case 6:
      return Array.from({ length: random.below(3) }, () => random.pick<unknown>([...NUMBERS, ...WORDS, ...DATES]));
    case 7:
      return { x: random.below(3), z: [random.below(3)] };
    default:
      return plainValue(random);
  }
}

/** A small number in one of its four types. */
function count(random: Random): unknown {
  const number = random.below(6);
  return random.pick<unknown>([
    new Int32(number),
    new Double(number),
    Long.fromNumber(number),
    Decimal128.fromString(String(number)),
    random.pick<unknown>(NUMBERS),
  ]);
}

/** A document as a client of ours sends it. */
export function randomDocument(random: Random): Document {
  const document: Document = { n: random.below(6) };
  if (!random.once(3)) document['s'] = random.pick(WORDS);
  if (!random.once(3)) document['v'] = plainValue(random);
  if (random.once(2)) document['tags'] = Array.from({ length: random.below(3) }, () => random.pick(WORDS));
  if (random.once(2)) document['o'] = { x: plainValue(random), y: random.below(3) };
  if (random.once(3)) document['d'] = random.pick(DAYS);
  if (random.once(2)) {
    const inner = { $z: plainValue(random), '': random.pick(WORDS) };
    document['x.y'] = random.once(2) ? inner : [inner, { $z: random.below(4) }];
  }
  return document;
}

/** A document as another driver writes it. */
export function storedDocument(random: Random): Document {
  const document = randomDocument(random);
  if (random.once(2)) document['n'] = count(random);
  if (random.once(2)) document['v'] = storedValue(random);
  if (random.once(2)) document['d'] = random.once(4) ? null : random.pick(DATES);
  if (random.once(3)) document['o'] = { x: storedValue(random), y: count(random) };
  if (random.once(3)) document['tags'] = Array.from({ length: random.below(3) }, () => storedValue(random));
  if (random.once(3)) document['x.y'] = { $z: storedValue(random), '': count(random) };
  if (random.once(8)) document['o'] = [{ x: storedValue(random) }, { x: random.below(5) }];
  return document;
}

/** An id of another driver, usually one that ours has used, too. */
export const storedId = (random: Random): StoredId => (random.once(4) ? random.pick(FOREIGN_IDS) : random.pick(IDS));

export function randomFilter(random: Random): object {
  const word = random.pick(WORDS);
  const number = random.below(5);
  return random.pick<object>([
    {},
    { n: random.below(6) },
    { n: { $gt: number } },
    { n: { $lte: number + 0.5 } },
    { n: { $not: { $lt: number } } },
    { s: word },
    { s: { $startsWith: 'a' }, n: { $lte: 4 } },
    { s: { $regex: random.pick(PATTERNS) } },
    { s: { $like: random.pick(['*\u{1f600}*', 'Z*', '*']) } },
    { s: { $icontains: random.pick(['Ä', 'z', 'A']) } },
    { s: { $gt: '\uffee' } },
    { v: null },
    { v: { $ne: null } },
    { v: { $exists: random.once(2) } },
    { v: { $gte: random.pick<unknown>([number, word, { $date: DAYS[0] }, true]) } },
    { v: { $in: [null, number, word] } },
    { v: { $type: random.pick(['number', 'date', 'array', 'object', 'binary']) } },
    { d: { $lt: { $date: DAYS[1] } } },
    { d: { $gte: random.pick(['2024', { $date: DAYS[0] }]) } },
    { tags: word },
    { tags: { $size: random.below(3) } },
    { tags: { $all: [word, random.pick(WORDS)] } },
    { tags: { $elemMatch: { $gte: 'b', $lt: '\uffee' } } },
    { o: { $elemMatch: { x: { $gt: number } } } },
    { 'o.x': { $in: [number, word] } },
    { 'o.y': { $lt: 2 } },
    { "['x.y']": random.pick<unknown>([number, null, word]) },
    { "['x.y']['$z']": { $gte: number } },
    { "['x.y']['']": { $ne: word } },
    { "['x.y']": { $elemMatch: { "['$z']": { $lt: 3 } } } },
    { $or: [{ n: random.below(6) }, { v: null }] },
    { $nor: [{ s: { $exists: true } }, { n: { $lt: 2 } }] },
    { id: random.pick(IDS) },
    { id: { $in: [random.pick(IDS), '100', '65a000000000000000000000'] } },
  ]);
}

const SORTS = [
  'n',
  '-n',
  's,-n',
  '-s',
  'o.x',
  '-o.x',
  'v',
  '-v',
  'd',
  '-d,s',
  'tags',
  '-tags',
  'id',
  '-id',
  'o.y,v',
  "['x.y']['$z'],n",
  "-['x.y']['']",
  'o',
];

export function randomQuery(random: Random): LiveQuery {
  return {
    filter: randomFilter(random),
    ...(random.once(2) ? { sort: random.pick(SORTS) } : {}),
    ...(random.once(2) ? { limit: random.once(4) ? 15 : 1 + random.below(5) } : {}),
    ...(random.once(4)
      ? {
          fields: random.pick([
            ['n', 's'],
            ['o.x'],
            ['-tags', '-_meta'],
            ['-v'],
            ['v', 'd'],
            ["['x.y']['$z']"],
            ["-['x.y']['']"],
          ]),
        }
      : {}),
  };
}
