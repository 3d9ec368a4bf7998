/**
 * Random stored documents as BSON bytes, of every type the specification has, with the names and values that break
 * careless code. Written byte by byte, because the driver refuses to write much of what a database can hold.
 * Read them with `BSON.deserialize` where objects are wanted.
 */
import * as bson from '../../src/database/bson-bytes.ts';
import type { Random } from './random.ts';

export interface BsonOptions {
  /**
   * Also what no driver of today writes: text that is not UTF-8, repeated names, dates that no calendar holds,
   * `undefined`, DBPointer. Default false.
   */
  readonly odd?: boolean;
  /** Number-like names, which JavaScript sorts before the others. Default true. */
  readonly numberNames?: boolean;
}

const WORDS = ['a', 'name', 'title', 'b.c', '$where', '$', '', 'Größe', 'ключ', '名前', '😀', 'with "quotes"', 'tab\t'];
const TRAPS = [
  '__proto__',
  'constructor',
  'prototype',
  'toString',
  'hasOwnProperty',
  '_bsontype',
  'id',
  '_meta',
  '_id',
];
const NUMBERS = ['0', '1', '10', '2', '4294967295', '01', '-1'];
const TEXTS = [
  '',
  'plain',
  'Zoë',
  'a\0b',
  '\u0001\u001f\u007f\u0080',
  'C:\\x\\"y"',
  '\u2028\u2029\ufeff',
  '\ufffd',
  '💥🇩🇪',
  '\u{10ffff}\ud7ff\ue000',
];
const DOUBLES = [
  0,
  -0,
  1,
  -1,
  0.1,
  0.30000000000000004,
  19.99,
  1e21,
  1e-7,
  123456.789012,
  5e-324,
  2 ** 53,
  2 ** 53 + 2,
  -(2 ** 53),
  Number.MAX_VALUE,
  Number.NaN,
  Number.POSITIVE_INFINITY,
  Number.NEGATIVE_INFINITY,
  999999999.999999,
  0.000001,
  4.35,
  1e15,
  123456789012345680,
];
const INT64S = [
  0n,
  1n,
  -1n,
  2n ** 53n,
  2n ** 53n + 1n,
  -(2n ** 53n),
  -(2n ** 53n) - 1n,
  2n ** 63n - 1n,
  -(2n ** 63n),
  4294967296n,
];
const DATES = [
  0n,
  -1n,
  1700000000000n,
  253402300799999n,
  253402300800000n,
  -62167219200000n,
  -62167219200001n,
  -62198755200000n,
  8640000000000000n,
  -8640000000000000n,
  951782400000n,
];
const IMPOSSIBLE_DATES = [8640000000000001n, -8640000000000001n, 2n ** 63n - 1n, -(2n ** 63n)];
const DAMAGED_TEXTS = [
  'ff',
  'c3',
  'c328',
  'e28',
  'eda080',
  'f0808080',
  'f4908080',
  'c080',
  '61e282',
  'f09f98',
  '80',
  '61ff2262',
];

const LEGAL = [
  bson.DOUBLE,
  bson.STRING,
  bson.BINARY,
  bson.OBJECT_ID,
  bson.BOOLEAN,
  bson.DATE,
  bson.NULL,
  bson.REGEX,
  bson.CODE,
  bson.SYMBOL,
  bson.CODE_WITH_SCOPE,
  bson.INT32,
  bson.TIMESTAMP,
  bson.INT64,
  bson.DECIMAL128,
  bson.MAX_KEY,
  bson.MIN_KEY,
];
const COMMON = [
  bson.STRING,
  bson.STRING,
  bson.STRING,
  bson.INT32,
  bson.DOUBLE,
  bson.DATE,
  bson.DOCUMENT,
  bson.DOCUMENT,
  bson.ARRAY,
];
const ODD = [bson.UNDEFINED, bson.DB_POINTER];
const MAX_DEPTH = 5;

/** A stored document: mostly with `_id` and `_meta`, sometimes with neither. */
export function randomBson(random: Random, options: BsonOptions = {}): Buffer {
  return new RandomBson(random, options).stored();
}

class RandomBson {
  readonly #random: Random;
  readonly #odd: boolean;
  readonly #numberNames: boolean;

  constructor(random: Random, options: BsonOptions) {
    this.#random = random;
    this.#odd = options.odd ?? false;
    this.#numberNames = options.numberNames ?? true;
  }

  stored(): Buffer {
    const random = this.#random;
    const members = this.#members(1, ['_id', '_meta']);
    if (!random.once(8)) members.push(this.#meta());
    if (!random.once(50)) members.splice(random.once(10) ? random.below(members.length + 1) : 0, 0, this.#id());
    return frame(members);
  }

  #id(): Buffer {
    const common = this.#random.once(2) ? bson.OBJECT_ID : this.#random.pick([...LEGAL, bson.DOCUMENT]);
    return element(common, '_id', new RandomBson(this.#random, {}).#value(common, 3));
  }

  #meta(): Buffer {
    const random = this.#random;
    if (random.once(10)) return this.#element('_meta', 2);
    const members = ['revision', 'createdAt', 'updatedAt', 'createdBy', 'updatedBy', 'by', 'request'].map((name) => {
      const expected = name === 'revision' ? bson.INT32 : name.endsWith('At') ? bson.DATE : bson.STRING;
      const type = random.once(6) ? this.#type(2) : expected;
      return element(type, name, this.#value(type, 3));
    });
    if (random.once(4)) members.splice(random.below(members.length), 1);
    if (random.once(4)) members.reverse();
    return element(bson.DOCUMENT, '_meta', frame(members));
  }

  #members(depth: number, taken: readonly string[]): Buffer[] {
    const random = this.#random;
    const used = new Set(taken);
    const members: Buffer[] = [];
    for (let count = random.below(depth === 1 ? 10 : 5); count > 0; count--) {
      const name = this.#name();
      const repeated = used.has(name) && !(this.#odd && random.once(2));
      if (repeated || taken.includes(name)) continue;
      used.add(name);
      members.push(this.#element(name, depth + 1));
    }
    return members;
  }

  #name(): string {
    const random = this.#random;
    if (random.once(8)) return random.pick(TRAPS);
    if (this.#numberNames && random.once(10)) return random.pick(NUMBERS);
    const word = random.pick(WORDS);
    return random.once(3)
      ? word
      : word +
          random
            .below(1000)
            .toString(36)
            .replace(/^[0-9]/, 'x');
  }

  #element(name: string, depth: number): Buffer {
    const type = this.#type(depth);
    if (this.#odd && this.#random.once(60)) return odd(type, this.#damaged(), this.#value(type, depth));
    return element(type, name, this.#value(type, depth));
  }

  #type(depth: number): number {
    const random = this.#random;
    if (this.#odd && random.once(12)) return random.pick(ODD);
    const type = random.once(2) ? random.pick(COMMON) : random.pick(LEGAL);
    return depth > MAX_DEPTH && (type === bson.DOCUMENT || type === bson.ARRAY) ? bson.NULL : type;
  }

  #damaged(): Buffer {
    return Buffer.from(this.#random.pick(DAMAGED_TEXTS), 'hex');
  }

  #text(): Buffer {
    const random = this.#random;
    if (this.#odd && random.once(15)) return this.#damaged();
    const text = random.pick(TEXTS) + (random.once(2) ? random.pick(TEXTS) : '');
    return Buffer.from(random.once(20) ? text.repeat(1 + random.below(60)) : text);
  }

  #value(type: number, depth: number): Buffer {
    const random = this.#random;
    switch (type) {
      case bson.DOUBLE:
        return float(random.once(2) ? random.pick(DOUBLES) : this.#double());
      case bson.STRING:
      case bson.CODE:
      case bson.SYMBOL:
        return string(this.#text());
      case bson.DOCUMENT:
        return frame(this.#members(depth, ['$ref', '$id']));
      case bson.ARRAY:
        return frame(Array.from({ length: random.below(5) }, (_, index) => this.#element(String(index), depth + 1)));
      case bson.BINARY:
        return this.#binary();
      case bson.OBJECT_ID:
        return random.bytes(12);
      case bson.BOOLEAN:
        return Buffer.from([random.below(2)]);
      case bson.DATE:
        if (this.#odd && random.once(6)) return int64(random.pick(IMPOSSIBLE_DATES));
        return int64(random.once(2) ? random.pick(DATES) : BigInt(random.next()) * BigInt(random.below(2000) - 400));
      case bson.REGEX:
        return Buffer.concat([cstring(this.#text()), cstring(Buffer.from(random.pick(['', 'i', 'im', 'ilmsux'])))]);
      case bson.DB_POINTER:
        return Buffer.concat([string(Buffer.from('things')), random.bytes(12)]);
      case bson.CODE_WITH_SCOPE: {
        const inside = Buffer.concat([string(this.#text()), frame(this.#members(MAX_DEPTH, []))]);
        return Buffer.concat([int32(inside.length + 4), inside]);
      }
      case bson.INT32:
        return int32(random.once(2) ? random.next() | 0 : random.below(2000) - 1000);
      case bson.TIMESTAMP:
        return random.bytes(8);
      case bson.INT64:
        return random.once(3) ? random.bytes(8) : int64(random.pick(INT64S));
      case bson.DECIMAL128:
        return random.once(2)
          ? random.bytes(16)
          : Buffer.concat([int64(BigInt(random.next())), int64(0x303c000000000000n)]);
      default:
        return Buffer.alloc(0);
    }
  }

  /** A decimal of a few places, or any bits at all. */
  #double(): number {
    const random = this.#random;
    if (random.once(2)) return random.bytes(8).readDoubleLE();
    return ((random.next() | 0) * (1 + random.below(1000))) / 10 ** random.below(12);
  }

  #binary(): Buffer {
    const subtype = this.#random.pick([0, 0, 2, 3, 4, 4, 5, 128]);
    const bytes = this.#random.bytes(subtype === 4 && !this.#random.once(4) ? 16 : this.#random.below(40));
    const inner = subtype === 2 ? Buffer.concat([int32(bytes.length), bytes]) : bytes;
    return Buffer.concat([int32(inner.length), Buffer.from([subtype]), inner]);
  }
}

function element(type: number, name: string, value: Buffer): Buffer {
  return odd(type, Buffer.from(name), value);
}

function odd(type: number, name: Buffer, value: Buffer): Buffer {
  return Buffer.concat([Buffer.from([type]), cstring(name), value]);
}

/** A document around its elements. */
export function frame(elements: readonly Buffer[]): Buffer {
  const inside = Buffer.concat(elements);
  return Buffer.concat([int32(inside.length + 5), inside, Buffer.alloc(1)]);
}

/** Text that ends with a 0 and so cannot hold one. */
function cstring(text: Buffer): Buffer {
  return Buffer.concat([text.includes(0) ? text.filter((byte) => byte !== 0) : text, Buffer.alloc(1)]);
}

function string(text: Buffer): Buffer {
  return Buffer.concat([int32(text.length + 1), text, Buffer.alloc(1)]);
}

function int32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeInt32LE(value);
  return bytes;
}

function int64(value: bigint): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeBigInt64LE(BigInt.asIntN(64, value));
  return bytes;
}

function float(value: number): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeDoubleLE(value);
  return bytes;
}
