/**
 * Names and values that break careless code, to pick from in randomised tests of what a database can hold. Each stands
 * here because some encoder, decoder or comparison gets it wrong.
 */

export const WORDS = [
  'a',
  'name',
  'title',
  'b.c',
  '$where',
  '$',
  '',
  'Größe',
  'ключ',
  '名前',
  '😀',
  'with "quotes"',
  'tab\t',
];
export const TRAPS = [
  '__proto__',
  'constructor',
  'prototype',
  'toString',
  'hasOwnProperty',
  '_bsontype',
  'id',
  '_meta',
  '_id',
];
export const NUMBERS = ['0', '1', '10', '2', '4294967295', '01', '-1'];
export const TEXTS = [
  '',
  'plain',
  'Zoë',
  'a\0b',
  '\u0001\u001f\u007f\u0080',
  'C:\\x\\"y"',
  '\u2028\u2029\ufeff',
  '\ufffd',
  '💥🇩🇪',
  '\u{10ffff}\ud7ff\ue000',
];
export const DOUBLES = [
  0,
  -0,
  1,
  -1,
  0.1,
  0.30000000000000004,
  19.99,
  1e21,
  1e-7,
  123456.789012,
  5e-324,
  2 ** 53,
  2 ** 53 + 2,
  -(2 ** 53),
  Number.MAX_VALUE,
  Number.NaN,
  Number.POSITIVE_INFINITY,
  Number.NEGATIVE_INFINITY,
  999999999.999999,
  0.000001,
  4.35,
  1e15,
  123456789012345680,
];
export const INT64S = [
  0n,
  1n,
  -1n,
  2n ** 53n,
  2n ** 53n + 1n,
  -(2n ** 53n),
  -(2n ** 53n) - 1n,
  2n ** 63n - 1n,
  -(2n ** 63n),
  4294967296n,
];
export const DATES = [
  0n,
  -1n,
  1700000000000n,
  253402300799999n,
  253402300800000n,
  -62167219200000n,
  -62167219200001n,
  -62198755200000n,
  8640000000000000n,
  -8640000000000000n,
  951782400000n,
];
export const IMPOSSIBLE_DATES = [8640000000000001n, -8640000000000001n, 2n ** 63n - 1n, -(2n ** 63n)];
export const DAMAGED_TEXTS = [
  'ff',
  'c3',
  'c328',
  'e28',
  'eda080',
  'f0808080',
  'f4908080',
  'c080',
  '61e282',
  'f09f98',
  '80',
  '61ff2262',
];
