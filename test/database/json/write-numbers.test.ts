/**
 * Our own writers of numbers and dates print exactly what JavaScript prints. The seed is printed; MILLRACE_SEED repeats
 * a run.
 */
import t, { type Test } from 'tap';
import { writeDate, writeDouble, writeInt64, writeInteger } from '../../../src/database/json/write-numbers.ts';
import { Random, runSeed } from '../../helpers/random.ts';

const seed = runSeed();
t.comment(`seed ${seed}`);
const random = new Random(seed);
const out = Buffer.alloc(64, 0x58);

const printed = (end: number): string => out.toString('latin1', 3, end);
const double = (value: number): string => printed(writeDouble(value, out, 3));
const low = (value: bigint): number => Number(BigInt.asIntN(32, value));
const int64 = (value: bigint): string => printed(writeInt64(low(value), low(value >> 32n), out, 3));
const date = (value: bigint): string => printed(writeDate(low(value), low(value >> 32n), out, 3));

/** Compares without a line for each of many thousand cases. */
function sameForAll<T>(t: Test, cases: Iterable<T>, print: (value: T) => string, expected: (value: T) => string): void {
  let count = 0;
  for (const value of cases) {
    count++;
    const [got, requested] = [print(value), expected(value)];
    if (got !== requested) {
      t.fail(`${value} printed as ${got}, not ${requested}`);
      return;
    }
  }
  t.pass(`${count} agree`);
}

t.test('integers of every length print as in JavaScript', async (t) => {
  const sizes = Array.from({ length: 54 }, (_, bits) => 2 ** bits).concat(
    Array.from({ length: 16 }, (_, n) => 10 ** n),
  );
  const cases = sizes.flatMap((size) => [size - 1, size, size + 1, -size]).filter((n) => Math.abs(n) <= 2 ** 53);
  sameForAll(
    t,
    cases,
    (n) => printed(writeInteger(n, out, 3)),
    (n) => String(n + 0),
  );
});

t.test('short, long and random doubles print as in JavaScript', async (t) => {
  function* doubles(): Generator<number> {
    for (let n = 0; n < 100_000; n++) {
      const spots = random.below(9);
      const decimal = Number(`${random.below(10 ** random.below(10))}.${random.below(10 ** spots)}`);
      yield* [
        decimal,
        -decimal,
        decimal * 3,
        decimal / 3,
        random.bytes(8).readDoubleLE(),
        random.below(1e9) / 10 ** random.below(20),
      ];
    }
  }
  sameForAll(t, doubles(), double, (value) => JSON.stringify(value));
});

t.test('64-bit integers are numbers up to 2^53 and strings beyond', async (t) => {
  const edges = [2n ** 53n, 2n ** 53n + 1n, 2n ** 53n - 1n, 2n ** 63n - 1n, 2n ** 32n, 2n ** 31n, 0n];
  const cases = [
    ...edges,
    ...Array.from({ length: 20_000 }, () => random.bytes(8).readBigInt64LE() >> BigInt(random.below(60))),
  ];
  const expected = (value: bigint): string =>
    value > 2n ** 53n || value < -(2n ** 53n) ? `"${value}"` : String(value);
  sameForAll(
    t,
    cases.flatMap((value) => [value, -value]),
    int64,
    expected,
  );
});

t.test('dates of all four-digit years and at the limits print as in JavaScript', async (t) => {
  function* dates(): Generator<bigint> {
    // The days of 1895 to 1905 and of 1995 to 2025 cover all rules of leap years; elsewhere every 17th is enough.
    const every = (day: number): boolean => (day > -27_400 && day < -23_400) || (day > 9_130 && day < 20_500);
    for (let day = -719_540; day < 2_932_910; day += every(day) ? 1 : 17) {
      yield BigInt(day) * 86_400_000n + BigInt(random.below(86_400_000));
    }
    for (let n = 0; n < 20_000; n++) yield random.bytes(8).readBigInt64LE() >> BigInt(random.below(40));
    for (const edge of [8_640_000_000_000_000n, 62_167_219_200_000n, 253_402_300_800_000n, 0n, 2n ** 63n - 1n]) {
      yield* [edge, edge + 1n, edge - 1n, -edge, -edge - 1n, -edge + 1n];
    }
  }
  sameForAll(t, dates(), date, (value) => JSON.stringify(new Date(Number(BigInt.asIntN(64, value)))));
});
