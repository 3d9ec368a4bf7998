/**
 * Random documents of every BSON type, from small pools so that values coincide: nested arrays, missing fields, numbers
 * of four types that are equal or nearly equal, texts whose order and case are delicate.
 */
import {
  Binary,
  BSONRegExp,
  BSONSymbol,
  Code,
  Decimal128,
  type Document,
  Double,
  Int32,
  Long,
  MaxKey,
  MinKey,
  ObjectId,
  Timestamp,
  UUID,
} from 'bson';
import type { Random } from './random.ts';

export const TEXTS = [
  '',
  'a',
  'A',
  'b',
  'ab',
  'aB',
  'abc',
  'a.c',
  'a*c',
  'k',
  'K',
  '\u212a',
  's',
  'ſ',
  'ß',
  'ẞ',
  'é',
  'É',
  'Σ',
  'ς',
  'a\nb',
  'ab\n',
  'a\0b',
  'a b',
  '\u{1F600}',
  '\u{1F600}b',
  '\uffff',
  '\ue000',
  '\u{10428}',
  '\u{10400}',
  '1',
  'true',
  '2024-01-01T00:00:00.000Z',
];

export const NUMBERS = [
  new Int32(0),
  new Int32(1),
  new Int32(2),
  new Int32(-1),
  new Double(-0),
  new Double(1),
  new Double(0.1),
  new Double(1.5),
  new Double(Number.NaN),
  new Double(Infinity),
  new Double(-Infinity),
  new Double(2 ** 53),
  new Double(2 ** 63),
  new Double(5e-324),
  new Double(1.7976931348623157e308),
  Long.fromNumber(1),
  Long.fromString('9007199254740993'),
  Long.fromString('9223372036854775807'),
  Long.fromString('-9223372036854775808'),
  Decimal128.fromString('1'),
  Decimal128.fromString('1.0'),
  Decimal128.fromString('0.1'),
  Decimal128.fromString('0.1000000000000000055511151231257827'),
  Decimal128.fromString('9007199254740993'),
  Decimal128.fromString('9223372036854775807.5'),
  Decimal128.fromString('-0'),
  Decimal128.fromString('NaN'),
  Decimal128.fromString('Infinity'),
  Decimal128.fromString('1E+6000'),
  Decimal128.fromString('-1E-6000'),
];

export const DATES = [new Date(0), new Date(-1), new Date('2024-01-01T00:00:00.000Z'), new Date(8.64e15)];
export const IDS = ['65a000000000000000000000', '65a000000000000000000001'].map((hex) =>
  ObjectId.createFromHexString(hex),
);
export const BINARIES = [
  new Binary(Buffer.from('')),
  new Binary(Buffer.from('ab')),
  new Binary(Buffer.from('ab'), 128),
  new Binary(Buffer.from('b')),
  new UUID('00112233-4455-6677-8899-aabbccddeeff'),
];

/** Types that documents may contain and filters cannot name. */
const EXOTIC = [
  new MinKey(),
  new MaxKey(),
  new Timestamp({ t: 1, i: 2 }),
  new Timestamp({ t: 0xffffffff, i: 2 }),
  new BSONRegExp('a', 'i'),
  new BSONSymbol('a'),
  new BSONSymbol('kk'),
  new Code('a'),
  new Code('a', { b: 1 }),
];

export const NAMES = ['a', 'b', '0', '1'];

/** Names that a decoder, a class or a prototype could treat specially. */
export const HOSTILE = [
  '$ref',
  '$id',
  '$db',
  '_bsontype',
  '__proto__',
  'constructor',
  'toString',
  'toJSON',
  'toBSON',
  'collection',
  'oid',
  'db',
  'fields',
  'id',
  '_meta',
  '$oid',
  '$date',
  'length',
];

/** A value of any type except array and object. */
export function scalar(random: Random): unknown {
  const kind = random.below(20);
  if (kind < 1) return null;
  if (kind < 3) return random.chance(0.5);
  if (kind < 5) return random.pick(DATES);
  if (kind < 6) return random.pick(IDS);
  if (kind < 7) return random.pick(BINARIES);
  if (kind < 8) return random.pick(EXOTIC);
  return kind < 14 ? random.pick(TEXTS) : random.pick(NUMBERS);
}

/** Any value; arrays and objects nest to `depth`. */
export function value(random: Random, depth = 3): unknown {
  if (depth > 0 && random.chance(0.3)) return random.several(0, 3, () => value(random, depth - 1));
  if (depth > 0 && random.chance(0.3)) return fields(random, depth - 1);
  return scalar(random);
}

/** Names in random order, but whole numbers first: JavaScript keeps no other order for them. */
export function fields(random: Random, depth = 3): Document {
  const object: Document = {};
  for (const name of random.several(0, 3, () => random.pick(NAMES))) object[name] = value(random, depth);
  return object;
}

/** A document's fields: mostly `a` and `b`, so that filters match something. */
export function documentFields(random: Random): Document {
  const object = fields(random);
  for (const name of ['a', 'b']) if (random.chance(0.8)) object[name] = value(random);
  return object;
}

/** An `_id` of any type that can be one. */
export function id(random: Random, number: number): unknown {
  const text = `id${number}`;
  switch (random.below(6)) {
    case 0:
      return ObjectId.createFromTime(number);
    case 1:
      return new Double(number + 0.5);
    case 2:
      return new Date(number);
    case 3:
      return { a: number };
    default:
      return text;
  }
}
