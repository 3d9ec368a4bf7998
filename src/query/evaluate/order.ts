/**
 * The order of BSON values: how MongoDB sorts and compares any two, of the same kind or not. It takes decoded values,
 * best with exact types (`promoteValues: false`); plain JavaScript numbers and buffers work as well. Known bound:
 * fields whose names are whole numbers ("7") come first in a JavaScript object, wherever BSON had them.
 */
import type { Code } from 'bson';
import { bsonType, isBson, type Pointer } from './bson-types.ts';
import { compareNumbers, isNumber } from './numbers.ts';

/** Kinds in the order in which they sort: the server's canonical types. */
export const KIND = {
  minKey: -1,
  missing: 0,
  null: 5,
  number: 10,
  string: 15,
  object: 20,
  array: 25,
  binary: 30,
  objectId: 35,
  boolean: 40,
  date: 45,
  timestamp: 47,
  regex: 50,
  pointer: 55,
  code: 60,
  codeWithScope: 65,
  maxKey: 127,
} as const;

export type Kind = (typeof KIND)[keyof typeof KIND];

/** An embedded document as decoded from BSON. */
export type Fields = Readonly<Record<string, unknown>>;

/**
 * The kind of a value; `undefined` represents a missing one.
 * @throws TypeError for an object of a class that is not a BSON type, such as the driver's DBRef: its fields are not
 * the stored ones, so a result about them would be about another document
 */
export function kindOf(value: unknown): Kind {
  switch (typeof value) {
    case 'string':
      return KIND.string;
    case 'number':
    case 'bigint':
      return KIND.number;
    case 'boolean':
      return KIND.boolean;
    case 'object':
      return value === null ? KIND.null : kindOfObject(value);
    default:
      return KIND.missing;
  }
}

function kindOfObject(value: object): Kind {
  if (Array.isArray(value)) return KIND.array;
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype === Object.prototype || prototype === null) return KIND.object;
  if (value instanceof Date) return KIND.date;
  if (value instanceof Uint8Array) return KIND.binary;
  if (value instanceof RegExp) return KIND.regex;
  if (isBson(value, 'Code')) return value.scope === null ? KIND.code : KIND.codeWithScope;
  const kind = KIND_OF_CLASS.get(bsonType(value));
  if (kind === undefined) throw new TypeError(`A ${value.constructor.name} is not a BSON value`);
  return kind;
}

const KIND_OF_CLASS: ReadonlyMap<unknown, Kind> = new Map<unknown, Kind>([
  ['Int32', KIND.number],
  ['Double', KIND.number],
  ['Long', KIND.number],
  ['Decimal128', KIND.number],
  ['ObjectId', KIND.objectId],
  ['Binary', KIND.binary],
  ['BSONSymbol', KIND.string],
  ['Timestamp', KIND.timestamp],
  ['BSONRegExp', KIND.regex],
  ['DBPointer', KIND.pointer],
  ['MinKey', KIND.minKey],
  ['MaxKey', KIND.maxKey],
]);

export function isFields(value: unknown): value is Fields {
  return kindOf(value) === KIND.object;
}

/**
 * Negative, zero or positive, as the server orders the two. `undefined` represents a missing value and comes before
 * null.
 */
export function compareValues(a: unknown, b: unknown, names: NamesOf = Object.keys): number {
  const kind = kindOf(a);
  return kind - kindOf(b) || compareWithin(kind, a, b, names);
}

/** Returns the names of a document's fields. */
export type NamesOf = (fields: Fields) => readonly string[];

/** Lists of at least this many names are cached: building them again takes longer than finding them. */
const MANY_NAMES = 16;

/**
 * Names that are listed once for each document, for a large one that is compared with many others: the time to list
 * them grows with the document, though the first field usually decides. The documents must not change meanwhile.
 */
export function keptNames(): NamesOf {
  const kept = new WeakMap<Fields, readonly string[]>();
  return (fields) => {
    const known = kept.get(fields);
    if (known !== undefined) return known;
    const names = Object.keys(fields);
    if (names.length >= MANY_NAMES) kept.set(fields, names);
    return names;
  };
}

/** The same for the documents within one value that never changes, such as the operand of a condition. */
export function namesWithin(value: unknown): NamesOf {
  const kept = new Map<Fields, readonly string[]>();
  const collect = (part: unknown): void => {
    if (Array.isArray(part)) part.forEach(collect);
    if (!isFields(part)) return;
    const names = Object.keys(part);
    if (names.length >= MANY_NAMES) kept.set(part, names);
    for (const name of names) collect(part[name]);
  };
  collect(value);
  return kept.size === 0 ? Object.keys : (fields) => kept.get(fields) ?? Object.keys(fields);
}

export function equalValues(a: unknown, b: unknown): boolean {
  return a === b || compareValues(a, b) === 0;
}

/** Compares two values of this kind. */
function compareWithin(kind: Kind, a: unknown, b: unknown, names: NamesOf): number {
  switch (kind) {
    case KIND.number:
      return isNumber(a) && isNumber(b) ? compareNumbers(a, b) : 0;
    case KIND.string:
      return compareText(textOf(a), textOf(b));
    case KIND.object:
      return isFields(a) && isFields(b) ? compareFields(a, b, names) : 0;
    case KIND.array:
      return Array.isArray(a) && Array.isArray(b) ? compareArrays(a, b, names) : 0;
    case KIND.binary:
      return compareBinary(bytesOf(a), bytesOf(b));
    case KIND.objectId:
      return isBson(a, 'ObjectId') && isBson(b, 'ObjectId') ? Buffer.compare(a.id, b.id) : 0;
    case KIND.boolean:
      return Number(a) - Number(b);
    case KIND.date:
      return Number(a) - Number(b);
    case KIND.timestamp:
      return isBson(a, 'Timestamp') && isBson(b, 'Timestamp') ? a.compare(b) : 0;
    case KIND.regex:
      return compareRegex(regexOf(a), regexOf(b));
    case KIND.pointer:
      return isBson(a, 'DBPointer') && isBson(b, 'DBPointer') ? comparePointers(a, b) : 0;
    case KIND.code:
    case KIND.codeWithScope:
      return isBson(a, 'Code') && isBson(b, 'Code') ? compareCode(a, b, names) : 0;
    case KIND.missing:
    case KIND.null:
    case KIND.minKey:
    case KIND.maxKey:
      return 0;
    default:
      return kind satisfies never;
  }
}

/**
 * By code point, as the server compares UTF-8 bytes. JavaScript compares UTF-16 units, which puts U+10000 and above
 * (surrogate pairs) before U+E000 to U+FFFF.
 */
export function compareText(a: string, b: string): number {
  if (a === b) return 0;
  const length = Math.min(a.length, b.length);
  for (let i = 0; i < length; i++) {
    const x = a.charCodeAt(i);
    const y = b.charCodeAt(i);
    if (x !== y) return inCodePointOrder(x) - inCodePointOrder(y);
  }
  return a.length - b.length;
}

/** A UTF-16 unit's rank: surrogates come after all the rest. */
function inCodePointOrder(unit: number): number {
  if (unit < 0xd800) return unit;
  return unit < 0xe000 ? unit + 0x2000 : unit - 0x800;
}

export const textOf = (value: unknown): string => (isBson(value, 'BSONSymbol') ? value.value : String(value));

/** Compares field by field: kind, then name, then value. A document that ends first comes first. */
function compareFields(a: Fields, b: Fields, names: NamesOf): number {
  const own = names(a);
  const others = names(b);
  const length = Math.min(own.length, others.length);
  for (let i = 0; i < length; i++) {
    const x = own[i] ?? '';
    const y = others[i] ?? '';
    const kind = kindOf(a[x]);
    const order = kind - kindOf(b[y]) || compareText(x, y) || compareWithin(kind, a[x], b[y], names);
    if (order !== 0) return order;
  }
  return own.length - others.length;
}

function compareArrays(a: readonly unknown[], b: readonly unknown[], names: NamesOf): number {
  const length = Math.min(a.length, b.length);
  for (let i = 0; i < length; i++) {
    const order = compareValues(a[i], b[i], names);
    if (order !== 0) return order;
  }
  return a.length - b.length;
}

interface Bytes {
  readonly subtype: number;
  readonly bytes: Uint8Array;
}

function bytesOf(value: unknown): Bytes {
  if (isBson(value, 'Binary')) return { subtype: value.sub_type, bytes: value.value() };
  return { subtype: 0, bytes: value instanceof Uint8Array ? value : new Uint8Array() };
}

const compareBinary = (a: Bytes, b: Bytes): number =>
  a.bytes.length - b.bytes.length || a.subtype - b.subtype || Buffer.compare(a.bytes, b.bytes);

type Regex = readonly [pattern: string, options: string];

function regexOf(value: unknown): Regex {
  if (value instanceof RegExp) return [value.source, value.flags];
  return isBson(value, 'BSONRegExp') ? [value.pattern, value.options] : ['', ''];
}

const compareRegex = ([pattern, options]: Regex, [other, others]: Regex): number =>
  compareText(pattern, other) || compareText(options, others);

/** By the length of the collection's name, then by that name, then by the id: the server compares the stored bytes. */
function comparePointers(a: Pointer, b: Pointer): number {
  const [x, y] = [Buffer.from(a.collection), Buffer.from(b.collection)];
  return x.length - y.length || Buffer.compare(x, y) || Buffer.compare(a.id.id, b.id.id);
}

const compareCode = (a: Code, b: Code, names: NamesOf): number =>
  compareText(a.code, b.code) || compareValues(a.scope, b.scope, names);
