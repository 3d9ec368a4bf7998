/**
 * MongoDB Extended JSON for ids that have no simpler text (ids.ts), with plain numbers if they are exact. The driver's
 * own reader is not used: it makes a DBRef of a document with fields `$ref` and `$id`, interprets a field `_bsontype`,
 * and fails on some binaries. A text that is read here is written back as the same text; nothing else is guaranteed.
 * @see https://github.com/mongodb/specifications/blob/master/source/extended-json/extended-json.md
 */
import {
  Binary,
  BSON,
  BSONRegExp,
  BSONSymbol,
  Code,
  Decimal128,
  Double,
  Int32,
  Long,
  MaxKey,
  MinKey,
  ObjectId,
  Timestamp,
} from 'mongodb';
import { parseJsonExactNames } from '../../lib/exact-json.ts';
import { isPlainObject, setField } from '../../lib/plain-object.ts';
import { DbPointer } from '../bson/db-pointer.ts';

/**
 * Maximum nesting of an id: the server stores 180 levels, including the document itself, and fails on queries with more
 * than 200.
 */
const MAX_ID_DEPTH = 179;

/** A value as Extended JSON text. In each document number-like names come first, as in every JavaScript object. */
export function writeExtendedJson(value: unknown): string {
  return JSON.stringify(toTree(value));
}

/**
 * Reads what {@link writeExtendedJson} wrote. Documents become Maps, which the driver writes with any names.
 * @throws Error if the text is not JSON, or is nested more deeply than an id can be
 */
export function parseExtendedJson(text: string): unknown {
  return fromTree(parseJsonExactNames(text), 1);
}

function toTree(value: unknown): unknown {
  if (value === null || typeof value === 'string' || typeof value === 'boolean') return value;
  if (Array.isArray(value)) return value.map(toTree);
  if (value instanceof Map) return fieldsToTree(value);
  if (isPlainObject(value)) return fieldsToTree(Object.entries(value));
  if (value instanceof Code) {
    return value.scope ? { $code: String(value.code), $scope: toTree(value.scope) } : { $code: String(value.code) };
  }
  if (value instanceof DbPointer) return { $dbPointer: { $ref: value.collection, $id: toTree(value.id) } };
  if (value instanceof Binary) {
    const base64 = Buffer.from(value.value()).toString('base64');
    return { $binary: { base64, subType: value.sub_type.toString(16).padStart(2, '0') } };
  }
  const number = exactNumber(value);
  if (number !== null) return number;
  const typed = typeof value === 'number' ? new Double(value) : value;
  return BSON.EJSON.serialize([typed], { relaxed: false })[0];
}

function fieldsToTree(fields: Iterable<readonly [string, unknown]>): Record<string, unknown> {
  const tree: Record<string, unknown> = {};
  for (const [name, value] of fields) setField(tree, name, toTree(value));
  return tree;
}

/** The JavaScript number that has exactly this value and is read back as an equal one, or null. */
function exactNumber(value: unknown): number | null {
  const wrapped = value instanceof Int32 || value instanceof Double ? value.value : value;
  if (wrapped instanceof Long && !(wrapped instanceof Timestamp)) {
    const number = wrapped.toNumber();
    return Number.isSafeInteger(number) ? number : null;
  }
  if (typeof wrapped !== 'number' || !Number.isFinite(wrapped)) return null;
  return Number.isInteger(wrapped) && !Number.isSafeInteger(wrapped) ? null : wrapped + 0;
}

function fromTree(tree: unknown, depth: number): unknown {
  if (typeof tree !== 'object' || tree === null) return tree;
  if (depth > MAX_ID_DEPTH) throw new Error('The value is nested too deeply');
  if (Array.isArray(tree)) return tree.map((item) => fromTree(item, depth + 1));
  if (!isPlainObject(tree)) return null;
  return codeOf(tree, depth) ?? typedOf(tree) ?? documentOf(tree, depth);
}

function documentOf(tree: Readonly<Record<string, unknown>>, depth: number): ReadonlyMap<string, unknown> {
  return new Map(Object.entries(tree).map(([name, value]) => [name, fromTree(value, depth + 1)]));
}

function codeOf(tree: Readonly<Record<string, unknown>>, depth: number): Code | null {
  const { $code: code, $scope: scope } = tree;
  const names = Object.keys(tree).join();
  if (typeof code !== 'string') return null;
  if (names === '$code') return new Code(code);
  // The scope may be a Map: the driver writes it like every other document.
  return names === '$code,$scope' && isPlainObject(scope) ? new Code(code, documentOf(scope, depth + 1)) : null;
}

/** Reads a value of a type, from the text or from the fields after the type's name. */
type TypeReader = (text: string, fields: Readonly<Record<string, unknown>>) => unknown;

/** Every type but code. */
const TYPES: ReadonlyMap<string, TypeReader> = new Map<string, TypeReader>([
  ['$oid', (hex) => ObjectId.createFromHexString(hex)],
  ['$symbol', (text) => new BSONSymbol(text)],
  ['$numberDouble', (digits) => new Double(Number(digits))],
  ['$numberLong', (digits) => Long.fromString(digits)],
  ['$numberDecimal', (digits) => Decimal128.fromString(digits)],
  ['$date', (_, { $numberLong }) => new Date(Number($numberLong))],
  [
    '$binary',
    (_, { base64, subType }) => new Binary(Buffer.from(String(base64), 'base64'), Number.parseInt(String(subType), 16)),
  ],
  ['$regularExpression', (_, { pattern, options }) => new BSONRegExp(String(pattern), String(options))],
  ['$timestamp', (_, { t, i }) => new Timestamp({ t: Number(t), i: Number(i) })],
  ['$minKey', () => new MinKey()],
  ['$maxKey', () => new MaxKey()],
]);

/** The typed value of an object such as `{"$oid": "…"}`; null for any other object. */
function typedOf(tree: Readonly<Record<string, unknown>>): unknown {
  const [name, ...others] = Object.keys(tree);
  const read = name === undefined || others.length > 0 ? undefined : TYPES.get(name);
  if (name === undefined || read === undefined) return null;
  const said = tree[name];
  try {
    const value = read(typeof said === 'string' ? said : '', isPlainObject(said) ? said : {});
    return writeExtendedJson(value) === JSON.stringify(tree) ? value : null;
  } catch {
    return null;
  }
}
