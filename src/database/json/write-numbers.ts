/**
 * Numbers and dates as JSON text, byte by byte into a buffer that is known to be large enough. The text is exactly that
 * of `JSON.stringify` and `toISOString`; in the common cases no string is created.
 */
import { writeAscii, writeRawBytes } from './write-json-string.ts';

const ZERO = 0x30;
const BILLION = 1_000_000_000;
const MILLION = 1_000_000;

/** Writes an integer between ±2^53. Returns the offset after it, as all writers do. */
export function writeInteger(value: number, out: Buffer, to: number): number {
  let at = to;
  let rest = value;
  if (rest < 0) {
    out[at++] = 0x2d;
    rest = -rest;
  }
  if (rest < BILLION) return writeDigits(rest, digitsOf(rest), out, at);
  const high = Math.floor(rest / BILLION);
  at = writeInteger(high, out, at);
  return writeDigits(rest - high * BILLION, 9, out, at);
}

/** Writes a number below 10^9 in exactly this many digits, two at a time. */
function writeDigits(value: number, digits: number, out: Buffer, to: number): number {
  let rest = value | 0;
  let at = to + digits;
  while (at - to >= 2) {
    const hundreds = (rest / 100) | 0;
    at -= 2;
    writePair(rest - hundreds * 100, out, at);
    rest = hundreds;
  }
  if (at > to) out[to] = ZERO + rest;
  return to + digits;
}

/** The digits of 00 to 99, one pair after the other. */
const PAIRS = Buffer.from(Array.from({ length: 100 }, (_, pair) => String(pair).padStart(2, '0')).join(''));

function writePair(value: number, out: Buffer, to: number): void {
  out[to] = PAIRS[value * 2] ?? 0;
  out[to + 1] = PAIRS[value * 2 + 1] ?? 0;
}

function digitsOf(value: number): number {
  if (value < 10) return 1;
  if (value < 100) return 2;
  if (value < 1000) return 3;
  if (value < 10_000) return 4;
  if (value < 100_000) return 5;
  if (value < 1_000_000) return 6;
  if (value < 10_000_000) return 7;
  return value < 100_000_000 ? 8 : 9;
}

/**
 * Writes a double: integers and short decimals digit by digit, others as JavaScript prints them; `null` if not finite.
 */
export function writeDouble(value: number, out: Buffer, to: number): number {
  if (Number.isSafeInteger(value)) return writeInteger(value, out, to);
  const millionths = toMillionths(value);
  return millionths === 0 ? writeAscii(JSON.stringify(value), out, to) : writeDecimal(value < 0, millionths, out, to);
}

/** Whether a double is written digit by digit. For several others in a row {@link writeNumbersAsJson} is faster. */
export function isShortDouble(value: number): boolean {
  return Number.isSafeInteger(value) || toMillionths(value) !== 0;
}

/** Writes doubles with commas between them. */
export function writeNumbersAsJson(values: readonly number[], out: Buffer, to: number): number {
  return writeAscii(JSON.stringify(values).slice(1, -1), out, to);
}

/**
 * The absolute value of a double in whole millionths, if the double is the nearest one to such a decimal; otherwise 0.
 * Example: 0.1 returns 100,000. JavaScript prints the shortest decimal that is read back as the same double. A decimal
 * of at most 15 digits always is that text, so if the millionths divided by 10^6 give the double again, they can be
 * printed.
 */
function toMillionths(value: number): number {
  const size = Math.abs(value);
  if (!(size < 1e9 && size >= 1e-6)) return 0;
  const millionths = Math.round(size * MILLION);
  return millionths / MILLION === size ? millionths : 0;
}

/** Writes a number of millionths as a decimal without trailing zeros. */
function writeDecimal(negative: boolean, millionths: number, out: Buffer, to: number): number {
  let at = to;
  if (negative) out[at++] = 0x2d;
  const whole = Math.floor(millionths / MILLION);
  at = writeDigits(whole, digitsOf(whole), out, at);
  out[at++] = 0x2e;
  at = writeDigits(millionths - whole * MILLION, 6, out, at);
  while (out[at - 1] === ZERO) at--;
  return at;
}

/** Writes a 64-bit integer from its halves: as a number up to ±2^53, beyond that as a string of digits. */
export function writeInt64(low: number, high: number, out: Buffer, to: number): number {
  const value = high * 0x1_0000_0000 + (low >>> 0);
  // Beyond 2^53 the sum is rounded, but never to a number below 2^53.
  if (value < 2 ** 53 && value > -(2 ** 53)) return writeInteger(value, out, to);
  const exact = (BigInt(high) << 32n) | BigInt(low >>> 0);
  if (exact === 2n ** 53n || exact === -(2n ** 53n)) return writeInteger(value, out, to);
  return writeAscii(`"${exact}"`, out, to);
}

const DAY = 86_400_000;
const DATE_FRAME = Buffer.from('"0000-00-00T00:00:00.000Z"');
/** 0000-01-01 and 10000-01-01 in days since 1970: between them a year has four digits. */
const FIRST_DAY = -719_528;
const LAST_DAY = 2_932_896;

/**
 * Writes a date (milliseconds since 1970, in halves) as an ISO 8601 string; `null` beyond the range of JavaScript's
 * dates.
 */
export function writeDate(low: number, high: number, out: Buffer, to: number): number {
  const time = high * 0x1_0000_0000 + (low >>> 0);
  const days = Math.floor(time / DAY);
  if (!(days >= FIRST_DAY && days <= LAST_DAY)) {
    const date = new Date(time);
    return writeAscii(Number.isNaN(date.getTime()) ? 'null' : `"${date.toISOString()}"`, out, to);
  }
  // Days to year, month, day: H. Hinnant, "chrono-compatible low-level date algorithms", civil_from_days.
  const shifted = days + 719_468;
  const era = Math.floor(shifted / 146_097);
  const dayOfEra = shifted - era * 146_097;
  const yearOfEra =
    ((dayOfEra - ((dayOfEra / 1460) | 0) + ((dayOfEra / 36_524) | 0) - ((dayOfEra / 146_096) | 0)) / 365) | 0;
  const dayOfYear = dayOfEra - (365 * yearOfEra + ((yearOfEra / 4) | 0) - ((yearOfEra / 100) | 0));
  const shiftedMonth = ((5 * dayOfYear + 2) / 153) | 0;
  const month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9;
  const year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0);
  const ofDay = time - days * DAY;
  writeRawBytes(DATE_FRAME, out, to);
  writeDigits(year, 4, out, to + 1);
  writePair(month, out, to + 6);
  writePair(dayOfYear - (((153 * shiftedMonth + 2) / 5) | 0) + 1, out, to + 9);
  const seconds = (ofDay / 1000) | 0;
  const minutes = (seconds / 60) | 0;
  const hours = (minutes / 60) | 0;
  writePair(hours, out, to + 12);
  writePair(minutes - hours * 60, out, to + 15);
  writePair(seconds - minutes * 60, out, to + 18);
  writeDigits(ofDay - seconds * 1000, 3, out, to + 21);
  return to + DATE_FRAME.length;
}
