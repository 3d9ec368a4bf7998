/**
 * Sums and products of stored numbers with MongoDB's rules for mixed types: Decimal128 wins over double, double over
 * int64, int64 over int32; an int32 that overflows becomes an int64, an int64 that overflows is rejected.
 */
import { Decimal128, Double, Int32, Long, Timestamp } from 'mongodb';
import { addDecimals, decimalFromDouble, multiplyDecimals } from './decimal-arithmetic.ts';

/** A number with its stored type. */
export type StoredNumber = Int32 | Double | Long | Decimal128;

export type ArithmeticOperator = 'add' | 'multiply';

/**
 * A value as a stored number, or null if it is not a number. A plain JavaScript number becomes an int32 if it fits, and
 * otherwise a double, as the driver writes it.
 */
export function toStoredNumber(value: unknown): StoredNumber | null {
  if (typeof value === 'number') return isInt32(value) ? new Int32(value) : new Double(value);
  if (value instanceof Long) return value instanceof Timestamp ? null : value;
  return value instanceof Int32 || value instanceof Double || value instanceof Decimal128 ? value : null;
}

/** The zero of a number's type. In a product, MongoDB takes a missing value as this zero. */
export function zeroOfSameType(value: StoredNumber): StoredNumber {
  return addOrMultiply('multiply', new Int32(0), value) ?? new Int32(0);
}

/** The sum or product, or null if it does not fit into 64 bits. */
export function addOrMultiply(how: ArithmeticOperator, a: StoredNumber, b: StoredNumber): StoredNumber | null {
  if (a instanceof Decimal128 || b instanceof Decimal128) {
    return how === 'add' ? addDecimals(decimalOf(a), decimalOf(b)) : multiplyDecimals(decimalOf(a), decimalOf(b));
  }
  if (a instanceof Double || b instanceof Double) {
    return new Double(how === 'add' ? doubleOf(a) + doubleOf(b) : doubleOf(a) * doubleOf(b));
  }
  const result = how === 'add' ? integerOf(a) + integerOf(b) : integerOf(a) * integerOf(b);
  if (a instanceof Int32 && b instanceof Int32 && BigInt.asIntN(32, result) === result) {
    return new Int32(Number(result));
  }
  return BigInt.asIntN(64, result) === result ? Long.fromBigInt(result) : null;
}

function isInt32(value: number): boolean {
  return Number.isInteger(value) && (value | 0) === value && !Object.is(value, -0);
}

function integerOf(value: Int32 | Long): bigint {
  return value instanceof Int32 ? BigInt(value.value) : value.toBigInt();
}

function doubleOf(value: Int32 | Long | Double): number {
  return value instanceof Long ? Number(value.toBigInt()) : value.value;
}

function decimalOf(value: StoredNumber): Decimal128 {
  if (value instanceof Decimal128) return value;
  return value instanceof Double ? decimalFromDouble(value.value) : Decimal128.fromString(String(integerOf(value)));
}
