/** The JSON form of one decoded stored value: the table of types. */
import {
  Binary,
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
import {
  clearResumableProgress,
  countStepAndYield,
  resumableProgress,
} from '../../lib/concurrency/cooperative-yield.ts';
import { isPlainObject, setField } from '../../lib/plain-object.ts';
import { DbPointer } from '../bson/db-pointer.ts';

/**
 * One stored value as clients see it. Types that JSON does not have: ObjectId as hex; dates as ISO 8601, null if out of
 * range; integers beyond ±2^53 and Decimal128 as strings; binary as base64, UUID as text; NaN and infinities as null; a
 * timestamp as `seconds:increment`; a regular expression as `/pattern/options`; code and symbols as their text;
 * `undefined` as null; the smallest and largest key as `MinKey` and `MaxKey`.
 */
export function valueToWire(value: unknown): unknown {
  if (value === null || value === undefined) return null;
  if (typeof value === 'string' || typeof value === 'boolean') return value;
  if (typeof value === 'number') return numberToWire(value);
  if (typeof value === 'bigint') return integerToWire(value);
  if (typeof value !== 'object') return null;
  if (Array.isArray(value)) return elementsToWire(value);
  if (isPlainObject(value)) return fieldsToWire(value);
  if (value instanceof Map) return fieldsToWire(Object.fromEntries(value));
  return vendorToWire(value);
}

function vendorToWire(value: object): unknown {
  if (value instanceof ObjectId) return value.toHexString();
  if (value instanceof Date) return dateText(value);
  if (value instanceof Int32 || value instanceof Double) return numberToWire(value.value);
  if (value instanceof Timestamp) return `${value.getHighBitsUnsigned()}:${value.getLowBitsUnsigned()}`;
  if (value instanceof Long) return integerToWire(value.toBigInt());
  if (value instanceof Decimal128) return value.toString();
  if (value instanceof Binary) return binaryText(value);
  if (value instanceof Uint8Array) return Buffer.from(value).toString('base64');
  if (value instanceof BSONRegExp) return `/${value.pattern}/${value.options}`;
  if (value instanceof RegExp) return `/${value.source}/${value.flags}`;
  if (value instanceof Code) return String(value.code);
  if (value instanceof BSONSymbol) return value.value;
  if (value instanceof MinKey) return 'MinKey';
  if (value instanceof MaxKey) return 'MaxKey';
  if (value instanceof DbPointer) return { $ref: value.collection, $id: value.id.toHexString() };
  return null;
}

/**
 * ISO 8601 in UTC as JavaScript prints it (six-digit years beyond 0–9999); null for a date out of JavaScript's range.
 */
export function dateText(date: Date): string | null {
  return Number.isNaN(date.getTime()) ? null : date.toISOString();
}

/** UUID text for subtype 4 of 16 bytes, base64 for every other binary. */
export function binaryText(binary: Binary): string {
  const bytes = binary.value();
  if (binary.sub_type === Binary.SUBTYPE_UUID && bytes.length === 16) {
    return Buffer.from(bytes)
      .toString('hex')
      .replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
  }
  return Buffer.from(bytes).toString('base64');
}

function numberToWire(value: number): number | null {
  // Adding 0 turns -0 into 0, which is how JSON.stringify prints it.
  return Number.isFinite(value) ? value + 0 : null;
}

function integerToWire(value: bigint): number | string {
  return value >= -(2n ** 53n) && value <= 2n ** 53n ? Number(value) : value.toString();
}

/** It can yield between fields (lib/concurrency/cooperative-yield.ts). */
function fieldsToWire(fields: Record<string, unknown>): Record<string, unknown> {
  const done = resumableProgress(fields, valueToWire, () => ({ names: Object.keys(fields), at: 0, wire: {} }));
  for (; done.at < done.names.length; countStepAndYield()) {
    const name = done.names[done.at] ?? '';
    setField(done.wire, name, valueToWire(fields[name]));
    done.at += 1;
  }
  clearResumableProgress(fields);
  return done.wire;
}

function elementsToWire(elements: readonly unknown[]): unknown[] {
  const wire = resumableProgress(elements, valueToWire, (): unknown[] => []);
  while (wire.length < elements.length) {
    wire.push(valueToWire(elements[wire.length]));
    countStepAndYield();
  }
  clearResumableProgress(elements);
  return wire;
}
