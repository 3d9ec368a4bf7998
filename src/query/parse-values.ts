/**
 * Possible meanings of a client's values: the typing rules of short values, and the two paths at which a text can mean
 * something else (the id and the times in `_meta`).
 */
import { Long, ObjectId, UUID } from 'bson';
import { MillraceError } from '../lib/errors.ts';
import { isMetaTimePath } from './field-paths.ts';
import { type BsonValue, type GenericBsonValue, Variable } from './filter.ts';
import { parseTextOrVariable, requireWellFormedText } from './parse-variables.ts';

export type UnboundValue = GenericBsonValue<Variable>;

/** The values that a short value may equal, and those for comparisons of order. One match in a list is enough. */
export interface ValueInterpretations {
  readonly equal: readonly UnboundValue[];
  readonly ordered: readonly UnboundValue[];
}

const NUMBER = /^-?(?:0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?$/;
const ISO_8601 = /^((?:\d{4}|[+-]\d{6})-\d\d-\d\d)(?:(T\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?)(Z|[+-]\d\d:\d\d)?)?$/;
const OBJECT_ID = /^[0-9a-f]{24}$/i;
const UUID_TEXT = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/**
 * Parses one short value. `"quoted"` is a string; `true`, `false`, `null` and numbers are parsed as such; a date in ISO
 * 8601 represents the date and the text; `$name` is a variable; anything else is a string.
 * @throws MillraceError `invalid-filter`
 */
export function parseShortValue(text: string): ValueInterpretations {
  if (text.startsWith('"')) return one(unquote(text));
  if (text === 'null') return one(null);
  // Documents that came as JSON may contain the same value as a text, so equality accepts both.
  if (text === 'true' || text === 'false') return { equal: [text === 'true', text], ordered: [text === 'true'] };
  const number = readNumber(text);
  if (number !== null) return { equal: [number, text], ordered: [number] };
  const date = readDate(text);
  if (date !== null) return { equal: [text, date], ordered: [text, date] };
  return one(parseTextOrVariable(text));
}

const one = (value: UnboundValue): ValueInterpretations => ({ equal: [value], ordered: [value] });

/** A number in JSON's syntax, or null. Whole numbers beyond 2^53 stay exact as int64. */
export function readNumber(text: string): number | Long | null {
  const parts = NUMBER.exec(text);
  if (parts === null) return null;
  const number = Number(text);
  if (!Number.isFinite(number)) return null;
  if (parts[1] !== undefined || parts[2] !== undefined || Number.isSafeInteger(number)) return number;
  const whole = BigInt(text);
  return BigInt.asIntN(64, whole) === whole ? Long.fromBigInt(whole) : number;
}

/** A calendar date or time in ISO 8601, or null. Without an offset it is UTC. */
export function readDate(text: string): Date | null {
  const parts = ISO_8601.exec(text);
  if (parts === null) return null;
  const [, day = '', time = 'T00:00', offset = 'Z'] = parts;
  const midnight = new Date(`${day}T00:00Z`);
  const date = new Date(day + time + offset);
  if (Number.isNaN(midnight.getTime()) || Number.isNaN(date.getTime())) return null;
  // JavaScript reads 30 February as 2 March.
  return midnight.toISOString().startsWith(day) ? date : null;
}

/**
 * A quoted text in JSON's string syntax, without its quotes.
 * @throws MillraceError `invalid-filter`
 */
export function unquote(text: string): string {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === 'string') return requireWellFormedText(value);
  } catch (error) {
    if (error instanceof MillraceError) throw error;
    // The error is thrown below: wrong quotes are more useful to know than the position where the parser stopped.
  }
  throw new MillraceError('invalid-filter', `The quoted value ${text.slice(0, 60)} is not a JSON string`, {
    hint: 'Quotes open and close a whole value; a quote inside is written \\".',
  });
}

/**
 * The values that a value represents at a stored path. At `_id` a text represents every id that is written as this
 * text; at a time of `_meta` it represents the date. Elsewhere a value is itself.
 * @throws MillraceError `invalid-filter` for a value at a time's path that is not a date
 */
export function possibleValuesAtPath(path: string, values: readonly BsonValue[]): readonly BsonValue[];
export function possibleValuesAtPath(path: string, values: readonly UnboundValue[]): readonly UnboundValue[];
export function possibleValuesAtPath(path: string, values: readonly UnboundValue[]): readonly UnboundValue[] {
  if (path === '_id')
    return values.flatMap((value): readonly UnboundValue[] => (typeof value === 'string' ? idsOf(value) : [value]));
  return isMetaTimePath(path) ? timesOf(path, values) : values;
}

/** Every `_id` of a common type that is written as this text, the canonical form first. */
function idsOf(text: string): BsonValue[] {
  const ids: BsonValue[] = OBJECT_ID.test(text) ? [ObjectId.createFromHexString(text.toLowerCase()), text] : [text];
  const number = readNumber(text);
  if (number !== null) ids.push(number);
  if (UUID_TEXT.test(text)) ids.push(new UUID(text));
  const date = readDate(text);
  if (date !== null && date.toISOString() === text) ids.push(date);
  return ids;
}

/** A short literal may mean a number, a text and a date at once; here only the date counts. */
function timesOf(path: string, values: readonly UnboundValue[]): readonly UnboundValue[] {
  const times = new Map<unknown, UnboundValue>();
  for (const value of values) {
    const time = typeof value === 'string' ? (readDate(value) ?? value) : value;
    if (time === null || time instanceof Variable) times.set(time, time);
    else if (time instanceof Date) times.set(time.getTime(), time);
  }
  if (times.size > 0 || values.length === 0) return [...times.values()];
  throw new MillraceError('invalid-filter', `'${path}' is a time and must be compared with a date`, {
    hint: 'Write it in ISO 8601, such as 2026-01-31T12:00:00Z. In a URL a + is written %2B.',
  });
}
