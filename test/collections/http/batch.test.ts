/**
 * Batches: all or none, in order, with references; every error has the index of its operation, and nothing is written.
 */
import t from 'tap';
import { buildTestApp } from '../../helpers/app.ts';
import { runScenarios, type Scenario } from '../../helpers/scenario.ts';

const post = (name: string, operations: unknown, more: Partial<Scenario>): Scenario => ({
  name,
  request: 'POST /batch',
  send: { operations },
  status: 400,
  ...more,
});

t.test('batches', async (t) => {
  const { app, services } = await buildTestApp(t);
  const batch = (operations: unknown) => app.inject({ method: 'POST', url: '/batch', payload: { operations } });
  const get = async (path: string) => (await app.inject(path)).json();

  await t.test('a batch runs every kind of write, in order, in new collections', async (t) => {
    const response = await batch([
      { method: 'POST', path: '/api/authors', body: { name: 'Ann' }, ref: 'ann' },
      {
        method: 'POST',
        path: '/api/books',
        body: { id: 'b1', author: '$ann.id', by: ['$ann.id', { x: '$ann.id' }] },
        ref: 'b',
      },
      { method: 'PATCH', path: '/api/authors/$ann.id', body: { first: '$b.id', not: '$bob.id', text: 'a $ann.id' } },
      {
        method: 'PATCH',
        path: '/api/authors/$ann.id',
        headers: { 'Content-Type': 'application/vnd.millrace.update+json', prefer: 'return=minimal' },
        body: { $inc: { books: 1 } },
      },
      {
        method: 'PATCH',
        path: '/api/books/b1',
        headers: { 'content-type': 'application/json-patch+json' },
        body: [
          { op: 'test', path: '/author', value: '$ann.id' },
          { op: 'add', path: '/ok', value: true },
        ],
      },
      { method: 'PUT', path: '/api/books/b2?upsert=true', body: { n: 2 } },
      { method: 'PUT', path: '/api/books/b3', headers: { 'if-none-match': '*' }, body: {} },
      { method: 'POST', path: '/api/books', body: [{ id: 'b4' }, { id: 'b5' }] },
      { method: 'DELETE', path: '/api/books/b4' },
      { method: 'DELETE', path: '/api/books/b5', headers: { prefer: 'return=representation' } },
    ]);
    t.equal(response.statusCode, 200, response.body);
    const { results } = response.json();
    t.strictSame(
      results.map((result: { status: number }) => result.status),
      [201, 201, 200, 204, 200, 201, 201, 201, 204, 200],
    );
    const { id } = results[0].body;
    t.match(results[0], {
      headers: { etag: /^"1-/, location: `/api/authors/${id}` },
      body: { name: 'Ann', _meta: { revision: 1 } },
    });
    t.match(results[1].body, { id: 'b1', author: id, by: [id, { x: id }] });
    t.notOk('body' in results[3]);
    t.match(results[9].body, { id: 'b5' });
    t.match(await get(`/api/authors/${id}`), {
      first: 'b1',
      not: '$bob.id',
      text: 'a $ann.id',
      books: 1,
      _meta: { revision: 3 },
    });
    t.strictSame(
      (await get('/api/books')).map((registry: { id: string }) => registry.id),
      ['b1', 'b2', 'b3'],
    );
    const tag = (await app.inject('/api/books/b1')).headers['etag'];
    t.equal(results[4].headers.etag, tag, 'the tag in a result is the tag of the next read');
    const [info] = await services.mongo.data.listCollections({ name: 'authors' }).toArray();
    t.match(info, { options: { changeStreamPreAndPostImages: { enabled: true } } });
  });

  await t.test('a failing operation at any position rolls everything back, including new collections', async (t) => {
    const LENGTH = 6;
    const good = (n: number) => ({ method: 'POST', path: `/api/fresh${n % 2}`, body: { n } });
    await app.inject({ method: 'POST', url: '/api/old', payload: { id: 'kept', n: 1 } });
    for (let bad = 0; bad < LENGTH; bad++) {
      const operations: unknown[] = Array.from({ length: LENGTH }, (_, n) => good(n));
      operations[bad] = { method: 'POST', path: '/api/old', body: { id: 'kept' } };
      if (bad > 0) operations[bad - 1] = { method: 'PATCH', path: '/api/old/kept', body: { n: 2 } };
      const response = await batch(operations);
      t.equal(response.statusCode, 409, `at ${bad}`);
      t.match(response.json(), {
        code: 'id-exists',
        status: 409,
        failedOperation: bad,
        errors: [{ pointer: `/operations/${bad}` }],
      });
      t.match(await get('/api/old/kept'), { n: 1, _meta: { revision: 1 } });
      for (const name of ['fresh0', 'fresh1']) t.equal((await app.inject(`/api/${name}`)).statusCode, 404);
    }
  });

  await t.test('50 concurrent batches on new collections all succeed', async (t) => {
    const responses = await Promise.all(
      Array.from({ length: 50 }, (_, n) =>
        batch([
          { method: 'POST', path: '/api/raceA', body: { n }, ref: 'a' },
          { method: 'POST', path: '/api/raceB', body: { of: '$a.id' } },
        ]),
      ),
    );
    t.strictSame(new Set(responses.map((response) => response.statusCode)), new Set([200]));
    const created = await get('/api/raceA');
    const of = await get('/api/raceB');
    t.equal(created.length, 50);
    t.strictSame(
      new Set(of.map((row: { of: string }) => row.of)),
      new Set(created.map((row: { id: string }) => row.id)),
    );
  });

  await t.test('20 concurrent batches on the same two documents lose no increment', async (t) => {
    await batch(['x', 'y'].map((id) => ({ method: 'POST', path: '/api/sums', body: { id, n: 0 } })));
    const headers = { 'content-type': 'application/vnd.millrace.update+json' };
    const add = (id: string, n: number) => ({
      method: 'PATCH',
      path: `/api/sums/${id}`,
      headers,
      body: { $inc: { n } },
    });
    let done = 0;
    await Promise.all(
      Array.from({ length: 20 }, async (_, n) => {
        const order = n % 2 === 0 ? [add('x', 1), add('y', -1)] : [add('y', -1), add('x', 1)];
        for (;;) {
          const response = await batch(order);
          if (response.json().code === 'write-conflict') continue;
          t.equal(response.statusCode, 200, response.body);
          done++;
          return;
        }
      }),
    );
    t.match(await get('/api/sums'), [
      { id: 'x', n: done },
      { id: 'y', n: -done },
    ]);
  });

  await t.test('preconditions apply to operations of a batch', async (t) => {
    await app.inject({ method: 'POST', url: '/api/cond', payload: { id: 'a', n: 1 } });
    const etag = String((await app.inject('/api/cond/a')).headers['etag']);
    const put = (match: string) => ({
      method: 'PUT',
      path: '/api/cond/a',
      headers: { 'if-match': match },
      body: { n: 2 },
    });
    await runScenarios(t, app, [
      post('another tag', [put('"1-x"')], {
        status: 412,
        code: 'precondition-failed',
        expectHeaders: { etag },
        expect: { failedOperation: 0 },
      }),
      post('the same tag twice: the second finds it changed', [put(etag), put(etag)], {
        status: 412,
        code: 'precondition-failed',
        expect: { failedOperation: 1 },
      }),
      post('the tag', [put(etag)], { status: 200, expect: { results: [{ status: 200, body: { n: 2 } }] } }),
      post(
        'creation of what an operation before created',
        [
          { method: 'POST', path: '/api/cond', body: { id: 'new' } },
          { method: 'PUT', path: '/api/cond/new', headers: { 'if-none-match': '*' }, body: {} },
        ],
        { status: 412, code: 'precondition-failed', expect: { failedOperation: 1 } },
      ),
      { name: 'nothing of it is there', request: 'GET /api/cond/new', status: 404, code: 'document-not-found' },
    ]);
  });

  await t.test('a batch runs 100 operations', async (t) => {
    const response = await batch(
      Array.from({ length: 100 }, (_, n) => ({ method: 'POST', path: '/api/hundred', body: { n } })),
    );
    t.equal(response.statusCode, 200);
    t.strictSame(
      response.json().results.map((result: { body: { n: number } }) => result.body.n),
      [...Array(100).keys()],
    );
  });
});
