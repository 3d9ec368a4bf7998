/** Included fields: combining and narrowing rules, checking paths, and cutting documents, including arrays. */
import { BSON, EJSON } from 'bson';
import t from 'tap';
import { decodeExactDocument } from '../../../src/database/bson/stored-document.ts';
import { parseFieldRules } from '../../../src/policies/fields/field-rules.ts';
import { selectBsonFields } from '../../../src/policies/fields/select-bson-fields.ts';
import { parseFields, toFieldTree } from '../../../src/query/evaluate/field-selection.ts';
import {
  createFieldTree,
  EMPTY_FIELD_TREE,
  FULL_FIELD_TREE,
  fieldTreeIncludesPath,
  intersectFieldTrees,
  mayIncludePath,
  sameFieldTree,
  selectFields,
  unionFieldTrees,
} from '../../../src/query/evaluate/field-tree.ts';
import { seeded } from '../../query/random.ts';
import { documentFields, id } from '../../query/random-documents.ts';

const exclude = (...names: string[]) => createFieldTree(true, new Map(names.map((name) => [name, EMPTY_FIELD_TREE])));
const include = (...names: string[]) => createFieldTree(false, new Map(names.map((name) => [name, FULL_FIELD_TREE])));
const inside = (rest: boolean, name: string, tree: ReturnType<typeof include>) =>
  createFieldTree(rest, new Map([[name, tree]]));

t.test('rules combine and narrow to their shortest form', async (t) => {
  t.equal(unionFieldTrees([exclude('a'), include('a')]), FULL_FIELD_TREE);
  t.ok(sameFieldTree(unionFieldTrees([exclude('a', 'b'), exclude('b', 'c')]), exclude('b')));
  t.ok(sameFieldTree(unionFieldTrees([include('a'), include('b')]), include('b', 'a')));
  t.ok(sameFieldTree(intersectFieldTrees([exclude('a'), include('a', 'b')]), include('b')));
  t.equal(intersectFieldTrees([include('a'), include('b')]), EMPTY_FIELD_TREE);
  t.ok(
    sameFieldTree(
      unionFieldTrees([inside(true, 'a', exclude('x')), inside(false, 'a', include('x', 'y'))]),
      FULL_FIELD_TREE,
    ),
  );
  t.equal(unionFieldTrees([]), EMPTY_FIELD_TREE);
});

t.test('a path is covered when everything below it is included, however arrays are read', async (t) => {
  const tree = inside(true, 'items', exclude('cost'));
  for (const path of ['items.name', 'items.0.name', 'other', 'items.name.cost'])
    t.equal(fieldTreeIncludesPath(tree, path), true, path);
  for (const path of ['items', 'items.cost', 'items.0.cost', 'items.0', 'items.cost.x'])
    t.equal(fieldTreeIncludesPath(tree, path), false, path);
  t.equal(mayIncludePath(tree, 'items'), true);
  t.equal(mayIncludePath(tree, 'items.cost.x'), false);
});

t.test('documents are cut, and unchanged when nothing is hidden', async (t) => {
  const document = { _id: 1, items: [{ name: 'a', cost: 1 }, 7, [{ cost: 2 }]], cost: 3 };
  t.equal(selectFields(document, FULL_FIELD_TREE), document);
  t.strictSame(selectFields(document, inside(true, 'items', exclude('cost'))), {
    _id: 1,
    items: [{ name: 'a' }, 7, [{}]],
    cost: 3,
  });
  t.strictSame(selectFields(document, inside(false, 'items', include('name'))), { items: [{ name: 'a' }, [{}]] });
  t.strictSame(selectFields(document, EMPTY_FIELD_TREE), {});
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
    const document = decodeExactDocument(raw);
    const sign = (one: unknown) => EJSON.stringify(one, { relaxed: false });
    const [found, expected] = [selectFields(document, rule), selectFields(document, toFieldTree(fields))];
    if (sign(found) !== sign(expected))
      wrong.push(`${names} of ${sign(document)}: ${sign(found)}, not ${sign(expected)}`);
    const bytes = decodeExactDocument(selectBsonFields(raw, rule));
    if (sign(bytes) !== sign(found)) wrong.push(`${names} of the bytes of ${sign(document)}: ${sign(bytes)}`);
  }
  t.strictSame(wrong, []);
});
