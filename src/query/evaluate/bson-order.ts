/**
 * The order of BSON values: how MongoDB sorts and compares any two, of the same kind or not. It takes decoded values,
 * best with exact types (`promoteValues: false`); plain JavaScript numbers and buffers work as well. Known bound:
 * fields whose names are whole numbers ("7") come first in a JavaScript object, wherever BSON had them.
 */
import type { Code } from 'bson';
import { bsonType, type DbPointerValue, isBsonType } from './bson-types.ts';
import { compareNumbers, isNumber } from './numbers.ts';

/** Kinds in the order in which they sort: the server's canonical types. */
export const BSON_KIND = {
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

export type BsonKind = (typeof BSON_KIND)[keyof typeof BSON_KIND];

/** An embedded document as decoded from BSON. */
export type EmbeddedDocument = Readonly<Record<string, unknown>>;

/**
 * The kind of a value; `undefined` represents a missing one.
 * @throws TypeError for an object of a class that is not a BSON type, such as the driver's DBRef: its fields are not
 * the stored ones, so a result about them would be about another document
 */
export function bsonKindOf(value: unknown): BsonKind {
  switch (typeof value) {
    case 'string':
      return BSON_KIND.string;
    case 'number':
    case 'bigint':
      return BSON_KIND.number;
    case 'boolean':
      return BSON_KIND.boolean;
    case 'object':
      return value === null ? BSON_KIND.null : kindOfObject(value);
    default:
      return BSON_KIND.missing;
  }
}

function kindOfObject(value: object): BsonKind {
  if (Array.isArray(value)) return BSON_KIND.array;
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype === Object.prototype || prototype === null) return BSON_KIND.object;
  if (value instanceof Date) return BSON_KIND.date;
  if (value instanceof Uint8Array) return BSON_KIND.binary;
  if (value instanceof RegExp) return BSON_KIND.regex;
  if (isBsonType(value, 'Code')) return value.scope === null ? BSON_KIND.code : BSON_KIND.codeWithScope;
  const kind = KIND_OF_CLASS.get(bsonType(value));
  if (kind === undefined) throw new TypeError(`A ${value.constructor.name} is not a BSON value`);
  return kind;
}

const KIND_OF_CLASS: ReadonlyMap<unknown, BsonKind> = new Map<unknown, BsonKind>([
  ['Int32', BSON_KIND.number],
  ['Double', BSON_KIND.number],
  ['Long', BSON_KIND.number],
  ['Decimal128', BSON_KIND.number],
  ['ObjectId', BSON_KIND.objectId],
  ['Binary', BSON_KIND.binary],
  ['BSONSymbol', BSON_KIND.string],
  ['Timestamp', BSON_KIND.timestamp],
  ['BSONRegExp', BSON_KIND.regex],
  ['DBPointer', BSON_KIND.pointer],
  ['MinKey', BSON_KIND.minKey],
  ['MaxKey', BSON_KIND.maxKey],
]);

export function isEmbeddedDocument(value: unknown): value is EmbeddedDocument {
  return bsonKindOf(value) === BSON_KIND.object;
}

/**
 * Negative, zero or positive, as the server orders the two. `undefined` represents a missing value and comes before
 * null.
 */
export function compareValues(a: unknown, b: unknown, names: ListFieldNames = Object.keys): number {
  const kind = bsonKindOf(a);
  return kind - bsonKindOf(b) || compareWithin(kind, a, b, names);
}

/** Returns the names of a document's fields. */
export type ListFieldNames = (fields: EmbeddedDocument) => readonly string[];

/** Lists of at least this many names are cached: building them again takes longer than finding them. */
const MANY_NAMES = 16;

/**
 * Names that are listed once for each document, for a large one that is compared with many others: the time to list
 * them grows with the document, though the first field usually decides. The documents must not change meanwhile.
 */
export function cachedFieldNames(): ListFieldNames {
  const kept = new WeakMap<EmbeddedDocument, readonly string[]>();
  return (fields) => {
    const known = kept.get(fields);
    if (known !== undefined) return known;
    const names = Object.keys(fields);
    if (names.length >= MANY_NAMES) kept.set(fields, names);
    return names;
  };
}

/** The same for the documents within one value that never changes, such as the operand of a condition. */
export function precomputedFieldNames(value: unknown): ListFieldNames {
  const kept = new Map<EmbeddedDocument, readonly string[]>();
  const collect = (part: unknown): void => {
    if (Array.isArray(part)) part.forEach(collect);
    if (!isEmbeddedDocument(part)) return;
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
function compareWithin(kind: BsonKind, a: unknown, b: unknown, names: ListFieldNames): number {
  switch (kind) {
    case BSON_KIND.number:
      return isNumber(a) && isNumber(b) ? compareNumbers(a, b) : 0;
    case BSON_KIND.string:
      return compareText(stringOrSymbolText(a), stringOrSymbolText(b));
    case BSON_KIND.object:
      return isEmbeddedDocument(a) && isEmbeddedDocument(b) ? compareFields(a, b, names) : 0;
    case BSON_KIND.array:
      return Array.isArray(a) && Array.isArray(b) ? compareArrays(a, b, names) : 0;
    case BSON_KIND.binary:
      return compareBinary(bytesOf(a), bytesOf(b));
    case BSON_KIND.objectId:
      return isBsonType(a, 'ObjectId') && isBsonType(b, 'ObjectId') ? Buffer.compare(a.id, b.id) : 0;
    case BSON_KIND.boolean:
      return Number(a) - Number(b);
    case BSON_KIND.date:
      return Number(a) - Number(b);
    case BSON_KIND.timestamp:
      return isBsonType(a, 'Timestamp') && isBsonType(b, 'Timestamp') ? a.compare(b) : 0;
    case BSON_KIND.regex:
      return compareRegex(regexOf(a), regexOf(b));
    case BSON_KIND.pointer:
      return isBsonType(a, 'DBPointer') && isBsonType(b, 'DBPointer') ? comparePointers(a, b) : 0;
    case BSON_KIND.code:
    case BSON_KIND.codeWithScope:
      return isBsonType(a, 'Code') && isBsonType(b, 'Code') ? compareCode(a, b, names) : 0;
    case BSON_KIND.missing:
    case BSON_KIND.null:
    case BSON_KIND.minKey:
    case BSON_KIND.maxKey:
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

export const stringOrSymbolText = (value: unknown): string =>
  isBsonType(value, 'BSONSymbol') ? value.value : String(value);

/** Compares field by field: kind, then name, then value. A document that ends first comes first. */
function compareFields(a: EmbeddedDocument, b: EmbeddedDocument, names: ListFieldNames): number {
  const own = names(a);
  const others = names(b);
  const length = Math.min(own.length, others.length);
  for (let i = 0; i < length; i++) {
    const x = own[i] ?? '';
    const y = others[i] ?? '';
    const kind = bsonKindOf(a[x]);
    const order = kind - bsonKindOf(b[y]) || compareText(x, y) || compareWithin(kind, a[x], b[y], names);
    if (order !== 0) return order;
  }
  return own.length - others.length;
}

function compareArrays(a: readonly unknown[], b: readonly unknown[], names: ListFieldNames): number {
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
  if (isBsonType(value, 'Binary')) return { subtype: value.sub_type, bytes: value.value() };
  return { subtype: 0, bytes: value instanceof Uint8Array ? value : new Uint8Array() };
}

const compareBinary = (a: Bytes, b: Bytes): number =>
  a.bytes.length - b.bytes.length || a.subtype - b.subtype || Buffer.compare(a.bytes, b.bytes);

type Regex = readonly [pattern: string, options: string];

function regexOf(value: unknown): Regex {
  if (value instanceof RegExp) return [value.source, value.flags];
  return isBsonType(value, 'BSONRegExp') ? [value.pattern, value.options] : ['', ''];
}

const compareRegex = ([pattern, options]: Regex, [other, others]: Regex): number =>
  compareText(pattern, other) || compareText(options, others);

/** By the length of the collection's name, then by that name, then by the id: the server compares the stored bytes. */
function comparePointers(a: DbPointerValue, b: DbPointerValue): number {
  const [x, y] = [Buffer.from(a.collection), Buffer.from(b.collection)];
  return x.length - y.length || Buffer.compare(x, y) || Buffer.compare(a.id.id, b.id.id);
}

const compareCode = (a: Code, b: Code, names: ListFieldNames): number =>
  compareText(a.code, b.code) || compareValues(a.scope, b.scope, names);
