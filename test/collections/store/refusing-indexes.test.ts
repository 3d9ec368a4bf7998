/**
 * Documents that an index of the database cannot hold: rejected with the index and its fields, and nothing is written.
 */
import type { CreateIndexesOptions, IndexSpecification } from 'mongodb';
import t from 'tap';
import { buildTestApp } from '../../helpers/app.ts';
import { withPolicies } from '../../helpers/policies.ts';
import { postsFixture } from '../../helpers/posts.ts';

const POINT = { type: 'Point', coordinates: [1, 2] };

type Case = readonly [
  kind: string,
  index: IndexSpecification,
  options: CreateIndexesOptions,
  good: object,
  bad: object[],
  pointer: string | null,
];

const CASES: readonly Case[] = [
  [
    '2dsphere',
    { 'at.loc': '2dsphere', n: 1 },
    {},
    { at: { loc: POINT } },
    ['x', 5, { type: 'Point', coordinates: ['a', 1] }, { type: 'Blob' }, [500, 0]].map((loc) => ({ at: { loc } })),
    '/at/loc',
  ],
  ['2d', { loc: '2d' }, {}, { loc: [1, 2] }, [{ loc: [1] }, { loc: [500, 500] }, { loc: POINT }], '/loc'],
  [
    'text',
    { t: 'text' },
    {},
    { t: 'a', language: 'german' },
    [
      { t: 'a', language: 'xx' },
      { t: 'a', language: 5 },
    ],
    '/t',
  ],
  ['text, of all fields', { '$**': 'text' }, { language_override: 'lang' }, { a: 'b' }, [{ a: 'b', lang: 'xx' }], null],
  ['hashed', { h: 'hashed' }, {}, { h: 1 }, [{ h: [1] }], '/h'],
];

t.test('a document that an index cannot hold is rejected in every way of writing', async (t) => {
  const { app, services } = await buildTestApp(t);
  for (const [at, [kind, index, options, good, bad, pointer]] of CASES.entries()) {
    await t.test(kind, async (t) => {
      const name = `c${at}`;
      const collection = services.mongo.data.collection(name);
      await app.inject({ method: 'POST', url: `/api/${name}`, payload: { id: 'a', ...good } });
      const indexName = await collection.createIndex(index, options);
      const before = await collection.find().toArray();
      for (const document of bad) {
        const writes = [
          { method: 'POST', url: `/api/${name}`, payload: document },
          { method: 'POST', url: `/api/${name}`, payload: [good, document] },
          { method: 'PUT', url: `/api/${name}/a`, payload: document },
          { method: 'PATCH', url: `/api/${name}/a`, payload: document },
          { method: 'PATCH', url: `/api/${name}?filter={}`, headers: { prefer: 'max-affected=9' }, payload: document },
          {
            method: 'PUT',
            url: `/api/${name}/a`,
            headers: { 'idempotency-key': JSON.stringify(document) },
            payload: document,
          },
          {
            method: 'POST',
            url: '/batch',
            payload: { operations: [{ method: 'POST', path: `/api/${name}`, body: document }] },
          },
        ] as const;
        for (const write of writes) {
          const response = await app.inject(write);
          const what = `${write.method} ${write.url} ${JSON.stringify(document)}`;
          t.match(response.json(), { status: 400, code: 'unsupported-value' }, what);
          t.match(response.json().detail, indexName, what);
          if (pointer !== null) t.match(response.json().errors[0].pointer, new RegExp(`${pointer}$`), what);
        }
      }
      t.strictSame(await collection.find().toArray(), before);
      const shared = await Promise.all(
        [good, bad[0], good].map((payload) =>
          app.inject({ method: 'POST', url: `/api/${name}`, payload: { ...payload } }),
        ),
      );
      t.strictSame(
        shared.map(({ statusCode }) => statusCode),
        [201, 400, 201],
        'others of the same call are stored',
      );
    });
  }
});

t.test('the error does not name an index on hidden fields', async (t) => {
  const { parts: services, ann, request } = await postsFixture(t);
  await services.mongo.data
    .collection('posts')
    .createIndex({ secret: '2dsphere' })
    .catch(() => {});
  withPolicies(services, [{ resources: ['posts'], actions: ['create', 'read'], fields: { read: ['*', '-secret'] } }]);
  const refused = await request(ann, 'POST', '/api/posts', { secret: 'x' });
  t.match(refused, { status: 400, code: 'unsupported-value' });
  t.notMatch(JSON.stringify(refused.json), /secret/);
});
