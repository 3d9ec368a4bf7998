/**
 * Pages sorted by an index of another program, which does not end in the id: the database reads little more than the
 * page, and the pages are those of the sort with the id, both ways, under a policy that hides a field. Measured by its
 * profiler.
 */
import t, { type Test } from 'tap';
import { buildTestApp } from '../../helpers/app.ts';

const DOCUMENTS = 2_000;
const LIMIT = 20;

interface Shown {
  readonly id: string;
  readonly score: number | null;
}

t.test('an index without the id serves sorted pages', { timeout: 120_000 }, async (t) => {
  const { app, services } = await buildTestApp(t);
  const { data } = services.mongo;
  await app.inject({ method: 'PUT', url: '/admin/collections/items/indexes', payload: [] });
  const items = data.collection<{ _id: string }>('items');
  // Ids in another order than that of insertion, three documents for each score, and one score that a quarter has.
  const created = Array.from({ length: DOCUMENTS }, (_, n) => ({
    _id: `${(n * 7_919) % DOCUMENTS}`.padStart(5, '0'),
    seq: n,
    category: n % 2,
    score: n % 4 === 0 ? 100 : Math.floor(n / 6),
    single: n,
    secret: 'hidden',
  }));
  await items.insertMany(created);
  await items.createIndexes([{ key: { category: 1, score: -1 } }, { key: { single: 1 }, unique: true }]);
  const get = async (query: string, cursor: string | null = null) => {
    const response = await app.inject(
      `/api/items?${query}&limit=${LIMIT}${cursor === null ? '' : `&cursor=${cursor}`}`,
    );
    t.equal(response.statusCode, 200, query);
    const prev = /cursor=([^>]*)>; rel="prev"/.exec(String(response.headers['link']))?.[1] ?? null;
    return { shown: response.json<Shown[]>(), next: response.headers['millrace-next'] ?? null, prev };
  };
  /** Documents that the server read for the pages that `ask` gets. */
  const read = async (t: Test, request: () => Promise<void>): Promise<{ documents: number; sorted: number }> => {
    await data.command({ profile: 2 });
    try {
      await request();
    } finally {
      await data.command({ profile: 0 });
    }
    const finds = await data.collection('system.profile').find({ 'command.find': 'items' }).toArray();
    await data.collection('system.profile').drop();
    t.not(finds.length, 0);
    const documents = finds.reduce((sum, { docsExamined }) => sum + Number(docsExamined), 0);
    return { documents, sorted: finds.filter(({ hasSortStage }) => hasSortStage === true).length };
  };

  for (const query of ['category=1&sort=-score', 'category=1&sort=score', 'sort=single', 'sort=-single']) {
    await t.test(`${query} reads little more than its page`, async (t) => {
      const first = await read(t, async () => void (await get(query)));
      t.ok(first.documents <= 2 * LIMIT, `page 1 reads ${first.documents} documents`);
      const { next } = await get(query);
      const second = await read(t, async () => void (await get(query, String(next))));
      t.ok(second.documents <= 4 * LIMIT, `page 2 reads ${second.documents} documents`);
    });
  }

  for (const query of [
    'category=1&sort=-score',
    'category=0&sort=score',
    'category=0&sort=-score,-id',
    'sort=-single',
  ]) {
    await t.test(`${query} returns every document once, in order`, async (t) => {
      const whole = (await app.inject(`/api/items?${query}`)).json<Shown[]>().map(({ id }) => id);
      const there: string[] = [];
      let cursor: string | null = null;
      let last = await get(query);
      for (;;) {
        there.push(...last.shown.map(({ id }) => id));
        if (last.next === null) break;
        cursor = String(last.next);
        last = await get(query, cursor);
      }
      t.strictSame(there, whole);
      const back = last.shown.map(({ id }) => id);
      for (let page = last; page.prev !== null; ) {
        page = await get(query, page.prev);
        back.unshift(...page.shown.map(({ id }) => id));
      }
      t.strictSame(back, whole, 'backwards');
    });
  }

  await t.test('with a collation that treats texts as equal, the database decides the order', async (t) => {
    await app.inject({ method: 'PUT', url: '/admin/collections/names/indexes', payload: [] });
    await data.collection('names').drop();
    const names = await data.createCollection<{ _id: string; name: string }>('names', {
      collation: { locale: 'en', strength: 2 },
    });
    await names.insertMany([
      { _id: '3', name: 'a' },
      { _id: '1', name: 'A' },
      { _id: '2', name: 'a' },
      { _id: '4', name: 'b' },
    ]);
    await names.createIndex({ name: 1 });
    const found = (await app.inject('/api/names?sort=name&limit=3')).json<Shown[]>();
    t.strictSame(
      found.map(({ id }) => id),
      ['1', '2', '3'],
    );
  });
});
