/** Which results of an optimistic request are the page, and what a page sees of the neighbors of its ends. */
import type { Document } from 'bson';
import t from 'tap';
import { buildPlainComparisonPageRequest, verifyPlainComparisonPage } from '../../../src/query/page/optimistic-page.ts';
import { type PagePosition, slicePage } from '../../../src/query/page/page.ts';
import { parseSort } from '../../../src/query/page/sort.ts';

const SORT = parseSort(['a']);
const LIMIT = 2;
const read = (one: Document): Document => one;
const holdsArray = ({ a }: Document): boolean => Array.isArray(a);
const documents = (...keys: readonly (readonly [unknown, number])[]): Document[] =>
  keys.map(([a, _id]) => ({ a, _id }));
const ids = (found: readonly Document[] | null): unknown => found?.map(({ _id }) => _id) ?? null;

function found(position: PagePosition, response: readonly Document[], more = false): unknown {
  const request = buildPlainComparisonPageRequest({}, SORT, position, LIMIT);
  if (request === null) return 'no request';
  return ids(verifyPlainComparisonPage(response, { request, position, limit: LIMIT, more }, { read, holdsArray }));
}

t.test('a range from the position is the page behind the document there', async (t) => {
  const at: PagePosition = { direction: 'next', values: [5, 1], alone: true };
  t.strictSame(found(at, documents([5, 1], [6, 2], [7, 3], [8, 4])), [2, 3, 4], 'which is dropped');
  t.strictSame(found(at, documents([5, 1], [5, 9], [7, 3], [8, 4])), [9, 3, 4], 'those of its value may follow it');
  t.strictSame(found(at, documents([6, 2], [7, 3], [8, 4], [9, 5])), [2, 3, 4], 'or is gone');
  t.equal(found(at, documents([5, 0], [5, 1], [7, 3], [8, 4])), null, 'those before it take too much room');
  t.equal(found(at, documents([5, 0], [6, 2], [7, 3], [8, 4])), null, 'nor is it known, with it gone, what they are');
  t.equal(found(at, documents([5, 1], [6, 2], [7, 3])), null, 'documents of other kinds may follow');
  t.equal(found(at, documents([[1, 9], 8], [5, 1], [6, 2], [7, 3])), null, 'an array has another position');
  t.equal(found(at, []), null);
  const text: PagePosition = { direction: 'prev', values: ['e', 1], alone: true };
  t.strictSame(found(text, documents(['e', 1], ['d', 2], ['c', 3], ['b', 4])), [2, 3, 4]);
  t.equal(found(text, documents(['E', 0], ['d', 2], ['c', 3], ['b', 4])), null, 'a collation may treat both as equal');
});

t.test('ranges beyond the position are the page when they fill it', async (t) => {
  const at: PagePosition = { direction: 'next', values: [5, 1] };
  t.strictSame(found(at, documents([5, 2], [5, 3], [8, 4])), [2, 3, 4]);
  t.equal(found(at, documents([5, 2], [5, 3])), null);
  t.strictSame(found(at, documents([5, 2]), true), [2], 'or are as many as one reply holds');
  t.equal(found(at, [], true), null);
  t.equal(found(at, documents([[1, 9], 8], [5, 3], [6, 4])), null);
});

t.test('other positions are not read by plain comparisons', async (t) => {
  for (const value of [null, undefined, Number.NaN, true, { a: 1 }, [1]])
    t.equal(found({ direction: 'next', values: [value, 1], alone: true }, []), 'no request');
});

t.test('an end of a page is unique when both its neighbors are known and have other values', async (t) => {
  const seen = (position: PagePosition | null, response: readonly Document[]) => {
    const { next, prev } = slicePage(response, { sort: SORT, limit: LIMIT, position }, read);
    return [prev?.alone, next?.alone];
  };
  const forwards = (value: number): PagePosition => ({ direction: 'next', values: [value, 1] });
  const backwards = (value: number): PagePosition => ({ direction: 'prev', values: [value, 9] });
  t.strictSame(seen(null, documents([5, 2], [6, 3], [7, 4])), [undefined, true]);
  t.strictSame(seen(null, documents([6, 2], [6, 3], [7, 4])), [undefined, false], 'the one before');
  t.strictSame(seen(null, documents([5, 2], [6, 3], [6, 4])), [undefined, false], 'the one more');
  t.strictSame(seen(forwards(4), documents([5, 2], [6, 3], [7, 4])), [true, true]);
  t.strictSame(seen(forwards(5), documents([5, 2], [6, 3], [7, 4])), [false, true], "the cursor's own");
  t.strictSame(seen(forwards(4), documents([5, 2])), [false, undefined], 'nothing known');
  t.strictSame(seen(backwards(8), documents([7, 4], [6, 3], [5, 2])), [true, true]);
  t.strictSame(seen(backwards(7), documents([7, 4], [6, 3], [6, 2])), [false, false]);
});
