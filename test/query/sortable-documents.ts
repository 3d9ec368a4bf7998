/**
 * Random documents to be sorted: keys of mixed kinds, missing ones, arrays, values that often coincide and values that
 * seldom do.
 */
import { BSON, type Document } from 'bson';
import type { Random } from './random.ts';
import { id, value } from './random-documents.ts';

/** One array at most among `a`, `b`, `o` and below, and of `d` and `f`: the server sorts by one array only. */
export function document(random: Random, n: number): Document {
  const scalars = (): Document => ({ a: single(random), b: single(random), c: random.below(3) });
  const created: Document = { ...scalars(), o: random.chance(0.8) ? scalars() : single(random), n };
  for (const name of ['a', 'b', 'o']) if (random.chance(0.15)) delete created[name];
  const array = random.below(4);
  if (array === 0) created['a'] = random.several(0, 3, () => value(random, 1));
  if (array === 1) created['o'] = random.several(0, 3, () => (random.chance(0.7) ? scalars() : value(random, 1)));
  if (array === 2) created['o'] = { a: random.several(0, 3, () => value(random, 1)), b: single(random) };
  created['d'] = plain(random);
  const f = spread(random);
  created['f'] = Array.isArray(created['d']) && Array.isArray(f) ? null : f;
  if (random.chance(0.9)) {
    const e = { d: plain(random), f: spread(random) };
    created['e'] = random.chance(0.97)
      ? e
      : [
          { d: 1, f: 1 },
          { ...e, d: 'x' },
        ];
  }
  return { ...created, _id: id(random, n) };
}

/** Mostly values that plain comparisons handle, many of them equal, and a few that they miss. */
function plain(random: Random): unknown {
  if (random.chance(0.03)) return random.pick<unknown>([null, [], [1, 'x'], Number.NaN, true]);
  const n = random.below(6);
  return random.pick<unknown>([
    n,
    n / 2,
    BSON.Long.fromNumber(n),
    `${n}`,
    new Date(n),
    BSON.ObjectId.createFromTime(n),
  ]);
}

/** As `plain`, but seldom the same value twice. */
function spread(random: Random): unknown {
  const n = random.below(200);
  if (random.chance(0.04)) return random.pick<unknown>([null, [], [1, n + 100], ['a', `${n}`], Number.NaN, true]);
  const created = [
    n,
    n,
    n / 4,
    BSON.Long.fromNumber(n),
    BSON.Decimal128.fromString(`${n}.5`),
    `${n}`,
    `${n}`,
    new Date(n),
  ];
  return random.pick<unknown>([...created, BSON.ObjectId.createFromTime(n)]);
}

/** No array, and none inside. */
function single(random: Random): unknown {
  const created = random.chance(0.2) ? { b: value(random, 0), a: random.below(3) } : value(random, 0);
  return Array.isArray(created) ? null : created;
}
