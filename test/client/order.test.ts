/** The client's order of documents equals the server's: by type, numbers as numbers, texts by code point, each direction. */
import t from 'tap';
import { type SortKey, sortKeyComparator } from '../../client/sort-keys.ts';

const sorted = (sort: string, keys: readonly SortKey[]) =>
  keys.toSorted(sortKeyComparator(sort)).map(([first]) => first);

t.test('Types are ordered as in the database.', async (t) => {
  const keys = [[true], [[1]], [{ a: 1 }], ['a'], [2], [null], [false], [-1]];
  t.strictSame(sorted('x', keys), [null, -1, 2, 'a', { a: 1 }, [1], false, true]);
  t.strictSame(sorted('-x', keys), [true, false, [1], { a: 1 }, 'a', 2, -1, null]);
});

t.test('Texts are ordered by code point, not by UTF-16 unit.', async (t) => {
  t.strictSame(sorted('x', [['\u{1f600}'], ['\uffee'], ['b'], ['B'], ['ba']]), ['B', 'b', 'ba', '\uffee', '\u{1f600}']);
});

t.test('Equal values are ordered by the next key, and the id ascends in both directions.', async (t) => {
  const order = sortKeyComparator('-points,name');
  const keys: SortKey[] = [
    [1, 'b', 'id2'],
    [1, 'a', 'id9'],
    [2, 'z', 'id0'],
    [1, 'b', 'id1'],
  ];
  t.strictSame(
    keys.toSorted(order).map((key) => key[2]),
    ['id0', 'id9', 'id1', 'id2'],
  );
});

t.test('Lists and objects are compared element by element.', async (t) => {
  t.strictSame(sorted('x', [[[1, 2]], [[1]], [[0, 9]]]), [[0, 9], [1], [1, 2]]);
  t.strictSame(sorted('x', [[{ a: 2 }], [{ a: 1, b: 1 }], [{ a: 1 }]]), [{ a: 1 }, { a: 1, b: 1 }, { a: 2 }]);
  t.strictSame(sorted('x', [[{ a: 'x' }], [{ b: 1 }]]), [{ b: 1 }, { a: 'x' }], 'by type before name');
});
