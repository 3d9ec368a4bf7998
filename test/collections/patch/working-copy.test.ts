/** What a patch may change in place: never the document, the body, or a value with two parents; and its budget. */
import t from 'tap';
import { applyJsonPatch, parseJsonPatch } from '../../../src/collections/patch/json-patch.ts';
import { applyUpdate, parseUpdate } from '../../../src/collections/patch/update.ts';
import { WorkingCopy } from '../../../src/collections/patch/working-copy.ts';
import { codeOf } from '../../helpers/code-of.ts';
import { Random, runCount, runSeed } from '../../helpers/random.ts';

const plain = (value: unknown): unknown => JSON.parse(JSON.stringify(value));

/** A deeply frozen object: a change of it throws. */
function frozen<T>(value: T): T {
  if (typeof value === 'object' && value !== null) Object.values(Object.freeze(value)).forEach(frozen);
  return value;
}

const patched = (document: unknown, patch: unknown): unknown =>
  plain(applyJsonPatch(frozen(document), parseJsonPatch(frozen(patch))));

t.test('a value with two parents changes under one of them', async (t) => {
  const set = (path: string, value: unknown): object => ({ op: 'add', path, value });
  const copy = (from: string, path: string): object => ({ op: 'copy', from, path });
  const move = (from: string, path: string): object => ({ op: 'move', from, path });
  const value = { x: { y: 1 }, list: [1] };
  const CASES: readonly (readonly [string, object, readonly object[], object])[] = [
    ['the copy', { a: { n: 1 } }, [copy('/a', '/b'), set('/b/n', 2)], { a: { n: 1 }, b: { n: 2 } }],
    ['the original', { a: { n: 1 } }, [copy('/a', '/b'), set('/a/n', 2)], { a: { n: 2 }, b: { n: 1 } }],
    [
      'a copy of what was changed before',
      { a: { o: { n: 1 } } },
      [set('/a/o/m', 0), copy('/a', '/b'), set('/b/o/n', 2), set('/a/o/m', 3)],
      { a: { o: { n: 1, m: 3 } }, b: { o: { n: 2, m: 0 } } },
    ],
    [
      'an inner part of what was changed before',
      { a: { o: { n: 1 } } },
      [set('/a/o/m', 0), copy('/a/o', '/b'), set('/a/o/n', 2), set('/b/m', 3)],
      { a: { o: { n: 2, m: 0 } }, b: { n: 1, m: 3 } },
    ],
    [
      'the whole in itself',
      { a: { n: 1 } },
      [set('/a/n', 2), copy('', '/w'), set('/w/a/n', 3), set('/a/m', 4)],
      { a: { n: 2, m: 4 }, w: { a: { n: 3 } } },
    ],
    [
      'elements',
      { a: [[1]] },
      [set('/a/0/-', 2), copy('/a/0', '/a/-'), set('/a/0/-', 3), set('/a/1/0', 0)],
      {
        a: [
          [1, 2, 3],
          [0, 1, 2],
        ],
      },
    ],
    [
      'copied, moved, changed',
      { a: { n: 1 } },
      [set('/a/n', 2), copy('/a', '/b'), move('/b', '/c'), set('/c/n', 3), move('/a', '/c/in'), set('/c/in/n', 4)],
      { c: { n: 3, in: { n: 4 } } },
    ],
    [
      'one value of the body twice',
      {},
      [set('/a', value), set('/b', value), set('/b/x/y', 2), set('/a/list/-', 2)],
      { a: { x: { y: 1 }, list: [1, 2] }, b: { x: { y: 2 }, list: [1] } },
    ],
    [
      'a test after a change',
      { a: { n: 1 } },
      [copy('/a', '/b'), set('/a/n', 2), { op: 'test', path: '/b', value: { n: 1 } }, { op: 'remove', path: '/b/n' }],
      { a: { n: 2 }, b: {} },
    ],
    [
      'replaced by what was moved',
      { a: { n: 1 }, b: [{}] },
      [set('/a/m', 1), move('/a', '/b/0'), set('/b/1/k', 1), { op: 'replace', path: '/b/0/n', value: [1] }],
      { b: [{ n: [1], m: 1 }, { k: 1 }] },
    ],
  ];
  for (const [name, document, patch, expected] of CASES) t.strictSame(patched(document, patch), expected, name);
});

t.test('a measured depth does not survive a change', async (t) => {
  const nested = (depth: number): unknown => (depth === 0 ? 1 : { a: nested(depth - 1) });
  const patch = [
    { op: 'move', from: '/o', path: '/p' },
    { op: 'add', path: '/p/x', value: nested(97) },
    { op: 'move', from: '/p', path: '/q' },
    { op: 'add', path: '/r', value: {} },
    { op: 'move', from: '/q', path: '/r/s' },
  ];
  t.equal(
    codeOf(() => patched({ o: {} }, patch)),
    'none',
  );
  const deeper = [...patch, { op: 'move', from: '/r', path: '/t' }, { op: 'add', path: '/u', value: {} }];
  t.equal(
    codeOf(() => patched({ o: {} }, [...deeper, { op: 'move', from: '/t', path: '/u/t' }])),
    'json-too-deep',
  );
});

const seed = runSeed();
const RUNS = runCount(1_500, 100_000);
t.test(`random patches at once and operation by operation are equal (MILLRACE_SEED=${seed})`, async (t) => {
  const random = new Random(seed);
  const randomPointer = (): string =>
    Array.from({ length: 1 + random.below(3) }, () => `/${random.pick(['a', 'b', '0'])}`).join('');
  const value = (): unknown => random.pick<() => unknown>([() => random.below(9), () => ({ a: {} }), () => [[], 1]])();
  let done = 0;
  for (let n = 0; n < RUNS; n++) {
    const given = [value(), value()];
    let document: unknown = frozen({ a: { a: { b: 1 }, b: [1, { a: 2 }] }, b: [[{ a: 3 }], 4] });
    const before = document;
    const patch: unknown[] = [];
    for (let attempts = 0; attempts < 12; attempts++) {
      const op = random.pick(['add', 'replace', 'remove', 'move', 'copy', 'copy']);
      const operation = { op, path: randomPointer(), from: randomPointer(), value: random.pick(given) };
      const next = document;
      // A document parsed from JSON shares nothing.
      if (codeOf(() => (document = patched(next, [operation]))) === 'none') patch.push(operation);
      else document = next;
    }
    done += patch.length;
    const whole = patched(before, patch);
    if (JSON.stringify(whole) === JSON.stringify(document)) continue;
    t.fail(`${JSON.stringify(patch)} gives ${JSON.stringify(whole)}`, { expected: document });
    break;
  }
  t.ok(done > RUNS, `${done} operations`);
});

const wide = (fields: number): Record<string, unknown> =>
  Object.fromEntries(Array.from({ length: fields }, (_, n) => [`m${n}`, n]));
/** Bytes of work for reading and copying each of the fields once, and as much again for all operations. */
const boundOf = (fields: number): number => 8 * (4 * fields + 20_000);

t.test('900 changes of a wide document copy it once', async (t) => {
  const document = frozen({ o: wide(20_000), list: Array.from({ length: 20_000 }, () => 1) });
  const numbers = Array.from({ length: 450 }, (_, n) => n);
  const adds = numbers.flatMap((n) => [
    { op: 'add', path: `/o/n${n}`, value: n },
    { op: 'add', path: '/list/-', value: n },
  ]);
  const moves = numbers.map((n) => ({ op: 'move', from: n % 2 === 0 ? '/o' : '/p', path: n % 2 === 0 ? '/p' : '/o' }));
  for (const patch of [adds, moves]) {
    const draft = new WorkingCopy();
    applyJsonPatch(document, parseJsonPatch(patch), draft);
    t.ok(draft.spentWork < boundOf(20_000), `${draft.spentWork}`);
  }
  const draft = new WorkingCopy();
  const paths = numbers.flatMap((n) => [`o.n${n}`, `list.${n}`]);
  const update = parseUpdate({ $set: Object.fromEntries(paths.map((path) => [path, 0])) });
  const next = Object(applyUpdate(document, update, new Date(0), draft));
  t.ok(draft.spentWork < boundOf(20_000), `${draft.spentWork}`);
  t.match([next.o.n449, next.list[449], next.list[450]], [0, 0, 1]);
});

t.test('tests of many elements are counted', async (t) => {
  const list = Array.from({ length: 20_000 }, (_, n) => `tag${n}`);
  const document = frozen({ list, rows: list.map((v) => ({ v })), small: ['a', 'b'] });
  const patterns = (count: number): object => ({
    $or: Array.from({ length: count }, (_, n) => ({ v: { $regex: `^${n}$` } })),
  });
  const update = (operators: unknown): unknown => applyUpdate(document, parseUpdate(operators), new Date(0));
  const big = (size: number): object => ({ $regex: `(?:a.{0,${size}}){30}b` });
  const each = Array.from({ length: 100 }, (_, n) => Array.from({ length: 500 }, (_, m) => n + m));
  t.equal(
    codeOf(() => update({ $pull: { list: { $in: Array.from({ length: 1_000 }, (_, n) => `tag${n}`) } } })),
    'none',
  );
  t.equal(
    codeOf(() => update({ $pull: { list: { $regex: '^tag[0-9]{1,3}$' } } })),
    'none',
  );
  t.equal(
    codeOf(() => update({ $pull: { small: big(8) } })),
    'none',
  );
  t.equal(
    codeOf(() => update({ $pull: { list: big(8) } })),
    'invalid-patch',
  );
  t.equal(
    codeOf(() => update({ $pull: { rows: patterns(150) } })),
    'invalid-patch',
  );
  t.equal(
    codeOf(() => update({ $addToSet: { small: { $each: each } } })),
    'none',
  );
});

t.test('a path of a million names is rejected at once', async (t) => {
  const deep = Array(500_000).fill('a');
  const pointer = `/${deep.join('/')}`;
  t.equal(
    codeOf(() => patched({}, [{ op: 'add', path: pointer, value: 1 }])),
    'json-too-deep',
  );
  t.equal(
    codeOf(() => applyUpdate({}, parseUpdate({ $set: { [deep.join('.')]: 1 } }), new Date(0))),
    'json-too-deep',
  );
});
