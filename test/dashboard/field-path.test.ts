/** Columns and filters of the dashboard: members whose names have dots, begin with `$` or are empty. */
import t from 'tap';
import { readConditions, writeConditions } from '../../dashboard/src/pages/data/conditions.ts';
import { columnsOf, valueAt } from '../../dashboard/src/pages/data/parts/columns.ts';
import { pathOfName, stepsOf } from '../../dashboard/src/parts/field-path.ts';

t.test('a path leads to a member by any name', (t) => {
  const document = { 'x.y': { $z: 1, '': { a: 2 } }, "it's": 3, 'a[0]': 4, b: { c: 5 } };
  for (const [path, value] of [
    ["['x.y']['$z']", 1],
    ["['x.y'][''].a", 2],
    ["it's", 3],
    ["['it\\'s']", 3],
    ["['a[0]']", 4],
    ['b.c', 5],
    ['x.y', undefined],
  ] as const)
    t.equal(valueAt(document, path), value, path);
  for (const name of Object.keys(document)) t.strictSame(stepsOf(pathOfName(name)), [name]);
  t.end();
});

t.test('columns and conditions keep such paths', (t) => {
  const fields = ["['x.y']", "['x.y']['$z']", 'b', 'b.c'].map((path) => ({ path, documents: 1, types: [] }));
  const shape = { sampled: 1, complete: true, fields };
  t.strictSame(
    columnsOf(shape, undefined).map(({ path }) => path),
    ['id', "['x.y']", 'b'],
  );
  const conditions = [
    { path: "['x.y']['$z']", operator: 'gte', value: '3' },
    { path: "['x.y']", operator: 'eq', value: 'a' },
  ];
  const words = writeConditions(conditions);
  t.equal(words, "['x.y']['$z'][gte]=3&['x.y']=a");
  t.strictSame(readConditions(words), conditions);
  t.end();
});
