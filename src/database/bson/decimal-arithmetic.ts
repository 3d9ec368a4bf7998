/**
 * Sums and products of Decimal128 (IEEE 754-2008, decimal128: 34 digits, round half to even), as MongoDB computes them.
 * The driver can read and print these numbers but not calculate.
 */
import { Decimal128 } from 'mongodb';

const DIGITS = 34;
const LEAST_EXPONENT = -6176;
const GREATEST_EXPONENT = 6111;
/** The number of digits that MongoDB keeps when it turns a double into a decimal. */
const DOUBLE_DIGITS = 15;

/** The number ±`coefficient` × 10^`exponent`. */
interface Finite {
  readonly negative: boolean;
  readonly coefficient: bigint;
  readonly exponent: number;
}

type Decimal = Finite | 'NaN' | 'Infinity' | '-Infinity';

export function addDecimals(a: Decimal128, b: Decimal128): Decimal128 {
  return print(sum(parse(a.toString()), parse(b.toString())));
}

export function multiplyDecimals(a: Decimal128, b: Decimal128): Decimal128 {
  return print(product(parse(a.toString()), parse(b.toString())));
}

/** A double as a decimal of 15 digits, so that 0.1 stays 0.1 and does not become the 55 digits of the exact double. */
export function decimalFromDouble(value: number): Decimal128 {
  if (!Number.isFinite(value)) return Decimal128.fromString(String(value));
  if (value === 0) return Decimal128.fromString(Object.is(value, -0) ? '-0' : '0');
  const exact = parse(value.toExponential(DIGITS - 1));
  return print(typeof exact === 'string' ? exact : rounded(exact, DOUBLE_DIGITS));
}

function sum(a: Decimal, b: Decimal): Decimal {
  if (typeof a === 'string') return a === 'NaN' || typeof b !== 'string' || a === b ? a : 'NaN';
  if (typeof b === 'string') return b;
  const exponent = Math.min(a.exponent, b.exponent);
  const total = aligned(a, exponent) + aligned(b, exponent);
  const negative = total === 0n ? a.negative && b.negative : total < 0n;
  return fitted({ negative, coefficient: total < 0n ? -total : total, exponent });
}

function product(a: Decimal, b: Decimal): Decimal {
  const negative = isNegative(a) !== isNegative(b);
  if (typeof a === 'string' || typeof b === 'string') {
    const undefinedProduct = a === 'NaN' || b === 'NaN' || isZero(a) || isZero(b);
    if (undefinedProduct) return 'NaN';
    return negative ? '-Infinity' : 'Infinity';
  }
  return fitted({ negative, coefficient: a.coefficient * b.coefficient, exponent: a.exponent + b.exponent });
}

const isZero = (value: Decimal): boolean => typeof value !== 'string' && value.coefficient === 0n;
const isNegative = (value: Decimal): boolean => (typeof value === 'string' ? value === '-Infinity' : value.negative);

function aligned({ negative, coefficient, exponent }: Finite, to: number): bigint {
  const magnitude = coefficient * 10n ** BigInt(exponent - to);
  return negative ? -magnitude : magnitude;
}

/** The nearest number that the format can hold. */
function fitted(value: Finite): Decimal {
  const { negative, coefficient, exponent } = rounded(value, DIGITS);
  if (exponent < LEAST_EXPONENT) {
    return { negative, coefficient: shifted(coefficient, LEAST_EXPONENT - exponent), exponent: LEAST_EXPONENT };
  }
  const excess = exponent - GREATEST_EXPONENT;
  if (excess <= 0) return { negative, coefficient, exponent };
  if (coefficient === 0n) return { negative, coefficient, exponent: GREATEST_EXPONENT };
  if (String(coefficient).length + excess > DIGITS) return negative ? '-Infinity' : 'Infinity';
  return { negative, coefficient: coefficient * 10n ** BigInt(excess), exponent: GREATEST_EXPONENT };
}

function rounded({ negative, coefficient, exponent }: Finite, digits: number): Finite {
  const excess = String(coefficient).length - digits;
  if (excess <= 0) return { negative, coefficient, exponent };
  const short = shifted(coefficient, excess);
  // 99…9 rounds up to a number with one more digit. Its last digit is 0, so it can be cut.
  if (String(short).length > digits) return { negative, coefficient: short / 10n, exponent: exponent + excess + 1 };
  return { negative, coefficient: short, exponent: exponent + excess };
}

/** The coefficient without its last digits, rounded half to even. */
function shifted(coefficient: bigint, digits: number): bigint {
  const unit = 10n ** BigInt(digits);
  const whole = coefficient / unit;
  const twice = (coefficient % unit) * 2n;
  const up = twice > unit || (twice === unit && whole % 2n === 1n);
  return up ? whole + 1n : whole;
}

const FINITE = /^(-?)(\d+)(?:\.(\d*))?(?:[eE]([+-]?\d+))?$/;

function parse(text: string): Decimal {
  const parts = FINITE.exec(text);
  if (parts === null) return text === 'NaN' ? 'NaN' : text.startsWith('-') ? '-Infinity' : 'Infinity';
  const [, sign = '', digits = '', fraction = '', exponent = '0'] = parts;
  return {
    negative: sign === '-',
    coefficient: BigInt(digits + fraction),
    exponent: Number(exponent) - fraction.length,
  };
}

function print(value: Decimal): Decimal128 {
  if (typeof value === 'string') return Decimal128.fromString(value);
  return Decimal128.fromString(`${value.negative ? '-' : ''}${value.coefficient}E${value.exponent}`);
}
