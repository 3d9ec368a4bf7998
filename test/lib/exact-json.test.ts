/** JSON.parse with correct field names: V8's bug, and no other difference. The seed is printed. */
import { isDeepStrictEqual } from 'node:util';
import t from 'tap';
import { parseJsonExactNames } from '../../src/lib/exact-json.ts';
import { Random, runCount, runSeed } from '../helpers/random.ts';

const seed = runSeed();
t.comment(`seed ${seed}`);
const random = new Random(seed);
const TEXTS = runCount(20_000, 500_000);

const NAMES = ['a', 'b', '__proto__', 'constructor', '', '0', '7', '-1', '"', '\n', 'a\tb', 'é', '😀', '/', '\u2028'];
const NUMBERS = [
  '0',
  '-0',
  '1',
  '-1.5',
  '1e3',
  '1E-7',
  '123456789012345680',
  '0.1',
  '1.7976931348623157e308',
  '5e-324',
];
const SHORT: Readonly<Record<string, string>> = { '"': '\\"', '\\': '\\\\', '/': '\\/', '\n': '\\n', '\t': '\\t' };

/** A string in one of its JSON forms: each unit as itself if possible, by a short escape or by its number. */
function spelled(string: string): string {
  const units = Array.from({ length: string.length }, (_, at) => {
    const unit = string.charAt(at);
    const hex = unit.charCodeAt(0).toString(16).padStart(4, '0');
    const number = `\\u${random.once(2) ? hex : hex.toUpperCase()}`;
    const mustEscape = unit < ' ' || unit === '"' || unit === '\\';
    if (random.once(4)) return number;
    return mustEscape || random.once(4) ? (SHORT[unit] ?? number) : unit;
  });
  return `"${units.join('')}"`;
}

const space = (): string => (random.once(6) ? random.pick([' ', '\n', '\t', '\r\n']) : '');

/** A text, and its value; number-like and repeated names included. */
function created(names: readonly string[], depth: number): { readonly text: string; readonly value: unknown } {
  const kind = random.below(depth === 0 ? 4 : 7);
  const string = random.pick([...names, 'a\\', ',:]}', ' true ']);
  if (kind === 0) return { text: spelled(string), value: string };
  if (kind === 1) return random.pick([true, false, null].map((value) => ({ text: String(value), value })));
  if (kind <= 3) return random.pick(NUMBERS.map((text) => ({ text, value: Number(text) })));
  const inner = Array.from({ length: random.below(4) }, () => ({
    name: random.pick(names),
    ...created(names, depth - 1),
  }));
  if (kind === 4) {
    const text = inner.map((item) => space() + item.text + space()).join(',');
    return { text: `[${text || space()}]`, value: inner.map(({ value }) => value) };
  }
  const fields = inner.map((item) => [space(), spelled(item.name), space(), ':', space(), item.text, space()].join(''));
  return {
    text: `{${fields.join(',') || space()}}`,
    value: Object.fromEntries(inner.map(({ name, value }) => [name, value])),
  };
}

function sameWithOrder(a: unknown, b: unknown): boolean {
  return isDeepStrictEqual(a, b) && JSON.stringify(a) === JSON.stringify(b);
}

t.test('a field name is not confused with one of another text', async (t) => {
  const read = (text: string): string[] => Object.keys(Object(parseJsonExactNames(text)));
  const cases: [before: string, text: string, names: string[]][] = [
    ['{"p1":"x","\\\\":1}', '{"p1":"y","\\u5e74":2024}', ['p1', '年']],
    ['{"p2":[],"\\\\":0}', '{"p2":1,"\\"":2}', ['p2', '"']],
    ['{"p3":1,"a\\\\":1}', '{"p3":1 , "a\\n" :1}', ['p3', 'a\n']],
    ['{"p4":1,"\\\\u0":1}', '{"p4":1,"\\u0041\\u0042\\u0043":1}', ['p4', 'ABC']],
  ];
  for (const [before, text, names] of cases) {
    parseJsonExactNames(before);
    t.strictSame(read(text), names, text);
  }
});

t.test(`${TEXTS} random texts have the value of JSON.parse`, async (t) => {
  for (let n = 0; n < TEXTS; n++) {
    const { text, value } = created(NAMES, 4);
    const read = parseJsonExactNames(text);
    if (sameWithOrder(read, JSON.parse(text)) && sameWithOrder(read, value)) continue;
    t.fail(`${JSON.stringify(text)} is read as ${JSON.stringify(read)}`, { seed });
    break;
  }
});

t.test(`${TEXTS} random texts with backslashes in their names have the written value`, async (t) => {
  const names = [...NAMES, '\\', '\\\\', '\\n', 'a\\', '\\u', '\\u0', '年', 'aa', '\\"'];
  let mistakes = 0;
  for (let n = 0; n < TEXTS; n++) {
    const { text, value } = created(names, 4);
    if (!sameWithOrder(JSON.parse(text), value)) mistakes++;
    if (sameWithOrder(parseJsonExactNames(text), value)) continue;
    t.fail(`${JSON.stringify(text)} is not read as ${JSON.stringify(value)}`, { seed });
    break;
  }
  t.comment(`JSON.parse was wrong ${mistakes} times`);
});

t.test('invalid JSON is rejected as by JSON.parse', async (t) => {
  for (const text of ['', '{"\\n":}', '{"\\n":1,}', '{"\\x":1}', '"\\', '{"a":1}"\\n"', '{"\\":1}']) {
    t.throws(() => parseJsonExactNames(text), SyntaxError, text);
  }
});

t.test('a deep text with such a name is read without recursion', async (t) => {
  const depth = 100_000;
  t.doesNotThrow(() => parseJsonExactNames(`${'['.repeat(depth)}{"\\n":1}${']'.repeat(depth)}`));
});
