/** Concurrent writers: first writes to a new collection, patches of one document, other programs in between. */
import t from 'tap';
import { buildTestApp } from '../../helpers/app.ts';

t.test('concurrent writers', async (t) => {
  const { app, services } = await buildTestApp(t);

  await t.test('50 concurrent first creates of one new collection succeed', async (t) => {
    const responses = await Promise.all(
      Array.from({ length: 50 }, (_, n) => app.inject({ method: 'POST', url: '/api/rush', payload: { n } })),
    );
    t.strictSame(new Set(responses.map((response) => response.statusCode)), new Set([201]));
    const list = await app.inject('/api/rush');
    t.equal(list.json().length, 50);
    const [info] = await services.mongo.data.listCollections({ name: 'rush' }).toArray();
    t.match(info, { options: { changeStreamPreAndPostImages: { enabled: true } } });
  });

  await t.test('50 concurrent first bulk creates of one new collection succeed', async (t) => {
    const responses = await Promise.all(
      Array.from({ length: 50 }, (_, n) =>
        app.inject({ method: 'POST', url: '/api/bulkrush', payload: [{ n }, { n }] }),
      ),
    );
    t.strictSame(new Set(responses.map((response) => response.statusCode)), new Set([201]));
    t.equal((await app.inject('/api/bulkrush')).json().length, 100);
  });

  await t.test('32 concurrent patches of different fields of one document are all applied', async (t) => {
    await app.inject({ method: 'POST', url: '/api/hot', payload: { id: 'a' } });
    const responses = await Promise.all(
      Array.from({ length: 32 }, (_, n) =>
        app.inject({ method: 'PATCH', url: '/api/hot/a', payload: { [`m${n}`]: n } }),
      ),
    );
    t.strictSame(new Set(responses.map((response) => response.statusCode)), new Set([200]));
    const document = (await app.inject('/api/hot/a')).json();
    for (let n = 0; n < 32; n++) t.equal(document[`m${n}`], n);
    t.equal(document._meta.revision, 33);
  });

  await t.test("another program's $set between GET and PUT with If-Match causes 412", async (t) => {
    await app.inject({ method: 'POST', url: '/api/hot', payload: { id: 'foreign', n: 1 } });
    const etag = String((await app.inject('/api/hot/foreign')).headers['etag']);
    await services.mongo.data.collection<{ _id: string }>('hot').updateOne({ _id: 'foreign' }, { $set: { n: 2 } });
    const response = await app.inject({
      method: 'PUT',
      url: '/api/hot/foreign',
      headers: { 'if-match': etag },
      payload: { n: 3 },
    });
    t.equal(response.statusCode, 412);
    t.not(response.headers['etag'], etag);
    t.equal((await app.inject('/api/hot/foreign')).json().n, 2);
  });

  await t.test('8 patches beside 200 increments of another program lose nothing', async (t) => {
    await app.inject({ method: 'POST', url: '/api/hot', payload: { id: 'both', count: 0 } });
    const foreign = services.mongo.data.collection<{ _id: string; count: number }>('hot');
    const increments = (async () => {
      for (let n = 0; n < 200; n++)
        await foreign.updateOne({ _id: 'both' }, { $inc: { count: 1 } }, { writeConcern: { w: 1 } });
    })();
    const patches = Array.from({ length: 8 }, async (_, n) => {
      for (;;) {
        const response = await app.inject({ method: 'PATCH', url: '/api/hot/both', payload: { [`p${n}`]: true } });
        if (response.json().code !== 'write-conflict') return response.statusCode;
      }
    });
    t.strictSame(new Set(await Promise.all(patches)), new Set([200]));
    await increments;
    const document = (await app.inject('/api/hot/both')).json();
    t.equal(document.count, 200);
    for (let n = 0; n < 8; n++) t.ok(document[`p${n}`]);
  });

  await t.test('of 20 concurrent deletions of one document one succeeds', async (t) => {
    await app.inject({ method: 'POST', url: '/api/hot', payload: { id: 'once' } });
    const responses = await Promise.all(
      Array.from({ length: 20 }, () => app.inject({ method: 'DELETE', url: '/api/hot/once' })),
    );
    const codes = responses.map((response) => response.statusCode).sort();
    t.strictSame(codes, [204, ...Array.from({ length: 19 }, () => 404)]);
  });

  await t.test('of 20 concurrent creations with one id one succeeds', async (t) => {
    const responses = await Promise.all(
      Array.from({ length: 20 }, () =>
        app.inject({ method: 'PUT', url: '/api/hot/new', headers: { 'if-none-match': '*' }, payload: {} }),
      ),
    );
    const codes = responses.map((response) => response.statusCode).sort();
    t.strictSame(codes, [201, ...Array.from({ length: 19 }, () => 412)]);
  });
});
