/**
 * Ids: how any `_id` the database can hold is written as text, and how that text finds it again. Nothing here asks the
 * database; the order in which forms are tried is the caller's query.
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
  ObjectId,
  Timestamp,
  UUID,
} from 'mongodb';
import { MillraceError } from '../../kernel/errors.ts';
import { isPlain, setMember } from '../../kernel/objects.ts';
import { binaryText, dateText, valueToWire } from './wire-values.ts';

const CANONICAL_OBJECT_ID = /^[0-9a-f]{24}$/;
const OBJECT_ID = /^[0-9a-fA-F]{24}$/;
/** An id that a client may choose. */
export const NEW_ID = /^[A-Za-z0-9.~-][A-Za-z0-9._~-]{0,127}$/;
const UUID_TEXT = /^[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$/;
const NUMBER = /^(?:-?[0-9][0-9.eE+-]*|-?Infinity|NaN)$/;
const ISO_DATE = /^(?:\d{4}|[+-]\d{6})-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;
const EXTENDED_BINARY = /^\{"\$binary":\{"base64":"([A-Za-z0-9+/=]*)","subType":"([0-9a-f]{2})"\}\}$/;
const BASE64 = /^(?:[A-Za-z0-9+/]{4})+$|^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)$/;

/**
 * The text of an `_id`, shown as `id`. Strings, ObjectIds, numbers, UUIDs, dates, plain binary, booleans and null have
 * their natural text; everything else is MongoDB Extended JSON, with plain numbers where they are exact, so that
 * {@link idCandidates} can read it back.
 */
export function idText(id: unknown): string {
  if (typeof id === 'string') return id;
  if (id instanceof ObjectId) return id.toHexString();
  if (id === null || id === undefined) return 'null';
  if (typeof id === 'boolean' || typeof id === 'bigint') return String(id);
  if (typeof id === 'number') return String(id + 0);
  if (id instanceof Int32 || id instanceof Double) return String(id.value + 0);
  if (id instanceof Date) return dateText(id) ?? 'null';
  if (id instanceof Timestamp) return extendedText(id);
  if (id instanceof Long || id instanceof Decimal128) return id.toString();
  if (id instanceof Binary && hasNaturalText(id)) return binaryText(id);
  if (id instanceof Uint8Array) return Buffer.from(id).toString('base64');
  return extendedText(id);
}

/** The form an id in a URL is asked for first: an ObjectId for 24 lower-case hex digits, else the string itself. */
export function idFromText(text: string): ObjectId | string {
  return CANONICAL_OBJECT_ID.test(text) ? ObjectId.createFromHexString(text) : text;
}

/**
 * The id a client chose for a new document.
 * @throws MillraceError `invalid-id`
 */
export function parseNewId(value: unknown): ObjectId | string {
  if (typeof value === 'string' && NEW_ID.test(value)) return idFromText(value);
  throw new MillraceError('invalid-id', 'The id is not allowed', {
    hint: 'An id is a string of 1 to 128 of A-Z a-z 0-9 . _ ~ - and does not start with an underscore.',
  });
}

/**
 * The further `_id` values that the text may stand for, in the order to prefer them: string, ObjectId, numbers, UUID,
 * date, then binary, boolean, null and Extended JSON. Hex digits of an ObjectId or UUID may be of either case; every
 * other form must print as exactly this text. Empty for most texts, so that most misses cost no second query. Not
 * found are ids that are code with a scope, and documents with a member `_bsontype` or with number-like names that do
 * not come first and sorted.
 */
export function idCandidates(text: string): unknown[] {
  const found: unknown[] = [];
  if (CANONICAL_OBJECT_ID.test(text)) found.push(text);
  else if (OBJECT_ID.test(text)) found.push(ObjectId.createFromHexString(text.toLowerCase()));
  found.push(...numbers(text).filter((number) => idText(number) === text));
  if (UUID_TEXT.test(text)) found.push(new UUID(text));
  if (ISO_DATE.test(text) && dateText(new Date(text)) === text) found.push(new Date(text));
  if (BASE64.test(text)) {
    const binary = new Binary(Buffer.from(text, 'base64'));
    if (idText(binary) === text) found.push(binary);
  }
  if (text === 'true' || text === 'false') found.push(text === 'true');
  if (text === 'null') found.push(null);
  if (text.startsWith('{')) found.push(...extended(text));
  return found;
}

/** MongoDB compares numbers across types, so a double finds an equal int32, int64 and Decimal128. */
function numbers(text: string): unknown[] {
  if (!NUMBER.test(text)) return [];
  const double = Number(text);
  if (String(double) === text && (!Number.isFinite(double) || Number.isSafeInteger(double))) return [double];
  const integer = /^-?[0-9]+$/.test(text) ? BigInt(text) : null;
  const long = integer !== null && BigInt.asIntN(64, integer) === integer ? [Long.fromBigInt(integer)] : [];
  return [double, ...long, ...decimals(text)];
}

function decimals(text: string): Decimal128[] {
  try {
    return [Decimal128.fromString(text)];
  } catch {
    return []; // More than 34 digits, or not a number after all.
  }
}

function extended(text: string): unknown[] {
  try {
    const value = parseExtended(text);
    // A pattern would match many ids instead of being one, and so would an operator.
    if (value instanceof BSONRegExp || value instanceof RegExp) return [];
    if (isPlain(value) && Object.keys(value).some((key) => key.startsWith('$'))) return [];
    // The driver throws on some documents, such as one with a member _bsontype; better here than in the query.
    BSON.serialize({ value });
    return idText(value) === text ? [value] : [];
  } catch {
    return []; // Not Extended JSON, so it is no id of that form.
  }
}

/**
 * Reads Extended JSON. Binaries of subtype 4 that are no UUID would make the driver's parser fail, wherever they stand:
 * it is given a symbol in their place, and they are put back.
 */
function parseExtended(text: string): unknown {
  const odd = new Map<string, Binary>();
  const mark = `binary-${text.length}-`;
  const tree: unknown = JSON.parse(text, (_name, value: unknown) => {
    const binary = readBinary(value);
    if (binary === null || binary.sub_type !== Binary.SUBTYPE_UUID || binary.length() === 16) return value;
    odd.set(`${mark}${odd.size}`, binary);
    return { $symbol: `${mark}${odd.size - 1}` };
  });
  const read: unknown = BSON.EJSON.parse(JSON.stringify(tree), { relaxed: false });
  return odd.size === 0 ? read : putBack(read, odd);
}

function readBinary(value: unknown): Binary | null {
  if (!isPlain(value) || Object.keys(value).length !== 1) return null;
  const [, base64, subtype] = EXTENDED_BINARY.exec(JSON.stringify(value)) ?? [];
  if (base64 === undefined || subtype === undefined) return null;
  return new Binary(Buffer.from(base64, 'base64'), Number.parseInt(subtype, 16));
}

function putBack(value: unknown, odd: ReadonlyMap<string, Binary>): unknown {
  if (value instanceof BSONSymbol) return odd.get(value.value) ?? value;
  if (Array.isArray(value)) return value.map((item: unknown) => putBack(item, odd));
  if (value instanceof Code && isPlain(value.scope)) return new Code(value.code, membersPutBack(value.scope, odd));
  return isPlain(value) ? membersPutBack(value, odd) : value;
}

function membersPutBack(
  value: Readonly<Record<string, unknown>>,
  odd: ReadonlyMap<string, Binary>,
): Record<string, unknown> {
  const members: Record<string, unknown> = {};
  for (const name of Object.keys(value)) setMember(members, name, putBack(value[name], odd));
  return members;
}

function extendedText(id: unknown): string {
  try {
    return JSON.stringify(toExtended(id));
  } catch {
    // The driver refuses some scopes of code. Such an id is shown, so that its document is, but not found by its text.
    return JSON.stringify(valueToWire(id));
  }
}

function toExtended(value: unknown): unknown {
  if (value === null || typeof value === 'string' || typeof value === 'boolean') return value;
  if (Array.isArray(value)) return value.map(toExtended);
  if (isPlain(value)) {
    const members: Record<string, unknown> = {};
    for (const key of Object.keys(value)) setMember(members, key, toExtended(value[key]));
    return members;
  }
  const number = exactNumber(value);
  if (number !== null) return number;
  const typed = typeof value === 'number' ? new Double(value) : value;
  return BSON.EJSON.serialize([typed], { relaxed: false })[0];
}

/** The JavaScript number that says the value exactly and is read back as an equal one, or null. */
function exactNumber(value: unknown): number | null {
  const wrapped = value instanceof Int32 || value instanceof Double ? value.value : value;
  if (wrapped instanceof Long && !(wrapped instanceof Timestamp)) {
    const number = wrapped.toNumber();
    return Number.isSafeInteger(number) ? number : null;
  }
  if (typeof wrapped !== 'number' || !Number.isFinite(wrapped)) return null;
  return Number.isInteger(wrapped) && !Number.isSafeInteger(wrapped) ? null : wrapped + 0;
}

function hasNaturalText(binary: Binary): boolean {
  return (
    binary.sub_type === Binary.SUBTYPE_DEFAULT || (binary.sub_type === Binary.SUBTYPE_UUID && binary.length() === 16)
  );
}

/** An id for a document that brings none. */
export function newId(): ObjectId {
  return new ObjectId();
}
