/**
 * Pages by key on a real server: over mixed types, missing values and arrays, while other writers insert and delete, no
 * continuously existing document is missed and none is repeated; forwards and backwards give the same list.
 */
import { createSecretKey, randomBytes } from 'node:crypto';
import { BSON, type Document, EJSON } from 'bson';
import { type Collection, type CreateCollectionOptions, MongoClient } from 'mongodb';
import t, { type Test } from 'tap';
import { pathHasArray } from '../../src/database/bson/bson-bytes.ts';
import { decodeDocument, decodeExactDocument } from '../../src/database/bson/stored-document.ts';
import { buildFindCommand } from '../../src/database/cursors/find-raw.ts';
import { joinPath, splitPath } from '../../src/query/field-paths.ts';
import { decodeCursor, encodeCursor } from '../../src/query/page/cursor.ts';
import { buildPlainComparisonPageRequest, verifyPlainComparisonPage } from '../../src/query/page/optimistic-page.ts';
import {
  buildPageRequest,
  exactSortStages,
  isPageInOrder,
  type PagePosition,
  type PageQuery,
  type PageResult,
  slicePage,
  toMongoSortOrStages,
} from '../../src/query/page/page.ts';
import { requestPageBreakingTies } from '../../src/query/page/page-without-id-index.ts';
import { isDatabaseSortable, parseSort, type Sort, toMongoSort } from '../../src/query/page/sort.ts';
import { documentComparator, sortKeyOf } from '../../src/query/page/sort-key.ts';
import { testMongo } from '../helpers/mongo.ts';
import { seeded } from './random.ts';
import { document } from './sortable-documents.ts';

const SORTS = [
  'a',
  '-a',
  'a,-b',
  'o.a',
  '-o.a',
  'o.a,-o.b',
  'o.b,a',
  '-o.a.b,o.b',
  'o,o.a',
  '-id',
  'id',
  'o.a.b,o.a.a,-o.b,c',
  'd',
  '-d',
  'e.d',
  '-e.d,-id',
  'f',
  '-f',
  'e.f,-id',
  '-f,d',
];
const TIMES = process.env['MILLRACE_LONG'] === '1' ? 10 : 1;
t.setTimeout(300_000 * TIMES);
const KEY = createSecretKey(randomBytes(32));

async function openCollection(t: Test, options?: CreateCollectionOptions): Promise<Collection> {
  const { url, database } = await testMongo(t);
  const client = new MongoClient(url);
  t.teardown(() => client.close());
  return client.db(database).createCollection('documents', options);
}

const read = (response: Document): Document => decodeExactDocument(BSON.serialize(response));

function holdsArray(response: Document, sort: Sort): boolean {
  const raw = BSON.serialize(response);
  return sort.some(({ path }) =>
    pathHasArray(
      raw,
      splitPath(path).map((step) => Buffer.from(step)),
    ),
  );
}

/** The stages that read documents in an order by escaped names. */
function inOrder({ collectionName }: Collection, sort: Sort, filter: Document, limit: number): Document[] {
  return buildFindCommand(collectionName, { filter, ...toMongoSortOrStages(sort), limit, batchSize: limit })[
    'pipeline'
  ];
}

/** Pages found by one plain range, and by two. */
const likelyPages = { from: 0, beyond: 0 };

/** Results in the order without the id that gave the true order, and those that did not. */
const inTies = { reported: 0, not: 0 };

/** One page, as a list requests it, its position through a cursor; `tied` as if an index lacked the id. */
async function page(
  collection: Collection,
  sort: Sort,
  limit: number,
  cursor: string | null,
  tied: boolean,
): Promise<PageResult<Document>> {
  const position = cursor === null ? null : decodeCursor([KEY], 'q', cursor, decodeDocument);
  const options = { promoteValues: false, bsonRegExp: true } as const;
  const reading = { read, holdsArray: (one: Document) => holdsArray(one, sort) };
  const plain = ({ filter, sort }: PageQuery, limit: number): Promise<Document[]> =>
    isDatabaseSortable(sort)
      ? collection.find(filter, options).sort(toMongoSort(sort)).limit(limit).toArray()
      : collection.aggregate(inOrder(collection, sort, filter, limit), options).toArray();
  const send = async (request: PageQuery, limit: number): Promise<readonly Document[]> => {
    if (!tied) return plain(request, limit);
    const one = async (request: PageQuery, limit: number) => ({ documents: await plain(request, limit) });
    const response = await requestPageBreakingTies(one, request, limit, read);
    inTies[response === null ? 'not' : 'reported']++;
    return response?.documents ?? plain(request, limit);
  };
  const likely = position && buildPlainComparisonPageRequest({ n: { $gte: 0 } }, sort, position, limit);
  if (position !== null && likely !== null) {
    const response = await send(likely, likely.limit);
    const found = verifyPlainComparisonPage(response, { request: likely, position, limit }, reading);
    if (found !== null) {
      likelyPages[likely.withOwn ? 'from' : 'beyond']++;
      return slicePage(found, { sort, limit, position }, read);
    }
  }
  const request = buildPageRequest({ n: { $gte: 0 } }, sort, position);
  let result = await send(request, limit + 1);
  if (!isPageInOrder(result.map(read), sort, position)) {
    const stages = [{ $match: request.filter }, ...exactSortStages(sort, limit + 1)];
    result = await collection.aggregate(stages, options).toArray();
  }
  return slicePage(result, { sort, limit, position }, read);
}

const write = (position: PagePosition | null): string | null => position && encodeCursor(KEY, 'q', position);

interface Walk {
  readonly limit: number;
  /** From here on the pages are read backwards. */
  readonly from?: string | null;
  /** Runs after each page. */
  readonly between?: () => Promise<void>;
  /** What a cursor contains about its neighbors instead of what was seen. */
  readonly hint?: (position: PagePosition) => PagePosition;
  /** Whether the server sorts in the order without the id. */
  readonly tied?: boolean;
}

/** All pages, in one direction. */
async function walk(
  collection: Collection,
  sort: Sort,
  { limit, from, between, hint = (at) => at, tied = false }: Walk,
): Promise<{ numbers: number[]; last: PageResult<Document> }> {
  const numbers: number[] = [];
  let cursor = from ?? null;
  const backwards = from !== undefined;
  for (;;) {
    const got = await page(collection, sort, limit, cursor, tied);
    const shown = got.documents.map((one) => Number(one['n']));
    if (backwards) numbers.unshift(...shown);
    else numbers.push(...shown);
    await between?.();
    const on = backwards ? got.prev : got.next;
    cursor = write(on && hint(on));
    // More than there can be: the pages loop.
    if (cursor === null || numbers.length > 5_000) return { numbers, last: got };
  }
}

const misleading = (position: PagePosition): PagePosition => ({ ...position, alone: true });

t.test('pages follow the order of the server and of compareBy, both ways', { timeout: 120_000 * TIMES }, async (t) => {
  const random = seeded(t);
  for (let round = 0; round < TIMES; round++) {
    const collection = await openCollection(t);
    const documents = Array.from({ length: 120 }, (_, n) => document(random, n));
    await collection.insertMany(documents);
    const stored = documents.map(read);
    for (const name of SORTS) {
      const sort = parseSort(name.split(','));
      const options = { projection: { n: 1, _id: 0 } };
      const whole = (await collection.find({}, options).sort(toMongoSort(sort)).toArray()).map(({ n }) => Number(n));
      const inHand = [...stored].sort(documentComparator(sort)).map((one) => Number(one['n']));
      const differs = whole.findIndex((n, index) => inHand[index] !== n);
      const key = (n: number | undefined): string =>
        EJSON.stringify(sortKeyOf(stored[n ?? 0] ?? {}, sort), { relaxed: false });
      t.equal(
        differs,
        -1,
        `${name} in hand${differs < 0 ? '' : `: ${key(whole[differs])} before ${key(inHand[differs])}`}`,
      );
      const { numbers, last } = await walk(collection, sort, { limit: 11 });
      t.strictSame(numbers, whole, `${name} forwards`);
      const back = await walk(collection, sort, { limit: 9, from: write(last.prev) });
      const end = last.documents.map((one) => Number(one['n']));
      t.strictSame([...back.numbers, ...end], whole, `${name} backwards`);
      const there = await walk(collection, sort, { limit: 10, hint: misleading });
      t.strictSame(there.numbers, whole, `${name} forwards, whatever cursors say of neighbours`);
      const unsorted = await walk(collection, sort, { limit: 10, tied: true });
      t.strictSame(unsorted.numbers, whole, `${name} forwards, equal keys put in order here`);
      const before = await walk(collection, sort, { limit: 7, from: write(last.prev), tied: true });
      t.strictSame([...before.numbers, ...end], whole, `${name} backwards, equal keys put in order here`);
      const again = await walk(collection, sort, { limit: 7, from: write(last.prev), hint: misleading });
      t.strictSame([...again.numbers, ...end], whole, `${name} backwards, whatever cursors say of neighbours`);
    }
  }
});

/** Names for which the database has no path, instead of plain ones. */
const ESCAPED: Readonly<Record<string, string>> = { a: 'x.y', o: '$o', d: '' };

function withNames(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withNames);
  if (typeof value !== 'object' || value === null || Object.getPrototypeOf(value) !== Object.prototype) return value;
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [ESCAPED[name] ?? name, withNames(one)]));
}

t.test('pages by escaped names follow the order of compareBy, both ways', { timeout: 120_000 * TIMES }, async (t) => {
  const random = seeded(t);
  const collection = await openCollection(t);
  const documents = Array.from({ length: 100 }, (_, n): Document => {
    const { _id, ...fields } = document(random, n);
    return { ...(withNames(fields) as Document), _id };
  });
  await collection.insertMany(documents);
  const stored = documents.map(read);
  for (const name of SORTS.filter((one) => /[aod]/.test(one.replaceAll('id', '')))) {
    const sort = parseSort(name.split(',')).map(({ path, direction }) => ({
      path: joinPath(splitPath(path).map((step) => ESCAPED[step] ?? step)),
      direction,
    }));
    const whole = [...stored].sort(documentComparator(sort)).map((one) => Number(one['n']));
    const { numbers, last } = await walk(collection, sort, { limit: 17 });
    t.strictSame(numbers, whole, `${name} forwards`);
    const back = await walk(collection, sort, { limit: 13, from: write(last.prev) });
    t.strictSame([...back.numbers, ...last.documents.map((one) => Number(one['n']))], whole, `${name} backwards`);
  }
});

t.test(
  'nothing is missed or repeated while other writers change documents',
  { timeout: 120_000 * TIMES },
  async (t) => {
    const random = seeded(t);
    const collection = await openCollection(t);
    const stay = Array.from({ length: 100 }, (_, n) => document(random, n));
    await collection.insertMany(stay);
    let next = 1_000;
    const passing: unknown[] = [];
    const between = async (): Promise<void> => {
      const created = Array.from({ length: 6 }, () => document(random, next++));
      await collection.insertMany(created);
      passing.push(...created.map((one) => one['_id']));
      const gone = passing.splice(random.below(passing.length), 3);
      await collection.deleteMany({ _id: { $in: gone } } as object);
    };
    for (let round = 0; round < TIMES; round++) {
      for (const name of TIMES > 1 ? SORTS : random.several(5, 5, () => random.pick(SORTS))) {
        const hint = (at: PagePosition): PagePosition => (random.chance(0.5) ? misleading(at) : at);
        const { numbers } = await walk(collection, parseSort(name.split(',')), {
          limit: 12,
          between,
          hint,
          tied: random.chance(0.5),
        });
        t.equal(new Set(numbers).size, numbers.length, `${name}: nothing twice`);
        const seen = new Set(numbers);
        t.ok(
          stay.every((one) => seen.has(Number(one['n']))),
          `${name}: all that stayed`,
        );
        await collection.deleteMany({ n: { $gte: 1_000 } });
      }
    }
  },
);

t.test('a collection that treats other texts as equal loses and repeats nothing', { timeout: 60_000 }, async (t) => {
  const collection = await openCollection(t, { collation: { locale: 'en', strength: 2 } });
  const texts = ['A', 'a', 'B', 'b', 'C', 'c', 'D', 'd', 'E', 'e'];
  await collection.insertMany(texts.map((f, n) => ({ f, n, _id: n }) as object));
  for (const gone of [null, 1]) {
    const between = async (): Promise<void> => void (await collection.deleteOne({ n: gone }));
    const { numbers } = await walk(collection, parseSort(['f']), { limit: 2, between });
    t.strictSame(numbers, [...texts.keys()]);
  }
});

t.test('many pages are found by plain comparisons', async (t) => {
  const collection = await openCollection(t);
  // The values of d are unique, those of c are not.
  await collection.insertMany(Array.from({ length: 60 }, (_, n) => ({ _id: n, c: n % 3, d: n, n }) as object));
  for (const sort of ['d', 'c']) await walk(collection, parseSort([sort]), { limit: 2 });
  Object.assign(inTies, { reported: 0, not: 0 });
  for (const sort of ['d', 'c', '-c,d']) await walk(collection, parseSort(sort.split(',')), { limit: 2, tied: true });
  const { from, beyond } = likelyPages;
  t.ok(from >= 20 && beyond >= 10, `${from} from the position, ${beyond} beyond it`);
  t.ok(
    inTies.reported >= 80 && inTies.not <= 10,
    `${inTies.reported} results in the order without the id, ${inTies.not} uncertain`,
  );
});
