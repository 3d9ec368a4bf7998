/**
 * The cost of pages: with an index that has the sort, the server reads for page 10,000 what it reads for page 2, over
 * mixed types and missing values, both ways, whatever other indexes exist. Measured by query plans, not by time.
 */
import type { Document } from 'bson';
import { type Collection, MongoClient } from 'mongodb';
import t from 'tap';
import { buildPlainComparisonPageRequest } from '../../src/query/page/optimistic-page.ts';
import { buildPageRequest, type PageQuery } from '../../src/query/page/page.ts';
import { parseSort, toMongoSort } from '../../src/query/page/sort.ts';
import { sortKeyOf } from '../../src/query/page/sort-key.ts';
import { testMongo } from '../helpers/mongo.ts';

const LIMIT = 2;
const DOCUMENTS = 20_500;

/** Every type that is common in one field, and a missing value. */
function mixed(n: number): Document {
  const values = [n, `text ${n}`, n % 14 === 2, new Date(n), { n }, null];
  return n % 7 === 6 ? {} : { a: values[n % 7], b: n % 3 };
}

/** The exact request, and the optimistic ones where there are any. */
async function requests(collection: Collection, sortText: string, offset: number, direction: 'next' | 'prev') {
  const sort = parseSort(sortText.split(','));
  const [at] = await collection.find().sort(toMongoSort(sort)).skip(offset).limit(1).toArray();
  const values = sortKeyOf(at ?? {}, sort);
  const requested = [{ n: { $gte: 0 } }, sort] as const;
  const likely = [false, true].map((alone) =>
    buildPlainComparisonPageRequest(...requested, { direction, values, alone }, LIMIT),
  );
  return [buildPageRequest(...requested, { direction, values }), ...likely].filter((one) => one !== null);
}

async function explain(collection: Collection, request: PageQuery) {
  const find = collection.find(request.filter).sort(toMongoSort(request.sort));
  const { executionStats, queryPlanner } = await find.limit(LIMIT + 1).explain('executionStats');
  return {
    read: Number(executionStats.totalKeysExamined),
    plan: JSON.stringify(queryPlanner.winningPlan),
    executionStats,
  };
}

t.test('page 10,000 reads what page 2 reads', { timeout: 120_000 }, async (t) => {
  const { url, database } = await testMongo(t);
  const client = new MongoClient(url);
  t.teardown(() => client.close());
  const collection = client.db(database).collection('documents');
  await collection.insertMany(Array.from({ length: DOCUMENTS }, (_, n) => ({ ...mixed(n), n })));
  await collection.createIndexes([
    { key: { a: 1, _id: 1 } },
    { key: { a: -1, _id: 1 } },
    { key: { b: 1, a: -1, _id: 1 } },
  ]);
  for (const sort of ['id', '-id', 'a', '-a', 'b,-a']) {
    for (const direction of ['next', 'prev'] as const) {
      for (const offset of [2, LIMIT * 10_000 - 1, 3_000, 10_000]) {
        for (const [nth, request] of (await requests(collection, sort, offset, direction)).entries()) {
          const { read, plan, executionStats } = await explain(collection, request);
          const name = `${sort} ${direction} of ${offset}${nth > 0 ? ', by plain comparisons' : ''}`;
          const full = direction === 'next' || offset > 2 ? LIMIT + 1 : 2;
          if (nth === 0) t.equal(executionStats.nReturned, full, `${name} is a page`);
          t.ok(read <= 6 * (LIMIT + 1), `${name} reads ${read} keys`);
          t.notMatch(plan, /"stage":"(COLLSCAN|SORT)"/, name);
          if (!('withOwn' in request) || !request.withOwn) continue;
          t.equal(plan.match(/"stage":"IXSCAN"/g)?.length, 1, `${name}, one range`);
          t.notMatch(plan, /"stage":"(OR|SORT_MERGE)"/, name);
          t.notMatch(plan, /"indexBounds":\{"\w+":\["\[M..Key, M..Key\]"\]/, `${name}, with bounds`);
          t.ok(read <= LIMIT + 2, `${name} reads ${read} keys`);
        }
      }
    }
  }
});
