/** Included fields: combining and narrowing rules, checking paths, and cutting documents, including arrays. */
import { BSON, EJSON } from 'bson';
import t from 'tap';
import { decodeStored } from '../../../src/database/bson/stored.ts';
import { cutBytes } from '../../../src/policies/fields/cut-bytes.ts';
import { parseFieldRules } from '../../../src/policies/fields/field-rules.ts';
import {
  ALL,
  coversPath,
  cutTo,
  fieldTree,
  intersection,
  NONE,
  sameTree,
  touches,
  union,
} from '../../../src/query/evaluate/field-tree.ts';
import { parseFields, treeOf } from '../../../src/query/evaluate/fields.ts';
import { seeded } from '../../query/random.ts';
import { documentFields, id } from '../../query/random-documents.ts';

const exclude = (...names: string[]) => fieldTree(true, new Map(names.map((name) => [name, NONE])));
const include = (...names: string[]) => fieldTree(false, new Map(names.map((name) => [name, ALL])));
const inside = (rest: boolean, name: string, tree: ReturnType<typeof include>) =>
  fieldTree(rest, new Map([[name, tree]]));

t.test('rules combine and narrow to their shortest form', async (t) => {
  t.equal(union([exclude('a'), include('a')]), ALL);
  t.ok(sameTree(union([exclude('a', 'b'), exclude('b', 'c')]), exclude('b')));
  t.ok(sameTree(union([include('a'), include('b')]), include('b', 'a')));
  t.ok(sameTree(intersection([exclude('a'), include('a', 'b')]), include('b')));
  t.equal(intersection([include('a'), include('b')]), NONE);
  t.ok(sameTree(union([inside(true, 'a', exclude('x')), inside(false, 'a', include('x', 'y'))]), ALL));
  t.equal(union([]), NONE);
});

t.test('a path is covered when everything below it is included, however arrays are read', async (t) => {
  const tree = inside(true, 'items', exclude('cost'));
  for (const path of ['items.name', 'items.0.name', 'other', 'items.name.cost'])
    t.equal(coversPath(tree, path), true, path);
  for (const path of ['items', 'items.cost', 'items.0.cost', 'items.0', 'items.cost.x'])
    t.equal(coversPath(tree, path), false, path);
  t.equal(touches(tree, 'items'), true);
  t.equal(touches(tree, 'items.cost.x'), false);
});

t.test('documents are cut, and unchanged when nothing is hidden', async (t) => {
  const document = { _id: 1, items: [{ name: 'a', cost: 1 }, 7, [{ cost: 2 }]], cost: 3 };
  t.equal(cutTo(document, ALL), document);
  t.strictSame(cutTo(document, inside(true, 'items', exclude('cost'))), {
    _id: 1,
    items: [{ name: 'a' }, 7, [{}]],
    cost: 3,
  });
  t.strictSame(cutTo(document, inside(false, 'items', include('name'))), { items: [{ name: 'a' }, [{}]] });
  t.strictSame(cutTo(document, NONE), {});
});

t.test('a rule cuts like the same fields of a query, which agree with the database', async (t) => {
  const random = seeded(t);
  const wrong: string[] = [];
  for (let n = 0; n < 300; n++) {
    const out = random.chance(0.5);
    const paths = [...new Set(random.several(1, 4, () => random.pick(['a', 'b', 'a.a', 'a.b', 'a.b.a', 'b.a', 'c'])))];
    const names = paths.filter((path) => !paths.some((other) => path.startsWith(`${other}.`)));
    const rule = parseFieldRules(out ? ['*', ...names.map((name) => `-${name}`)] : names);
    const fields = parseFields(out ? names.map((name) => `-${name}`) : [...names, '_meta']);
    const raw = BSON.serialize({ _id: id(random, n), ...documentFields(random) });
    const document = decodeStored(raw);
    const sign = (one: unknown) => EJSON.stringify(one, { relaxed: false });
    const [found, expected] = [cutTo(document, rule), cutTo(document, treeOf(fields))];
    if (sign(found) !== sign(expected))
      wrong.push(`${names} of ${sign(document)}: ${sign(found)}, not ${sign(expected)}`);
    const bytes = decodeStored(cutBytes(raw, rule));
    if (sign(bytes) !== sign(found)) wrong.push(`${names} of the bytes of ${sign(document)}: ${sign(bytes)}`);
  }
  t.strictSame(wrong, []);
});
