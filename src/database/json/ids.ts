/** Ids: how any `_id` that the database can store is written as text, and which ids a text may mean. */
import { Binary, BSON, BSONRegExp, Decimal128, Double, Int32, Long, ObjectId, Timestamp, UUID } from 'mongodb';
import { MillraceError } from '../../lib/errors.ts';
import { parseExtendedJson, writeExtendedJson } from './extended-json.ts';
import { binaryText, dateText } from './wire-values.ts';

const CANONICAL_OBJECT_ID = /^[0-9a-f]{24}$/;
const OBJECT_ID = /^[0-9a-fA-F]{24}$/;
/** Names of present or future routes below a collection, such as `_changes`. */
const ROUTE_NAME = /^_[a-z]{1,20}$/;
/** An id that a client may choose: as long as those of the usual generators, which may begin with an underscore. */
export const NEW_ID_PATTERN = /^(?!_[a-z]{1,20}$)[A-Za-z0-9._~-]{1,128}$/;
const UUID_TEXT = /^[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$/;
const NUMBER = /^(?:-?[0-9][0-9.eE+-]*|-?Infinity|NaN)$/;
const ISO_DATE = /^(?:\d{4}|[+-]\d{6})-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;
const BASE64 = /^(?:[A-Za-z0-9+/]{4})+$|^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)$/;
/**
 * Names with `$` that the server allows in an id that is a document. It treats them as fields, not as operators, if
 * `$ref` and `$id` come first.
 */
const REFERENCE: ReadonlySet<string> = new Set(['$ref', '$id', '$db']);

/**
 * The text of an `_id`, returned as `id`. Strings, ObjectIds, numbers, UUIDs, dates, plain binary, booleans and null
 * are written as clients see such values; everything else as MongoDB Extended JSON (with plain numbers if they are
 * exact), so that {@link idCandidates} can read it back.
 */
export function idText(id: unknown): string {
  if (typeof id === 'string') return id;
  if (id instanceof ObjectId) return id.toHexString();
  if (id === null || id === undefined) return 'null';
  if (typeof id === 'boolean' || typeof id === 'bigint') return String(id);
  if (typeof id === 'number') return String(id + 0);
  if (id instanceof Int32 || id instanceof Double) return String(id.value + 0);
  if (id instanceof Date) return dateText(id) ?? 'null';
  if (id instanceof Timestamp) return writeExtendedJson(id);
  if (id instanceof Long || id instanceof Decimal128) return id.toString();
  if (id instanceof Binary && hasNaturalText(id)) return binaryText(id);
  if (id instanceof Uint8Array) return Buffer.from(id).toString('base64');
  return writeExtendedJson(id);
}

/**
 * The id that is tried first for a text in a URL: an ObjectId for 24 lower-case hex digits, otherwise the string
 * itself.
 */
export function idFromText(text: string): ObjectId | string {
  return CANONICAL_OBJECT_ID.test(text) ? ObjectId.createFromHexString(text) : text;
}

/** The id that a client chose for a new document. @throws MillraceError `invalid-id` */
export function parseNewId(value: unknown): ObjectId | string {
  if (typeof value === 'string' && NEW_ID_PATTERN.test(value)) return idFromText(value);
  if (typeof value === 'string' && ROUTE_NAME.test(value)) {
    throw new MillraceError('invalid-id', `The id '${value}' has the form of a route such as '_changes'`, {
      hint: 'An underscore and 1 to 20 lower-case letters are reserved for routes. Any other character makes it an id.',
    });
  }
  throw new MillraceError('invalid-id', 'The id is not allowed', {
    hint: 'An id is a string of 1 to 128 of A-Z a-z 0-9 . _ ~ -',
  });
}

/**
 * Further `_id` values that the text may mean, the most likely first: string, ObjectId, numbers, UUID, date, then
 * binary, boolean, null and Extended JSON. Hex digits of an ObjectId or UUID may be upper or lower case; every other
 * value must print as exactly this text. For most texts the list is empty, so most misses cost no second query.
 * Documents with number-like names that do not come first and sorted are not found.
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
    const value = parseExtendedJson(text);
    // In a query, a regular expression would match many ids instead of being one; so would an operator.
    if (value instanceof BSONRegExp || (value instanceof Map && isOperator([...value.keys()]))) return [];
    // Some values the driver cannot write. Then it must fail here and not in the query.
    BSON.serialize({ value });
    return idText(value) === text ? [value] : [];
  } catch {
    return []; // Not Extended JSON, so it is no id of that form.
  }
}

/**
 * Whether the server would read a document with these names as operators: names with `$`, except those of a reference.
 */
function isOperator(names: readonly string[]): boolean {
  const reference = names[0] === '$ref' && names[1] === '$id';
  return names.some((name) => name.startsWith('$') && !(reference && REFERENCE.has(name)));
}

function hasNaturalText(binary: Binary): boolean {
  return (
    binary.sub_type === Binary.SUBTYPE_DEFAULT || (binary.sub_type === Binary.SUBTYPE_UUID && binary.length() === 16)
  );
}

/** An id for a document that was sent without one. */
export function newId(): ObjectId {
  return new ObjectId();
}
