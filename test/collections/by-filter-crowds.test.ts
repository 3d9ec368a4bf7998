/** Writes by filter to the maximum number of documents, and by many writers at once. */
import { randomBytes } from 'node:crypto';
import t from 'tap';
import { NO_PRECONDITIONS } from '../../src/collections/store/preconditions.ts';
import type { RequestedChange } from '../../src/collections/write/requested-change.ts';
import { parseCollectionName } from '../../src/database/parse-collection-name.ts';
import { parseFilterJson } from '../../src/query/parse/parse-filter-json.ts';
import { buildTestApp } from '../helpers/app.ts';
import { user } from '../helpers/principals.ts';

const upTo = (most: number) => ({ prefer: `max-affected=${most}` });
const UPDATE = { 'content-type': 'application/vnd.millrace.update+json' };

t.test('writes by filter to many documents and by many writers', async (t) => {
  const { app, services } = await buildTestApp(t);

  await t.test('a write by filter changes 10,000 documents at once, but not 10,001', async (t) => {
    const rows = Array.from({ length: 10_001 }, (_, n) => ({ n }));
    await services.mongo.data.collection('crowd').insertMany(rows);
    const write = (filter: string) =>
      app.inject({
        method: 'PATCH',
        url: `/api/crowd?${filter}`,
        headers: { ...UPDATE, ...upTo(20_000) },
        payload: '{"$inc":{"m":1}}',
      });
    const tooMany = await write('filter={}');
    t.match(tooMany.json(), { status: 409, code: 'too-many-affected' });
    const all = await write('n[lt]=10000');
    t.equal(all.body, '{"matched":10000,"modified":10000}');
    t.equal(await services.mongo.data.collection('crowd').countDocuments({ m: 1 }), 10_000);
  });

  await t.test('a write by filter to documents that are together too large attempts nothing', async (t) => {
    const write = (method: 'PATCH' | 'DELETE', url: string) =>
      app.inject({ method, url, headers: { ...UPDATE, ...upTo(10_000) }, payload: '{"$inc":{"m":1}}' });
    const fill = (name: string, count: number, bytes: number) =>
      services.mongo.data
        .collection(name)
        .insertMany(Array.from({ length: count }, (_, n) => ({ n, text: randomBytes(bytes / 2).toString('hex') })));
    await fill('huge', 26, 1_000_000);
    for (const method of ['PATCH', 'DELETE'] as const) {
      const began = performance.now();
      const response = await write(method, '/api/huge?filter={}');
      t.match(response.json(), { status: 409, code: 'too-many-affected', detail: /24 MiB/ });
      t.ok(performance.now() - began < 4_000, 'at once');
    }
    const operations = ['n[lt]=13', 'n[gte]=13'].map((filter) => ({
      method: 'DELETE',
      path: `/api/huge?${filter}`,
      headers: upTo(100),
    }));
    const together = await app.inject({ method: 'POST', url: '/batch', payload: { operations } });
    t.match(together.json(), { code: 'too-many-affected', failedOperation: 1 });
    t.equal((await write('DELETE', '/api/huge?n[lt]=13')).body, '{"matched":13,"modified":13}', 'in smaller parts');
  });

  await t.test('10 concurrent increments of all documents by filter lose none', async (t) => {
    const payload = Array.from({ length: 20 }, (_, n) => ({ n }));
    await app.inject({ method: 'POST', url: '/api/race', payload });
    let done = 0;
    await Promise.all(
      Array.from({ length: 10 }, async () => {
        const request = {
          method: 'PATCH',
          url: '/api/race?filter={}',
          headers: { ...UPDATE, ...upTo(20) },
          payload: '{"$inc":{"m":1}}',
        } as const;
        const response = await app.inject(request);
        if (response.statusCode === 200) done++;
        else t.equal(response.json().code, 'write-conflict');
      }),
    );
    t.ok(done > 0);
    for (const row of (await app.inject('/api/race')).json()) t.equal(row.m, done);
  });
});

t.test('other requests run between any two documents of a write by filter', async (t) => {
  const { services } = await buildTestApp(t);
  await services.mongo.data.collection('turns').insertMany(Array.from({ length: 50 }, (_, n) => ({ n })));
  let turns = 0;
  const count = () => {
    turns++;
    counting = setImmediate(count);
  };
  let counting = setImmediate(count);
  const seen: number[] = [];
  const change: RequestedChange = {
    kind: 'edit',
    reads: [],
    writes: [],
    apply: (shown) => {
      seen.push(turns);
      return shown;
    },
  };
  const name = parseCollectionName('turns');
  const scope = services.policies.scope(user('ann'), 'update', name);
  const write = { request: 'r', preconditions: NO_PRECONDITIONS };
  await services.bulkWrites.patch(scope, name, { filter: parseFilterJson({}), maxAffected: 100 }, change, write);
  clearImmediate(counting);
  t.equal(new Set(seen).size, 50, 'no two of them in one turn');
});
