/**
 * Documents that other programs wrote directly into the database: returned unchanged, found by id, not damaged by
 * changes.
 */
import { Binary, Decimal128, Double, Int32, Long, ObjectId, UUID } from 'mongodb';
import t from 'tap';
import { buildTestApp } from '../helpers/app.ts';

t.test('documents of other programs', async (t) => {
  const { app, services } = await buildTestApp(t);
  const foreign = services.mongo.data.collection<{ _id: unknown; [field: string]: unknown }>('foreign');

  const UUID_TEXT = '0190163d-8694-739b-aea5-966c26f8ad91';
  const IDS: readonly (readonly [string, unknown])[] = [
    ['plain', 'plain'],
    ['has/slash and space', 'has/slash and space'],
    ['507f1f77bcf86cd799439011', new ObjectId('507f1f77bcf86cd799439011')],
    ['507F1F77BCF86CD799439012', '507F1F77BCF86CD799439012'],
    ['507f1f77bcf86cd799439013', '507f1f77bcf86cd799439013'],
    ['42', new Int32(42)],
    ['1.5', new Double(1.5)],
    ['9007199254740993', Long.fromString('9007199254740993')],
    ['0.1000', Decimal128.fromString('0.1000')],
    [UUID_TEXT, new UUID(UUID_TEXT)],
    ['2026-01-02T03:04:05.678Z', new Date('2026-01-02T03:04:05.678Z')],
  ];

  await t.test('every id is returned as text and found by it', async (t) => {
    for (const [text, id] of IDS) {
      await foreign.insertOne({ _id: id });
      const response = await app.inject(`/api/foreign/${encodeURIComponent(text)}`);
      t.equal(response.statusCode, 200, text);
      t.match(response.json(), { id: text, _meta: { revision: 0, createdAt: null, updatedAt: null } });
    }
    t.strictSame(
      new Set((await app.inject('/api/foreign')).json().map((document: { id: string }) => document.id)),
      new Set(IDS.map(([text]) => text)),
    );
  });

  await t.test('every id is expanded, by its value and by its text', async (t) => {
    const naming = services.mongo.data.collection<{ _id: string; who: unknown[] }>('naming');
    const texts = IDS.map(([text]) => text);
    await naming.insertOne({ _id: 'by-value', who: IDS.map(([, id]) => id) });
    await naming.insertOne({ _id: 'by-text', who: texts });
    await naming.insertOne({ _id: 'in-other-case', who: [UUID_TEXT.toUpperCase(), '507F1F77BCF86CD799439011'] });
    const shown = async (id: string) => {
      const { _expanded } = (await app.inject(`/api/naming/${id}?expand=who:foreign`)).json();
      return _expanded.who.map((document: { id: string } | null) => document?.id ?? null);
    };
    t.strictSame(await shown('by-value'), texts);
    t.strictSame(await shown('by-text'), texts);
    t.strictSame(await shown('in-other-case'), [UUID_TEXT, '507f1f77bcf86cd799439011']);
  });

  await t.test('values keep their types through PUT and PATCH when their JSON did not change', async (t) => {
    const values = {
      when: new Date('2026-01-02T03:04:05.678Z'),
      price: Decimal128.fromString('19.90'),
      big: Long.fromString('9223372036854775807'),
      ref: new ObjectId('507f1f77bcf86cd799439011'),
      whole: new Double(3),
      bytes: new Binary(Buffer.from('hello')),
      nested: { list: [new Date(0), { d: Decimal128.fromString('1') }] },
    };
    const document = { _id: 'types', id: 'own id of the foreign writer', ...values, text: 'old' };
    await foreign.insertOne(document);
    const { _meta, ...shown } = (await app.inject('/api/foreign/types')).json();
    t.match(shown, {
      id: 'types',
      when: '2026-01-02T03:04:05.678Z',
      price: '19.90',
      big: '9223372036854775807',
      whole: 3,
      bytes: 'aGVsbG8=',
    });

    const put = await app.inject({ method: 'PUT', url: '/api/foreign/types', payload: { ...shown, text: 'new' } });
    t.equal(put.statusCode, 200);
    const patch = await app.inject({
      method: 'PATCH',
      url: '/api/foreign/types',
      payload: { added: { deep: 1 }, price: '19.90' },
    });
    t.equal(patch.statusCode, 200);

    const options = { promoteValues: false };
    const [before] = [{ ...document, text: 'new' }];
    const after = await foreign.findOne({ text: 'new' }, options);
    for (const [name, value] of Object.entries({ ...values, id: before.id })) {
      t.same(JSON.stringify(after?.[name as keyof typeof after]), JSON.stringify(value), name);
    }
    t.match(patch.json(), { text: 'new', added: { deep: 1 }, _meta: { revision: 2, createdAt: null } });
  });

  await t.test('pages of a view whose documents share ids include all of them', async (t) => {
    const orders = [
      { _id: 'a', lines: [1, 2, 3] },
      { _id: 'b', lines: [4] },
      { _id: 'c', lines: [5, 6] },
    ];
    await services.mongo.data.collection<{ _id: string }>('orders').insertMany(orders);
    await services.mongo.data.createCollection('lines', { viewOn: 'orders', pipeline: [{ $unwind: '$lines' }] });
    for (const limit of [3, 4, 5]) {
      const address = `/api/lines?limit=${limit}`;
      const pages: number[][] = [];
      let response = await app.inject(address);
      const linesOf = () => response.json().map(({ lines }: { lines: number }) => lines);
      for (pages.push(linesOf()); response.headers['millrace-next']; pages.push(linesOf())) {
        response = await app.inject(`${address}&cursor=${response.headers['millrace-next']}`);
      }
      t.strictSame(pages.flat(), [1, 2, 3, 4, 5, 6], `limit=${limit}`);
      const back = /cursor=([^>&]+)>; rel="prev"/.exec(String(response.headers['link']))?.[1];
      response = await app.inject(`${address}&cursor=${back}`);
      t.strictSame(linesOf().toSorted(), pages.at(-2), `limit=${limit}, back`);
    }
    const refused = await app.inject('/api/lines?limit=2');
    t.match([refused.statusCode, refused.json()], [400, { code: 'sort-not-possible', hint: /Sort/ }]);
    t.strictSame((await app.inject('/api/lines?limit=2&sort=lines&fields=lines')).json().length, 2);
    t.strictSame((await app.inject('/api/lines?limit=0&count=exact')).headers['millrace-count'], '6');
  });

  await t.test('pages of a view that end at 16 MB include all documents', async (t) => {
    const filling = 'x'.repeat(2_000_000);
    const loads = ['a', 'b', 'c'].map((id) => ({ _id: id, filling, parts: [1, 2, 3, 4, 5].map((n) => `${id}${n}`) }));
    await services.mongo.data.collection<{ _id: string }>('loads').insertMany(loads);
    await services.mongo.data.createCollection('pieces', { viewOn: 'loads', pipeline: [{ $unwind: '$parts' }] });
    const found: string[] = [];
    for (let cursor = ''; ; ) {
      const response = await app.inject(`/api/pieces?limit=15${cursor}`);
      found.push(...response.json().map((document: { parts: string }) => document.parts));
      const next = response.headers['millrace-next'];
      if (next === undefined) break;
      cursor = `&cursor=${next}`;
    }
    t.strictSame(
      found,
      loads.flatMap((load) => load.parts),
    );
  });

  await t.test('an id that equals another one by the collation of a collection is reported as existing', async (t) => {
    await services.mongo.data.createCollection('collated', { collation: { locale: 'en', strength: 2 } });
    await services.mongo.data.collection<{ _id: string }>('collated').insertOne({ _id: 'Ada' });
    const put = await app.inject({ method: 'PUT', url: '/api/collated/ada?upsert=true', payload: {} });
    t.match([put.statusCode, put.json()], [409, { code: 'id-exists' }]);
    const post = await app.inject({ method: 'POST', url: '/api/collated', payload: { id: 'ADA' } });
    t.match([post.statusCode, post.json()], [409, { code: 'id-exists' }]);
  });

  await t.test('a batch may change a collection without images before it creates in it', async (t) => {
    for (const round of [1, 2, 3]) {
      const name = `imageless${round}`;
      await services.mongo.data.collection<{ _id: string }>(name).insertOne({ _id: 'a' });
      await services.mongo.data.command({ collMod: name, changeStreamPreAndPostImages: { enabled: false } });
      const operations = [
        { method: 'DELETE', path: `/api/${name}/a` },
        { method: 'POST', path: `/api/${name}`, body: { id: 'b' } },
      ];
      const began = performance.now();
      const response = await app.inject({ method: 'POST', url: '/batch', payload: { operations } });
      t.equal(response.statusCode, 200, response.body);
      t.ok(performance.now() - began < 5_000, 'it does not wait for itself');
      const [found] = await services.mongo.data.listCollections({ name }).toArray();
      t.match(found, { options: { changeStreamPreAndPostImages: { enabled: true } } });
      t.strictSame((await app.inject(`/api/${name}`)).json().length, 1);
    }
  });

  await t.test('number-like names in any order do not prevent a patch', async (t) => {
    const fields = new Map<string, unknown>([
      ['_id', 'order'],
      ['10', 1],
      ['2', 2],
      [
        'b',
        new Map([
          ['9', 1],
          ['1', 1],
        ]),
      ],
    ]);
    await services.mongo.data.command({ insert: 'foreign', documents: [fields] });
    const response = await app.inject({ method: 'PATCH', url: '/api/foreign/order', payload: { c: 1 } });
    t.equal(response.statusCode, 200);
    const { _meta, id, ...rest } = response.json();
    t.strictSame(rest, { 2: 2, 10: 1, b: { 1: 1, 9: 1 }, c: 1 });
  });

  await t.test('an id is returned whole at any path, whichever part of it is requested', async (t) => {
    await services.mongo.data.collection<{ _id: unknown }>('parts').insertMany([{ _id: 's' }, { _id: { x: 1, y: 2 } }]);
    const ids = ['s', '{"x":1,"y":2}'].map((id) => ({ id }));
    for (const fields of ['id', 'id.x', '-id.x,-_meta']) {
      t.strictSame((await app.inject(`/api/parts?fields=${fields}`)).json(), ids, fields);
      for (const { id } of ids) {
        const url = `/api/parts/${encodeURIComponent(id)}?fields=${fields}`;
        t.strictSame((await app.inject(url)).json(), { id }, url);
      }
    }
  });

  await t.test('a transaction of another program delays a first write for a limited time', async (t) => {
    await services.mongo.data.createCollection('held');
    const session = services.mongo.client.startSession();
    t.teardown(() => session.endSession());
    session.startTransaction();
    await services.mongo.data.collection('held').insertOne({}, { session });
    for (const [url, payload] of [
      ['/api/held', { a: 1 }],
      ['/api/held', [{ a: 1 }]],
      ['/batch', { operations: [{ method: 'POST', path: '/api/held', body: { a: 1 } }] }],
    ] as const) {
      const response = await app.inject({ method: 'POST', url, payload });
      t.match(response.json(), { status: 503, code: 'database-unavailable', detail: /is locked/ }, response.body);
      t.equal(response.headers['retry-after'], '1');
    }
    await session.commitTransaction();
    const result = await app.inject({ method: 'POST', url: '/api/held', payload: { a: 1 } });
    t.equal(result.statusCode, 201, result.body);
  });

  await t.test("a collection of another program has images from this server's first write on", async (t) => {
    await app.inject({ method: 'POST', url: '/api/foreign', payload: {} });
    const [info] = await services.mongo.data.listCollections({ name: 'foreign' }).toArray();
    t.match(info, { options: { changeStreamPreAndPostImages: { enabled: true } } });
  });
});
