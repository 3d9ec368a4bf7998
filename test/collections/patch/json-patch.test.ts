/** JSON Patch as a pure function: the official vectors, stored values, hostile input. */
import { createRequire } from 'node:module';
import { Decimal128, Double, Int32, Long } from 'mongodb';
import t from 'tap';
import {
  applyJsonPatch,
  type JsonPatch,
  parseJsonPatch,
  parseOperation,
} from '../../../src/collections/patch/json-patch.ts';
import { codeOf } from '../../helpers/code-of.ts';

interface Vector {
  readonly comment?: string;
  readonly doc: unknown;
  readonly patch: readonly unknown[];
  readonly expected?: unknown;
  readonly error?: string;
  readonly disabled?: boolean;
}

/** From npm json-patch-test-suite, the suite that the authors of RFC 6902 refer to. */
const require = createRequire(import.meta.url);
const SUITES: readonly (readonly [string, readonly Vector[]])[] = [
  ['spec_tests', require('json-patch-test-suite/spec_tests.json')],
  ['tests', require('json-patch-test-suite/tests.json')],
];

const patched = (document: unknown, patch: unknown): unknown => applyJsonPatch(document, parseJsonPatch(patch));
/** JSON without the null prototypes that keep hostile names harmless. */
const plain = (value: unknown): unknown => JSON.parse(JSON.stringify(value));

for (const [name, vectors] of SUITES) {
  t.test(`the vectors of ${name}.json`, async (t) => {
    for (const [index, vector] of vectors.entries()) {
      if (vector.disabled) continue;
      const title = `${index}: ${vector.comment ?? JSON.stringify(vector.patch)}`;
      const before = JSON.stringify(vector.doc);
      const run = (): unknown => {
        const patch: JsonPatch = vector.patch.map(parseOperation);
        return applyJsonPatch(vector.doc, patch);
      };
      if (vector.error === undefined) t.strictSame(plain(run()), vector.expected ?? vector.doc, title);
      else t.match(codeOf(run), /^(invalid-patch|patch-test-failed)$/, `${title}: ${vector.error}`);
      t.equal(JSON.stringify(vector.doc), before, `${title}: the input is unchanged`);
    }
  });
}

t.test('JSON Patch on stored values', async (t) => {
  const when = new Date('2026-01-02T03:04:05.678Z');
  const price = Decimal128.fromString('19.90');
  const document = {
    when,
    price,
    list: [when, price, new Long(1, 1)],
    n: new Int32(3),
    d: new Double(3),
    o: { a: null },
  };

  await t.test('stored values keep their type when moved and copied', async (t) => {
    const result = patched(document, [
      { op: 'move', from: '/when', path: '/since' },
      { op: 'copy', from: '/list', path: '/copy' },
      { op: 'remove', path: '/list/0' },
    ]);
    t.match(result, { since: when, copy: [when, price, new Long(1, 1)], list: [price, new Long(1, 1)] });
    t.notOk(Object.hasOwn(Object(result), 'when'));
  });

  await t.test('stored values are tested by what clients see', async (t) => {
    t.ok(
      patched(document, [
        { op: 'test', path: '/when', value: '2026-01-02T03:04:05.678Z' },
        { op: 'test', path: '/price', value: '19.90' },
        { op: 'test', path: '/list/2', value: 4294967297 },
        { op: 'test', path: '/d', value: 3 },
        { op: 'test', path: '/o', value: { a: null } },
      ]),
    );
    t.equal(
      codeOf(() => patched(document, [{ op: 'test', path: '/price', value: '19.9' }])),
      'patch-test-failed',
    );
  });

  await t.test('stored values keep their type when replaced by their own text', async (t) => {
    const result = Object(patched(document, [{ op: 'replace', path: '/list', value: [when.toISOString(), '1'] }]));
    t.strictSame(result.list, [when, '1']);
  });

  await t.test('stored values are leaves: nothing inside them can be addressed', async (t) => {
    for (const path of ['/d/value', '/price/bytes', '/when/getTime', '/n/_bsontype', '/list/length', '/o/toString']) {
      t.match(
        codeOf(() => patched(document, [{ op: 'remove', path }])),
        /invalid-patch|unsupported-field-name/,
        path,
      );
    }
  });
});

t.test('invalid JSON Patches are rejected', async (t) => {
  const REFUSED: readonly (readonly [string, unknown, string])[] = [
    ['no array', {}, 'invalid-patch'],
    ['no object in it', [1], 'invalid-patch'],
    ['an unknown operation', [{ op: 'merge', path: '/a' }], 'invalid-patch'],
    ['no pointer', [{ op: 'remove', path: 'a' }], 'invalid-patch'],
    ['a bad escape', [{ op: 'remove', path: '/a~2' }], 'invalid-patch'],
    ['no value', [{ op: 'add', path: '/a' }], 'invalid-patch'],
    ['no from', [{ op: 'copy', path: '/a' }], 'invalid-patch'],
    ['a missing path', [{ op: 'remove', path: '/none' }], 'invalid-patch'],
    ['a path in a scalar', [{ op: 'add', path: '/a/b', value: 1 }], 'invalid-patch'],
    ['the whole', [{ op: 'remove', path: '' }], 'invalid-patch'],
    ['a value into itself', [{ op: 'move', from: '/o', path: '/o/x' }], 'invalid-patch'],
    ['id', [{ op: 'replace', path: '/id', value: 'x' }], 'invalid-patch'],
    ['_id', [{ op: 'add', path: '/_id', value: 'x' }], 'invalid-patch'],
    ['_meta', [{ op: 'remove', path: '/_meta' }], 'invalid-patch'],
    ['inside _meta', [{ op: 'add', path: '/_meta/revision', value: 9 }], 'invalid-patch'],
    ['id moved away', [{ op: 'move', from: '/id', path: '/a' }], 'invalid-patch'],
    ['__proto__', [{ op: 'add', path: '/__proto__', value: { polluted: true } }], 'unsupported-field-name'],
    ['inside __proto__', [{ op: 'add', path: '/__proto__/polluted', value: true }], 'unsupported-field-name'],
    [
      'constructor.prototype',
      [{ op: 'add', path: '/constructor/prototype/polluted', value: 1 }],
      'unsupported-field-name',
    ],
    [
      'a prototype into constructor',
      [{ op: 'add', path: '/constructor', value: { prototype: 1 } }],
      'unsupported-field-name',
    ],
    ['_bsontype', [{ op: 'add', path: '/o/_bsontype', value: 'Long' }], 'unsupported-field-name'],
    ['NUL', [{ op: 'add', path: '/a\0b', value: 1 }], 'unsupported-field-name'],
    ['1,001 operations', Array(1001).fill({ op: 'test', path: '/a', value: 1 }), 'invalid-patch'],
    ['too deep', [{ op: 'add', path: '/o/x', value: nested(99) }], 'json-too-deep'],
    [
      'copies of copies',
      Array.from({ length: 40 }, (_, n) => ({ op: 'copy', from: '/o', path: `/o/c${n}` })),
      'document-too-large',
    ],
  ];
  for (const [name, patch, code] of REFUSED) {
    t.equal(
      codeOf(() => patched({ id: 'x', a: 1, o: { p: 'x'.repeat(100) }, _meta: {} }, patch)),
      code,
      name,
    );
  }
  t.equal(Object('').polluted, undefined);
  t.ok(patched({ o: {} }, [{ op: 'add', path: '/o/x', value: nested(98) }]), 'depth 100 passes');
});

t.test('id and _meta can be tested and copied', async (t) => {
  const document = { id: 'x', _meta: { revision: 3 } };
  const patch = [
    { op: 'test', path: '/_meta/revision', value: 3 },
    { op: 'copy', from: '/id', path: '/was' },
  ];
  t.match(patched(document, patch), { was: 'x' });
});

t.test('an error of a JSON Patch has the index of its operation', async (t) => {
  try {
    patched({ a: 1 }, [
      { op: 'test', path: '/a', value: 1 },
      { op: 'remove', path: '/b' },
    ]);
    t.fail('it must throw');
  } catch (error) {
    t.match(error, {
      message: "Operation 1: the path '/b' does not exist in the document",
      issues: [{ pointer: '/1' }],
    });
  }
});

function nested(depth: number): unknown {
  return depth === 0 ? 1 : { a: nested(depth - 1) };
}
