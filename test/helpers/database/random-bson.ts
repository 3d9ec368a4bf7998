/**
 * Random stored documents as BSON bytes, of every type in the specification, with names and values that break careless
 * code. Written byte by byte, because the driver refuses to write many documents that a database can contain. To decode
 * them use `readStored`: the driver would turn some of them into objects of its own.
 */
import * as bson from '../../../src/database/bson/bson-bytes.ts';
import type { Random } from '../random.ts';
import {
  DAMAGED_TEXTS,
  DATES,
  DOUBLES,
  IMPOSSIBLE_DATES,
  INT64S,
  NUMBERS,
  TEXTS,
  TRAPS,
  WORDS,
} from './bson-choices.ts';
import { cstring, element, float, frame, int32, int64, string } from './bson-parts.ts';

export interface BsonOptions {
  /**
   * Whether to include what today's drivers do not write: text that is not UTF-8, repeated names, dates out of range,
   * `undefined`, DBPointer. Default false.
   */
  readonly odd?: boolean;
  /** Whether to include number-like names, which JavaScript sorts before the others. Default true. */
  readonly numberNames?: boolean;
}

const LEGAL = [
  bson.DOUBLE,
  bson.STRING,
  bson.BINARY,
  bson.OBJECT_ID,
  bson.BOOLEAN,
  bson.DATE,
  bson.NULL,
  bson.REGEX,
  bson.JAVASCRIPT,
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
    const fields = this.#fields(1, ['_id', '_meta']);
    if (!random.once(8)) fields.push(this.#meta());
    if (!random.once(50)) fields.splice(random.once(10) ? random.below(fields.length + 1) : 0, 0, this.#id());
    return frame(fields);
  }

  #id(): Buffer {
    const common = this.#random.once(2) ? bson.OBJECT_ID : this.#random.pick([...LEGAL, bson.DOCUMENT]);
    return element(common, '_id', new RandomBson(this.#random, { numberNames: false }).#value(common, 3));
  }

  #meta(): Buffer {
    const random = this.#random;
    if (random.once(10)) return this.#element('_meta', 2);
    const fields = ['revision', 'createdAt', 'updatedAt', 'createdBy', 'updatedBy', 'by', 'request'].map((name) => {
      const expected = name === 'revision' ? bson.INT32 : name.endsWith('At') ? bson.DATE : bson.STRING;
      const type = random.once(6) ? this.#type(2) : expected;
      return element(type, name, this.#value(type, 3));
    });
    if (random.once(4)) fields.splice(random.below(fields.length), 1);
    if (random.once(4)) fields.reverse();
    return element(bson.DOCUMENT, '_meta', frame(fields));
  }

  #fields(depth: number, taken: readonly string[]): Buffer[] {
    const random = this.#random;
    const used = new Set(taken);
    const fields: Buffer[] = [];
    if (random.once(12)) {
      // The driver turns a document with these two members into a DBRef, wherever they are.
      fields.push(element(bson.STRING, '$ref', string(this.#text())), this.#element('$id', depth + 1));
      for (const name of ['$ref', '$id']) used.add(name);
    }
    for (let count = random.below(depth === 1 ? 9 : 4); count > 0; count--) {
      const name = this.#name();
      const repeated = used.has(name) && !(this.#odd && random.once(2));
      if (repeated || taken.includes(name)) continue;
      used.add(name);
      fields.push(this.#element(name, depth + 1));
    }
    return fields;
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
    if (this.#odd && this.#random.once(60)) return element(type, this.#damaged(), this.#value(type, depth));
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
    return Buffer.from(random.once(40) ? text.repeat(1 + random.below(60)) : text);
  }

  #value(type: number, depth: number): Buffer {
    const random = this.#random;
    switch (type) {
      case bson.DOUBLE:
        return float(random.once(2) ? random.pick(DOUBLES) : this.#double());
      case bson.STRING:
      case bson.JAVASCRIPT:
      case bson.SYMBOL:
        return string(this.#text());
      case bson.DOCUMENT:
        return frame(this.#fields(depth, []));
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
        const inside = Buffer.concat([string(this.#text()), frame(this.#fields(MAX_DEPTH, []))]);
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

  /** A decimal with a few digits after the point, or a double of random bits. */
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
