/**
 * Evaluation with pauses: the same result as evaluation without, wherever it pauses; it continues where it was; and
 * other work runs within one condition on one value. Also an optimization: long texts are folded once.
 */
import { BSON } from 'bson';
import t from 'tap';
import { decodeExactDocument } from '../../src/database/bson/stored-document.ts';
import { runCooperatively } from '../../src/lib/concurrency/cooperative-yield.ts';
import { compileMatcher } from '../../src/query/evaluate/match.ts';
import { and, type Filter, fieldFilter, not, or } from '../../src/query/filter.ts';
import { foldCaseCached } from '../../src/query/text/case-fold-cache.ts';
import { Random } from '../helpers/random.ts';
import { seeded } from './random.ts';
import { documentFields } from './random-documents.ts';
import { filter } from './random-filters.ts';

/** Evaluates with a pause at every possible point; returns how many there were. */
async function paused(work: () => boolean): Promise<{ readonly result: boolean; readonly pauses: number }> {
  let pauses = 0;
  const turn = async () => {
    pauses += 1;
    if (pauses > 100_000) throw new Error('It does not get on');
  };
  return { result: await runCooperatively(work, turn, 0), pauses };
}

const contains = (path: string, text: string, fold = true): Filter =>
  fieldFilter(path, { op: 'text', how: 'contains', fold, text });

t.test('with a pause at every possible point, random filters match the same random documents', async (t) => {
  const random = seeded(t);
  let pauses = 0;
  for (let n = 0; n < 3_000; n++) {
    const match = compileMatcher(filter(random, 3));
    const document = decodeExactDocument(BSON.serialize({ _id: n, ...documentFields(random) }));
    const found = await paused(() => match(document));
    pauses += found.pauses;
    if (found.result !== match(document)) t.fail(`the result ${n} differs`);
  }
  t.ok(pauses > 3_000, `${pauses} pauses`);
});

/** A text of 0 and 1 without a period. */
function randomBits(length: number): string {
  const random = new Random(1);
  return Array.from({ length }, () => random.below(2)).join('');
}

t.test('evaluation continues within long texts, long arrays and arrays in arrays', async (t) => {
  const text = `${'aé'.repeat(1_500_000)}Z\u{10428}`;
  const inner = Array.from({ length: 200 }, (_, n) => ({ c: n, texts: ['x', 'y', `z${n}`] }));
  const bits = `${randomBits(100_000)}0${'1'.repeat(61)}`;
  const document = decodeExactDocument(
    BSON.serialize({
      text,
      bits,
      numbers: Array.from({ length: 5_000 }, (_, n) => n),
      a: Array.from({ length: 50 }, () => ({ b: inner })),
    }),
  );
  const cases: [string, Filter, boolean][] = [
    ['at its end', contains('text', 'éz\u{10400}'), true],
    ['nowhere', contains('text', 'aa'), false],
    ['in parts', fieldFilter('text', { op: 'text', how: 'like', fold: false, text: '*éa*aé*Z*' }), true],
    ['a pattern at its end', fieldFilter('text', { op: 'regex', pattern: 'éZ\\x{10428}$' }), true],
    ['a pattern that leads to ever new states', fieldFilter('bits', { op: 'regex', pattern: '0.{60}2' }), false],
    ['and is met', fieldFilter('bits', { op: 'regex', pattern: '0.{60}1$' }), true],
    ['a pattern for the start', fieldFilter('text', { op: 'regex', pattern: '^(?:aé)+Z' }), true],
    ['an element', fieldFilter('numbers', { op: 'in', values: [4_999] }), true],
    ['an element that is none', fieldFilter('numbers', { op: 'elem', tests: [{ op: 'gt', value: 4_999 }] }), false],
    ['arrays in arrays', fieldFilter('a.b.c', { op: 'in', values: [200] }), false],
    ['texts in them', contains('a.b.texts', 'Z199'), true],
    [
      'documents in documents',
      fieldFilter('a', {
        op: 'elemWhere',
        filter: fieldFilter('b', { op: 'elemWhere', filter: contains('texts', 'q') }),
      }),
      false,
    ],
    ['many conditions', and([contains('text', 'a'), not(contains('text', 'q')), or([contains('text', 'z')])]), true],
  ];
  for (const [name, filter, expected] of cases) {
    const match = compileMatcher(filter);
    const found = await paused(() => match(document));
    t.equal(found.result, expected, name);
    t.equal(match(document), expected, `${name}, without pauses`);
    t.ok(found.pauses > 0, `${name}: ${found.pauses} pauses`);
  }
});

/** How many turns other work got while a filter was evaluated, and the result. */
async function turnsOfOthers(
  filter: Filter,
  text: string,
): Promise<{ readonly turns: number; readonly result: boolean }> {
  const match = compileMatcher(filter);
  let turns = 0;
  const count = () => {
    turns += 1;
    counting = setImmediate(count);
  };
  let counting = setImmediate(count);
  const result = await runCooperatively(() => match({ text }));
  clearImmediate(counting);
  return { turns, result };
}

t.test('others get their turn while a filter is tested on a text of 8 MB', async (t) => {
  // The engine's search takes longest for such a text.
  const filter = contains('text', `${'ab'.repeat(250)}b${'ab'.repeat(250)}`);
  const { turns, result } = await turnsOfOthers(filter, 'ab'.repeat(4_000_000));
  t.equal(result, false);
  t.ok(turns >= 5, `${turns} turns of others`);
});

t.test('other work runs while a pattern is searched for in a long text', async (t) => {
  const { turns, result } = await turnsOfOthers(
    fieldFilter('text', { op: 'regex', pattern: '0.{70}2' }),
    randomBits(500_000),
  );
  t.equal(result, false);
  t.ok(turns >= 5, `${turns} turns of others`);
});

t.test('a long text is folded once for all conditions', async (t) => {
  const text = 'é'.repeat(200_000);
  t.equal(Object.is(foldCaseCached(text), foldCaseCached(text)), true);
  const match = compileMatcher(and(Array.from({ length: 300 }, (_, n) => not(contains('text', `q${n}`)))));
  const began = process.cpuUsage();
  t.equal(match({ text }), true);
  const { user, system } = process.cpuUsage(began);
  t.ok(user + system < 1_000_000, `${(user + system) / 1000} ms of CPU for 300 conditions`);
});
