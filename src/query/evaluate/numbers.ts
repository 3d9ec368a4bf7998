/**
 * Compares BSON numbers exactly and across types, as MongoDB does: int32, int64, double and Decimal128. Nothing is
 * rounded.
 */
import type { Decimal128, Double, Int32, Long } from 'bson';
import { bsonType, isBsonType } from './bson-types.ts';

/** A number as decoded from BSON. */
export type NumberValue = number | bigint | Int32 | Double | Long | Decimal128;

/** `coefficient` × 10^`exponent`. */
interface Decimal {
  readonly coefficient: bigint;
  readonly exponent: number;
}

type Worth = number | bigint | Decimal;

const DECIMAL = /^(-?)(\d+)(?:\.(\d*))?(?:E([+-]?\d+))?$/;

export function isNumber(value: unknown): value is NumberValue {
  if (typeof value === 'number' || typeof value === 'bigint') return true;
  const type = bsonType(value);
  return type === 'Int32' || type === 'Double' || type === 'Long' || type === 'Decimal128';
}

export function isNaNValue(value: unknown): boolean {
  return isNumber(value) && Number.isNaN(worth(value));
}

/** Negative, zero or positive. NaN equals NaN and comes before every other number. */
export function compareNumbers(a: NumberValue, b: NumberValue): number {
  if (typeof a === 'number' && typeof b === 'number' && a === b) return 0;
  return compareWorths(worth(a), worth(b));
}

function worth(value: NumberValue): Worth {
  if (typeof value === 'number' || typeof value === 'bigint') return value;
  if (isBsonType(value, 'Int32') || isBsonType(value, 'Double')) return value.value;
  if (isBsonType(value, 'Decimal128')) return decimalWorth(value.toString());
  return value.toBigInt();
}

function decimalWorth(text: string): Worth {
  const parts = DECIMAL.exec(text);
  if (parts === null) return Number(text); // NaN, Infinity, -Infinity
  const [, sign = '', digits = '', fraction = '', exponent = '0'] = parts;
  return { coefficient: BigInt(sign + digits + fraction), exponent: Number(exponent) - fraction.length };
}

function compareWorths(a: Worth, b: Worth): number {
  if (typeof a === 'number' && typeof b === 'number') {
    if (a < b) return -1;
    if (a > b) return 1;
    if (a === b) return 0;
  }
  const x = approximate(a);
  const y = approximate(b);
  if (Number.isNaN(x) || Number.isNaN(y)) return Number(Number.isNaN(y)) - Number(Number.isNaN(x));
  // If the two are far enough apart, the approximation decides; infinities and near ties are compared exactly.
  if (Math.abs(x - y) > 1e-9 * (Math.abs(x) + Math.abs(y))) return x < y ? -1 : 1;
  if (isInfinite(a) || isInfinite(b)) return infinity(a) - infinity(b);
  const [numeratorA, denominatorA] = fractionOf(a);
  const [numeratorB, denominatorB] = fractionOf(b);
  const left = numeratorA * denominatorB;
  const right = numeratorB * denominatorA;
  return left < right ? -1 : Number(left > right);
}

function approximate(value: Worth): number {
  if (typeof value === 'object') return Number(`${value.coefficient}e${value.exponent}`);
  return Number(value);
}

const isInfinite = (value: Worth): boolean => value === Infinity || value === -Infinity;
const infinity = (value: Worth): number => (isInfinite(value) ? Number(value === Infinity) * 2 - 1 : 0);

/** Numerator and denominator. A finite double is a whole number once doubled often enough (at most 1,074 times). */
function fractionOf(value: Worth): [bigint, bigint] {
  if (typeof value === 'bigint') return [value, 1n];
  if (typeof value === 'object') {
    const scale = 10n ** BigInt(Math.abs(value.exponent));
    return value.exponent < 0 ? [value.coefficient, scale] : [value.coefficient * scale, 1n];
  }
  let whole = value;
  let doublings = 0n;
  while (!Number.isInteger(whole)) {
    whole *= 2;
    doublings += 1n;
  }
  return [BigInt(whole), 1n << doublings];
}
