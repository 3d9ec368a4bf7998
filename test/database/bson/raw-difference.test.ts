/** The top-level fields that differ between two documents, in any order and with yields anywhere. */
import { isDeepStrictEqual } from 'node:util';
import { BSON } from 'bson';
import t from 'tap';
import { changedFieldNames } from '../../../src/database/bson/raw-bson.ts';
import { decodeDocument } from '../../../src/database/bson/stored-document.ts';
import { toWireDocument } from '../../../src/database/json/json.ts';
import { isSameJson } from '../../../src/database/json/transcode-document.ts';
import { runCooperatively } from '../../../src/lib/concurrency/cooperative-yield.ts';
import { seeded } from '../../query/random.ts';
import { documentFields, value } from '../../query/random-documents.ts';

t.test('fields of random documents are compared in any order', async (t) => {
  const random = seeded(t);
  let pauses = 0;
  const wrong: object[] = [];
  const turn = async () => {
    pauses += 1;
  };
  for (let n = 0; n < 300; n++) {
    const one = { ...documentFields(random), ...many(n % 3 === 0 ? 200 : 3, () => value(random, 1)) };
    const kept = Object.entries(one).flatMap(([name, was]): [string, unknown][] => {
      if (random.chance(0.05)) return [];
      return [[name, random.chance(0.1) ? value(random, 1) : was]];
    });
    const other = Object.fromEntries(random.chance(0.5) ? kept : [...kept.slice(2), ['new', 1], ...kept.slice(0, 2)]);
    const [a, b] = [one, other].map((document) => Buffer.from(BSON.serialize(document)));
    if (a === undefined || b === undefined) throw new Error('Two documents are needed');
    const bytesOf = (document: object, name: string) => {
      const found = Object.entries(document).find(([key]) => key === name);
      return found && Buffer.from(BSON.serialize({ x: found[1] })).toString('hex');
    };
    const names = [...new Set([...Object.keys(one), ...Object.keys(other)])];
    const differing = names.filter((name) => bytesOf(one, name) !== bytesOf(other, name));
    const [was, is] = [a, b].map((raw) => toWireDocument(decodeDocument(raw), { meta: false }));
    const shown = names.filter((name) => JSON.stringify(was?.[name]) !== JSON.stringify(is?.[name]));
    const expected = [differing, shown, shown].map((some) => some.toSorted());
    const yielding = await runCooperatively(() => changedFieldNames(a, b, isSameJson), turn, 0);
    const found = [changedFieldNames(a, b), changedFieldNames(a, b, isSameJson), yielding].map((some) =>
      some.toSorted(),
    );
    if (!isDeepStrictEqual(found, expected)) wrong.push({ n, one, other, found, expected });
  }
  t.strictSame(wrong.slice(0, 1), [], `${wrong.length} pairs are compared otherwise`);
  t.ok(pauses > 100, `${pauses} pauses`);
});

function many<T>(count: number, make: () => T): Record<string, T> {
  return Object.fromEntries(Array.from({ length: count }, (_, n) => [`m${n}`, make()]));
}

t.test('documents whose fields have all moved are compared quickly', async (t) => {
  const fields = Array.from({ length: 60_000 }, (_, n): [string, number] => [`m${n * 7}`, n]);
  const [one, other] = [fields, [...fields].reverse()].map((all) =>
    Buffer.from(BSON.serialize(Object.fromEntries(all))),
  );
  if (one === undefined || other === undefined) throw new Error('Two documents are needed');
  t.strictSame(changedFieldNames(one, other), []);
});
