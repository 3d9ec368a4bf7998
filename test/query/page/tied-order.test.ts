/**
 * Results in the order without the id that are uncertain: those that the server cut, those that changed between two
 * queries, and values that look equal here. Pages on a real server are in test/query/paging.test.ts.
 */
import type { Document } from 'bson';
import t from 'tap';
import { type QueryPageResponse, requestPageBreakingTies } from '../../../src/query/page/page-without-id-index.ts';
import { parseSort } from '../../../src/query/page/sort.ts';

/** Requests four documents sorted by `a`; the results come in this order. */
async function reported(...responses: readonly QueryPageResponse<Document>[]): Promise<readonly unknown[] | null> {
  const left = [...responses];
  const request = async (): Promise<QueryPageResponse<Document>> => left.shift() ?? { documents: [] };
  const found = await requestPageBreakingTies(request, { filter: {}, sort: parseSort(['a']) }, 4, (one) => one);
  return found && [...found.documents.map(({ _id }): unknown => _id), ...(found.more ? ['more'] : [])];
}

const some = (...pairs: readonly (readonly [id: unknown, a?: unknown])[]): Document[] =>
  pairs.map(([_id, a]) => (a === undefined ? { _id } : { _id, a }));

t.test('documents with equal keys are sorted by their ids', async (t) => {
  t.strictSame(await reported({ documents: some([2, 1], [1, 1], [3, 2]) }), [1, 2, 3], 'of a whole list');
  t.strictSame(
    await reported({ documents: some([2, 1], [1, 1], [3, 2], [9, 3]) }),
    [1, 2, 3, 9],
    'of one that goes on',
  );
  const run = { documents: some([4, 2], [5, 2]) };
  t.strictSame(
    await reported({ documents: some([2, 1], [1, 1], [7, 2], [6, 2]) }, run),
    [1, 2, 4, 5],
    'a run that goes on',
  );
  t.strictSame(await reported({ documents: some([2], [1, null], [3, 2]) }), [1, 2, 3], 'a missing value equals null');
});

t.test('a result that the server cut ends before a run that may continue', async (t) => {
  t.strictSame(await reported({ documents: some([2, 1], [1, 1], [3, 2]), more: true }), [1, 2, 3, 'more']);
  t.equal(await reported({ documents: some([2, 1]), more: true }), null, 'which may be all of it');
  t.equal(await reported({ documents: some([2, 1], [1, 1]), more: true }), null);
});

t.test('documents that changed between the two queries are read again', async (t) => {
  const first = { documents: some([2, 1], [1, 1], [7, 2], [6, 2]) };
  t.equal(await reported(first, { documents: some([4, 2]) }), null, 'a shorter run');
  t.equal(await reported(first, { documents: some([1, 2], [4, 2]) }), null, 'one that was found before');
});

t.test('values that may be equal for the server are left to it', async (t) => {
  const doubtful = ['a\ufffd', new Date(Number.NaN), { a: 1 }, [1]];
  for (const a of doubtful) t.equal(await reported({ documents: some([2, a]) }), null);
  t.equal(await reported({ documents: some([2, 'b'], [1, 'a']) }), null, 'an order that is not this one');
});
