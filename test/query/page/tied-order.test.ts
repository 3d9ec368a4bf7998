/**
 * What is not told by answers in the order without the id: those that the server cut, those that changed between two
 * questions, and values that look alike here. Pages on a real server are in test/query/paging.test.ts.
 */
import type { Document } from 'bson';
import t from 'tap';
import { parseSort } from '../../../src/query/page/sort.ts';
import { askInTies, type TiedAnswer } from '../../../src/query/page/tied-order.ts';

/** Asks for four documents sorted by `a`; the answers come in this order. */
async function told(...answers: readonly TiedAnswer<Document>[]): Promise<readonly unknown[] | null> {
  const left = [...answers];
  const ask = async (): Promise<TiedAnswer<Document>> => left.shift() ?? { documents: [] };
  const found = await askInTies(ask, { filter: {}, sort: parseSort(['a']) }, 4, (one) => one);
  return found && [...found.documents.map(({ _id }): unknown => _id), ...(found.more ? ['more'] : [])];
}

const some = (...pairs: readonly (readonly [id: unknown, a?: unknown])[]): Document[] =>
  pairs.map(([_id, a]) => (a === undefined ? { _id } : { _id, a }));

t.test('equal keys are put in the order of their ids', async (t) => {
  t.strictSame(await told({ documents: some([2, 1], [1, 1], [3, 2]) }), [1, 2, 3], 'of a whole list');
  t.strictSame(await told({ documents: some([2, 1], [1, 1], [3, 2], [9, 3]) }), [1, 2, 3, 9], 'of one that goes on');
  const run = { documents: some([4, 2], [5, 2]) };
  t.strictSame(
    await told({ documents: some([2, 1], [1, 1], [7, 2], [6, 2]) }, run),
    [1, 2, 4, 5],
    'a run that goes on',
  );
  t.strictSame(await told({ documents: some([2], [1, null], [3, 2]) }), [1, 2, 3], 'a missing value equals null');
});

t.test('an answer that the server cut ends before a run that may go on', async (t) => {
  t.strictSame(await told({ documents: some([2, 1], [1, 1], [3, 2]), more: true }), [1, 2, 3, 'more']);
  t.equal(await told({ documents: some([2, 1]), more: true }), null, 'which may be all of it');
  t.equal(await told({ documents: some([2, 1], [1, 1]), more: true }), null);
});

t.test('documents that changed between the two questions are asked for again', async (t) => {
  const first = { documents: some([2, 1], [1, 1], [7, 2], [6, 2]) };
  t.equal(await told(first, { documents: some([4, 2]) }), null, 'a shorter run');
  t.equal(await told(first, { documents: some([1, 2], [4, 2]) }), null, 'one that was found before');
});

t.test('what may be equal for the server is left to it', async (t) => {
  const doubtful = ['a\ufffd', new Date(Number.NaN), { a: 1 }, [1]];
  for (const a of doubtful) t.equal(await told({ documents: some([2, a]) }), null);
  t.equal(await told({ documents: some([2, 'b'], [1, 'a']) }), null, 'an order that is not this one');
});
