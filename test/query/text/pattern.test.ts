/**
 * Patterns: what is allowed, and that the server's engine and ours match the same, on random patterns and texts.
 * MILLRACE_LONG=1 generates three times as many patterns.
 */
import { runInNewContext } from 'node:vm';
import { MongoClient } from 'mongodb';
import t from 'tap';
import { parseQuery, parseQueryJson } from '../../../src/query/parse/parse-query.ts';
import { caseGroup, foldCase } from '../../../src/query/text/case-folding.ts';
import { compilePattern, PatternValidator, rewritePattern } from '../../../src/query/text/pattern.ts';
import { testMongo } from '../../helpers/mongo.ts';
import { runCount } from '../../helpers/random.ts';
import { type Random, seeded } from '../random.ts';

const PATTERNS = runCount(200, 600);
const LONG_PATTERNS = runCount(70, 200);

const CHARACTERS = [
  'a',
  'b',
  'k',
  'K',
  '\u212a',
  's',
  'ſ',
  'ß',
  'é',
  '1',
  '_',
  ' ',
  '\t',
  '\v',
  '\n',
  '\r',
  '-',
  '.',
  '\0',
  '\u{1F600}',
  '\u0085',
  '\u00a0',
  '\u2028',
  ']',
];
const ATOMS = [
  'a',
  'b',
  'k',
  'é',
  's',
  '.',
  '\\d',
  '\\D',
  '\\w',
  '\\W',
  '\\s',
  '\\S',
  '\\.',
  '\\n',
  '\\t',
  '\\v',
  '\\x00',
  '\\x{1F600}',
  '\u{1F600}',
  '-',
  ']',
  '\\]',
  'ß',
];
const CLASS_ITEMS = [
  'a',
  'k',
  'a-k',
  '\\w',
  '\\d',
  '\\s',
  '\\S',
  'é',
  '\\-',
  '.',
  '\\]',
  '\\^',
  '\u{1F600}',
  '\\x{80}-\\x{ffff}',
  'ſ',
];
const QUANTIFIERS = ['', '', '', '', '*', '+', '?', '*?', '+?', '{2}', '{0,2}', '{1,}'];
const ASSERTIONS = ['^', '$', '\\b', '\\B', '\\A', '\\z'];

function sequence(random: Random, depth: number): string {
  return random.several(0, 4, () => piece(random, depth)).join('');
}

function piece(random: Random, depth: number): string {
  if (random.chance(0.12)) return random.pick(ASSERTIONS);
  const quantifier = random.pick(QUANTIFIERS);
  if (depth > 0 && random.chance(0.25)) {
    const alternatives = random.several(1, 3, () => sequence(random, depth - 1)).join('|');
    return `(${random.chance(0.5) ? '?:' : ''}${alternatives})${quantifier}`;
  }
  if (random.chance(0.2)) {
    return `[${random.chance(0.3) ? '^' : ''}${random.several(1, 3, () => random.pick(CLASS_ITEMS)).join('')}]${quantifier}`;
  }
  return random.pick(ATOMS) + quantifier;
}

t.test('both engines match the same texts', { timeout: 120_000 }, async (t) => {
  const random = seeded(t);
  const { url, database } = await testMongo(t);
  const client = new MongoClient(url);
  t.teardown(() => client.close());
  const collection = client.db(database).collection<{ _id: number; text: string }>('texts');
  const texts = Array.from({ length: 200 }, () => random.several(0, 6, () => random.pick(CHARACTERS)).join(''));
  await collection.insertMany(texts.map((text, _id) => ({ _id, text })));
  /** Whether the server's engine reaches its step limit: a filter then reports that the text does not match. */
  const givesUp = async (_id: number, regex: string) => {
    const is = { $regexMatch: { input: '$text', regex } };
    const requested = collection.aggregate([{ $match: { _id } }, { $project: { is } }]).toArray();
    return await requested.then(
      () => false,
      (error) => /\$regexMatch\. Result code: -8$/.test(error.message),
    );
  };
  let hits = 0;
  for (let n = 0; n < PATTERNS; n++) {
    const pattern = random.pick(['', '', '(?i)', '(?s)', '(?is)']) + sequence(random, 2);
    if (pattern.length > 128) continue;
    const rewritten = rewritePattern(pattern);
    const found = await collection.find({ text: { $regex: rewritten } }).toArray();
    const matcher = compilePattern(pattern);
    const expected = new Set(found.map(({ _id }) => _id));
    for (const [index, text] of texts.entries()) {
      if (matcher.test(text) === expected.has(index)) continue;
      const reported = `${pattern} → ${rewritten} of ${JSON.stringify(text)}: server ${expected.has(index)}`;
      if (!expected.has(index) && (await givesUp(index, rewritten))) t.comment(`${reported}, as it gives up`);
      else t.fail(reported);
    }
    hits += found.length;
  }
  t.ok(hits > 3 * PATTERNS && hits < 193 * PATTERNS, `${hits} hits`);
});

/**
 * The result of JavaScript's engine, which backtracks too; null when that takes too long. MongoDB's gives up on some
 * long texts silently.
 */
function responseOfJavaScript(rewritten: string, text: string): boolean | null {
  const ends: Readonly<Record<string, string>> = { z: '$', A: '^', b: '\\b', B: '\\B' };
  const source = rewritten.replace(/\\(?:x(\{[0-9a-f]+\})|([\s\S]))/g, (_, hex: string | undefined, one: string) => {
    return hex === undefined ? (ends[one] ?? `\\u{${one.charCodeAt(0).toString(16)}}`) : `\\u${hex}`;
  });
  try {
    return Boolean(runInNewContext('pattern.test(text)', { pattern: new RegExp(source, 'u'), text }, { timeout: 50 }));
  } catch (error) {
    if (Object(error).code === 'ERR_SCRIPT_EXECUTION_TIMEOUT') return null;
    throw error;
  }
}

t.test('in long texts our engine matches what JavaScript matches', async (t) => {
  const random = seeded(t);
  // Few letters in random order: they lead an automaton to many states.
  const emails = ['ab', 'abk1 ', 'abé\u{1F600}'].map((all) => Array.from(all));
  const texts = Array.from({ length: 12 }, (_, n) =>
    random.several(200, 1_500, () => random.pick(emails[n % emails.length] ?? [])).join(''),
  );
  let [hits, misses] = [0, 0];
  for (let n = 0; n < LONG_PATTERNS; n++) {
    const start = random.pick(['', '', '(?i)', '(?s)']) + random.pick(['', '', '^', '^.*']);
    const far = `${random.pick(['a', 'b', '[ak]', '\\b.'])}.{${random.pick([5, 9, 20, 40])}}`;
    const end = random.pick(['$', 'bab', 'k', '(?:ab|ba){3}', '\\bk', 'a$']);
    const pattern = start + far + sequence(random, 1) + end;
    if (pattern.length > 128) continue;
    const rewritten = rewritePattern(pattern);
    const matcher = compilePattern(pattern);
    for (const text of texts) {
      const expected = responseOfJavaScript(rewritten, text);
      if (expected === null) break;
      const found = matcher.test(text);
      if (found !== expected) t.fail(`${pattern} of ${JSON.stringify(text)}: JavaScript ${expected}`);
      if (found) hits += 1;
      else misses += 1;
    }
  }
  t.ok(hits > LONG_PATTERNS / 2 && misses > LONG_PATTERNS / 2, `${hits} hits, ${misses} misses`);
});

t.test("patterns are rewritten for the server's engine", async (t) => {
  const cases: [string, string][] = [
    ['^ab$', '^ab\\z'],
    ['a.b', 'a[^\\n]b'],
    ['(?s)a.b', 'a(?s:.)b'],
    ['(?i)k1', '[Kk\u212a]1'],
    ['(?i)[k]', '[Kk\u212a]'],
    ['\\s', '[\\x{9}-\\x{d}\\x{20}]'],
    ['[\\d\\-x]', '[\\-0-9x]'],
    ['(a|b)+?', '(?:a|b)+'],
    ['\\x41\\x{e9}', 'Aé'],
    ['\\x00', '\\x{0}'],
    ['a/b', 'a\\/b'],
    ['', ''],
  ];
  for (const [pattern, rewritten] of cases) t.equal(rewritePattern(pattern), rewritten, pattern);
});

t.test('unsupported patterns are rejected', async (t) => {
  const refused = [
    '(',
    ')',
    '(?=a)',
    '(?!a)',
    '(?<=a)',
    '(?<n>a)',
    '(?P<n>a)',
    '(?m)a',
    'a(?i)b',
    '\\1',
    '\\k',
    '\\Q',
    '\\pL',
    '\\p{L}',
  ];
  refused.push(
    '\\h',
    '\\R',
    '\\Z',
    '\\C',
    '[',
    '[]',
    '[^]',
    '[a',
    '[[:alpha:]]',
    '[b-a]',
    '[a-\\d]',
    '*a',
    'a**',
    'a++',
    'a{2',
    '{2}',
  );
  refused.push(
    'a{3,2}',
    'a{1001}',
    '(a{40}){40}',
    '(?:a{0,500}){0,500}',
    '(?:a.{0,30}){30}\\z',
    'a{0,301}',
    '^*',
    '\\b+',
    '\\x{110000}',
    '\\x{d800}',
    '(?:(?:|||||a)){290}',
    '\\',
    'x'.repeat(129),
  );
  for (const pattern of refused)
    t.throws(() => new PatternValidator().check(pattern), { code: 'invalid-filter' }, pattern.slice(0, 40));
});

t.test('the patterns of one filter are limited together, in both forms', async (t) => {
  const condition = (n: number) => ({ [`a${n}`]: { $regex: 'a.{0,255}' } });
  const filter = (count: number) => ({ $or: Array.from({ length: count }, (_, n) => condition(n)) });
  const parameters = (count: number) =>
    Array.from({ length: count }, (_, n): [string, string] => [`a${n}[regex]`, 'a.{0,255}']);
  t.ok(parseQueryJson({ filter: filter(3) }));
  t.throws(() => parseQueryJson({ filter: filter(4) }), { code: 'invalid-filter' });
  t.ok(parseQuery(parameters(3)));
  t.throws(() => parseQuery(parameters(4)), { code: 'invalid-filter' });
  t.throws(() => parseQuery([['filter', JSON.stringify(filter(2))], ...parameters(2)]), { code: 'invalid-filter' });
});

t.test('malicious patterns are tested in linear time', async (t) => {
  const text = `${'a'.repeat(50_000)}b`;
  for (const pattern of ['^(a|a)*$', '^(a+)+$', '(a*)*c', '^(a|aa)+$', 'a*a*a*a*a*c']) {
    t.equal(compilePattern(pattern).test(text), false, pattern);
  }
});

t.test('letter case follows simple folding, the Kelvin sign with K', async (t) => {
  t.same(caseGroup(0x6b), [0x4b, 0x6b, 0x212a]);
  t.same(caseGroup(0x73), [0x53, 0x73, 0x17f]);
  t.same(caseGroup(0xdf), [0xdf, 0x1e9e]);
  t.same(caseGroup(0x3c2), [0x3a3, 0x3c2, 0x3c3]);
  t.same(caseGroup(0x69), [0x49, 0x69], 'no dotted or dotless i');
  t.same(caseGroup(0x10400), [0x10400, 0x10428]);
  t.same(caseGroup(0x31), [0x31]);
  t.equal(foldCase('Straße \u212a\u{10428}'), foldCase('STRAẞE k\u{10400}'));
  t.not(foldCase('ss'), foldCase('ß'));
  for (let code = 1; code <= 0x1ffff; code++) {
    if (code >= 0xd800 && code < 0xe000) continue;
    const [character, first] = [code, caseGroup(code)[0] ?? code].map((one) => String.fromCodePoint(one));
    if (foldCase(`a${character}é`) !== `A${first}${foldCase('é')}`) t.fail(`U+${code.toString(16)}`);
  }
});
