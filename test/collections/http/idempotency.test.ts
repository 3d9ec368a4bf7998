/**
 * `Idempotency-Key`: one effect and one response, however often a write is sent; what is stored, and what is rejected.
 */
import type { ClientSession } from 'mongodb';
import t from 'tap';
import { buildTestApp } from '../../helpers/app.ts';
import { runScenarios } from '../../helpers/scenario.ts';

t.test('writes with idempotency keys', async (t) => {
  const { app, services } = await buildTestApp(t);
  const keys = services.mongo.log.collection<{ _id: string }>('idempotency');
  const send = (key: string, method: 'POST' | 'PUT' | 'PATCH' | 'DELETE', url: string, payload?: unknown) =>
    app.inject({
      method,
      url,
      headers: { 'idempotency-key': key, ...(payload === undefined ? {} : { 'content-type': 'application/json' }) },
      ...(payload === undefined ? {} : { payload: typeof payload === 'string' ? payload : JSON.stringify(payload) }),
    });

  await t.test('every repeated write returns the same response, with one effect', async (t) => {
    const WRITES = [
      ['POST', '/api/a', { id: 'one', n: 1 }, 201],
      ['POST', '/api/a', [{ n: 2 }, { n: 3 }], 201],
      ['PUT', '/api/a/one', { n: 4 }, 200],
      ['PUT', '/api/a/two?upsert=true', { n: 5 }, 201],
      ['PATCH', '/api/a/one', { m: 1 }, 200],
      ['POST', '/batch', { operations: [{ method: 'POST', path: '/api/a', body: { n: 6 } }] }, 200],
      ['DELETE', '/api/a/two', undefined, 204],
    ] as const;
    for (const [index, [method, url, payload, status]] of WRITES.entries()) {
      const first = await send(`k${index}`, method, url, payload);
      t.equal(first.statusCode, status, `${method} ${url}: ${first.body}`);
      t.notOk('idempotency-replayed' in first.headers);
      const again = await send(`k${index}`, method, url, payload);
      t.equal(again.statusCode, status);
      t.equal(again.headers['idempotency-replayed'], 'true');
      t.equal(again.body, first.body);
      for (const name of ['etag', 'location', 'content-type']) t.equal(again.headers[name], first.headers[name], name);
    }
    const all = (await app.inject('/api/a')).json();
    t.strictSame(all.map((document: { n: number }) => document.n).sort(), [2, 3, 4, 6]);
    t.match((await app.inject('/api/a/one')).json(), { m: 1, _meta: { revision: 3 } });
  });

  await t.test('final rejections are stored, temporary ones and those before the write are not', async (t) => {
    t.equal((await send('f1', 'PATCH', '/api/a/none', {})).statusCode, 404);
    await app.inject({ method: 'POST', url: '/api/a', payload: { id: 'none' } });
    const again = await send('f1', 'PATCH', '/api/a/none', {});
    t.match(again.json(), { code: 'document-not-found', request: String(again.headers['x-request-id']) });
    t.equal(again.headers['idempotency-replayed'], 'true');
    t.equal((await send('f2', 'POST', '/api/a', '{"a":')).statusCode, 400);
    t.equal((await send('f2', 'POST', '/api/a', {})).statusCode, 201, 'what could not be read was no use of the key');
    const batch = { operations: [{ method: 'DELETE', path: '/api/a/zzz' }] };
    for (const name of ['first', 'again']) {
      t.match(
        (await send('f3', 'POST', '/batch', batch)).json(),
        { failedOperation: 0, code: 'document-not-found' },
        name,
      );
    }
  });

  await t.test('an idempotency key is bound to its request', async (t) => {
    const key = { 'idempotency-key': 'same' };
    await runScenarios(t, app, [
      { name: 'the first', request: 'POST /api/b', headers: key, send: { n: 1 }, status: 201 },
      {
        name: 'another body',
        request: 'POST /api/b',
        headers: key,
        send: { n: 2 },
        status: 422,
        code: 'idempotency-key-reused',
      },
      {
        name: 'other bytes of the same JSON',
        request: 'POST /api/b',
        headers: key,
        send: '{"n": 1}',
        status: 422,
        code: 'idempotency-key-reused',
      },
      {
        name: 'another path is another key',
        request: 'POST /api/c',
        headers: key,
        send: { n: 1 },
        status: 201,
        expectHeaders: { 'idempotency-replayed': null },
      },
      { name: 'another method too', request: 'PUT /api/c/x?upsert=true', headers: key, send: { n: 1 }, status: 201 },
      {
        name: 'another query is another request',
        request: 'PUT /api/c/x',
        headers: key,
        send: { n: 1 },
        status: 422,
        code: 'idempotency-key-reused',
      },
      { name: 'a read does not mind', request: 'GET /api/c', headers: key, status: 200 },
      {
        name: 'the longest',
        request: 'POST /api/c',
        headers: { 'idempotency-key': 'k'.repeat(255) },
        send: {},
        status: 201,
      },
      ...['', 'k'.repeat(256), 'a b', 'ä'].map((bad) => ({
        name: `no key: '${bad.slice(0, 5)}'`,
        request: 'POST /api/c',
        headers: { 'idempotency-key': bad },
        send: {},
        status: 400,
        code: 'malformed-request',
      })),
    ]);
  });

  await t.test('a key whose write is still running is in use until the write ends', async (t) => {
    const first = await send('running', 'POST', '/api/d', { n: 1 });
    const [row] = await keys.find({}, { sort: { at: -1 }, limit: 1 }).toArray();
    t.equal(first.statusCode, 201);
    if (row === undefined) throw new Error('The key was not stored');
    await keys.deleteOne({ _id: row._id });
    const session: ClientSession = services.mongo.client.startSession();
    session.startTransaction();
    await keys.insertOne({ ...row }, { session });
    const during = await send('running', 'POST', '/api/d', { n: 1 });
    t.equal(during.statusCode, 409);
    t.match(during.json(), { code: 'idempotency-key-in-use' });
    t.match(during.headers['retry-after'], /^\d+$/);
    await session.abortTransaction();
    await session.endSession();
    t.equal((await send('running', 'POST', '/api/d', { n: 1 })).statusCode, 201, 'it was never committed');
  });

  await t.test('20 concurrent writes with one key have one effect', async (t) => {
    for (const [name, payload] of Object.entries({ e: { n: 1 }, f: [{ n: 1 }] })) {
      const responses = await Promise.all(
        Array.from({ length: 20 }, () => send('many', 'POST', `/api/${name}`, payload)),
      );
      const created = responses.filter(
        (response) => response.statusCode === 201 && !('idempotency-replayed' in response.headers),
      );
      t.equal(created.length, 1);
      for (const response of responses) {
        t.ok(
          response.statusCode === 201 || response.json().code === 'idempotency-key-in-use',
          response.body.slice(0, 80),
        );
        if (response.statusCode === 201) t.equal(response.body, created[0]?.body);
      }
      t.equal((await app.inject(`/api/${name}`)).json().length, 1);
    }
  });

  await t.test('a failed write leaves no effect and no successful response', async (t) => {
    const { collections } = services;
    const create = collections.create.bind(collections);
    collections.create = async (...sent) => {
      await create(...sent);
      throw new Error('planted');
    };
    t.equal((await send('broken', 'POST', '/api/g', { n: 1 })).statusCode, 500);
    collections.create = create;
    t.equal((await app.inject('/api/g')).statusCode, 404, 'rolled back');
    const after = await send('broken', 'POST', '/api/g', { n: 1 });
    t.equal(after.statusCode, 201);
    t.notOk('idempotency-replayed' in after.headers, 'a 5xx is not stored');
  });

  await t.test('idempotency keys expire after 24 hours', async (t) => {
    const indexes = await keys.indexes();
    t.match(
      indexes.find((index) => index.key['at'] === 1),
      { expireAfterSeconds: 86_400 },
    );
  });
});
