/**
 * The sort key of long arrays: the same with a pause at every possible point, found fast, and other work runs
 * meanwhile. That it is the server's key is tested in paging.test.ts.
 */
import { BSON } from 'bson';
import t from 'tap';
import { decodeDocument } from '../../../src/database/bson/stored-document.ts';
import { runCooperatively } from '../../../src/lib/concurrency/cooperative-yield.ts';
import { compileMatcher } from '../../../src/query/evaluate/match.ts';
import { fieldFilter } from '../../../src/query/filter.ts';
import { parseSort } from '../../../src/query/page/sort.ts';
import { sortKeyOf } from '../../../src/query/page/sort-key.ts';
import { longestHold } from '../../helpers/longest-hold.ts';
import { seeded } from '../random.ts';
import { fields, value } from '../random-documents.ts';

const SORTS = ['a', '-a', 'o.a', 'o.a,-o.b', '-o.b,o.a.b,a'].map((names) => parseSort(names.split(',')));

t.test('with a pause at every possible point, the key of random arrays is the same', async (t) => {
  const random = seeded(t);
  let pauses = 0;
  const turn = async () => {
    pauses += 1;
  };
  for (let n = 0; n < 100; n++) {
    const a = Array.from({ length: 300 }, () => value(random, 2));
    const o = Array.from({ length: 300 }, () => ({ ...fields(random, 2), a: random.chance(0.05) ? a : n }));
    const document = decodeDocument(BSON.serialize({ _id: n, a, o }));
    for (const sort of SORTS) {
      t.strictSame(await runCooperatively(() => sortKeyOf(document, sort), turn, 0), sortKeyOf(document, sort));
    }
  }
  t.ok(pauses > 1_000, `${pauses} pauses`);
});

t.test('others get their turn while the key of an array of 1,200,000 elements is computed', async (t) => {
  const document = { a: Array.from({ length: 1_200_000 }, (_, n) => n % 1_000) };
  const [sort = []] = SORTS;
  sortKeyOf(document, sort);
  const atOnce = await longestHold(async () => sortKeyOf(document, sort));
  const held = await longestHold(() => runCooperatively(() => sortKeyOf(document, sort)));
  t.comment(`${atOnce.toFixed()} ms at one time, ${held.toFixed()} ms in one go`);
  t.ok(held < atOnce / 2, `${held.toFixed()} of ${atOnce.toFixed()} ms in one go`);
});

/** Milliseconds of CPU. */
function took(work: () => unknown): number {
  const before = process.threadCpuUsage();
  work();
  const { user, system } = process.threadCpuUsage(before);
  return (user + system) / 1_000;
}

t.test('the names of a large document among many small ones are listed once, not at each comparison', async (t) => {
  const large = Object.fromEntries(Array.from({ length: 20_000 }, (_, n) => [`k${n}`, 1]));
  const small = Array.from({ length: 3_000 }, () => ({ z: 2 }));
  const [sort = []] = SORTS;
  const nested = { a: [{ inner: large }, ...small.map((inner) => ({ inner }))] };
  const requested = compileMatcher(fieldFilter('a', { op: 'gt', value: BSON.deserialize(BSON.serialize(large)) }));
  const among = compileMatcher(fieldFilter('a', { op: 'in', values: [large] }));
  const ways: Record<string, () => unknown> = {
    'a sort key': () => sortKeyOf({ a: [large, ...small] }, sort),
    'a sort key of nested ones': () => sortKeyOf(nested, sort),
    'a condition': () => requested({ a: small.map(() => ({ a: 2 })) }),
    'a list of values': () => among({ a: small }),
  };
  for (const [name, way] of Object.entries(ways)) {
    const ms = took(way);
    t.comment(`${name}: ${ms.toFixed()} ms`);
    t.ok(ms < 1_000, `${name} takes ${ms.toFixed()} ms of CPU`);
  }
});
