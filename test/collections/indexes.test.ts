/**
 * Indexes over HTTP: created and dropped in place, used by the planner, kept when a list cannot be built, and a unique
 * one enforced in every way of writing.
 */
import t from 'tap';
import { buildTestApp } from '../helpers/app.ts';
import { runScenarios } from '../helpers/scenario.ts';

const LIST = '/admin/collections/people/indexes';
const BY_MAIL = { fields: ['mail'], unique: true };
const DUPLICATE = { code: 'unique-violation', errors: [{ pointer: '/mail', code: 'unique-violation' }] };

t.test('indexes', async (t) => {
  const { app, services } = await buildTestApp(t);
  const names = async (collection: string) =>
    (await services.mongo.data.collection(collection).indexes()).map(({ name }) => name).sort();
  const PUT = (title: string, send: unknown, status: number, more: object = {}) => ({
    name: title,
    request: `PUT ${LIST}`,
    send,
    status,
    ...more,
  });

  await t.test('PUT changes the indexes to the list', (t) =>
    runScenarios(t, app, [
      { name: 'no collection, no list', request: `GET ${LIST}`, status: 404, code: 'resource-not-available' },
      PUT('creates the collection', [], 200, { expect: [] }),
      { name: 'which is empty', request: 'GET /api/people', status: 200, text: '[]' },
      PUT('creates', [{ fields: ['name.last', '-age', 'id'] }, { fields: ['tags'], sparse: true }, BY_MAIL], 200, {
        text: JSON.stringify([
          { fields: ['name.last', '-age'], unique: false, sparse: false },
          { fields: ['tags'], unique: false, sparse: true },
          { fields: ['mail'], unique: true, sparse: false },
        ]),
      }),
    ]),
  );
  t.strictSame(await names('people'), ['_id_', 'mail_1_unique', 'name.last_1_age_-1__id_1', 'tags_1_sparse']);
  const [options] = await services.mongo.data.listCollections({ name: 'people' }).toArray();
  t.match(options, { options: { changeStreamPreAndPostImages: { enabled: true } } }, 'its events carry both states');

  await t.test('the list of GET can be put back, and indexes that are not in it are dropped', async (t) => {
    const shown = (await app.inject(LIST)).json();
    t.equal(shown.length, 3);
    const plain = shown.map(({ fields, unique, sparse }: Record<string, unknown>) => ({ fields, unique, sparse }));
    t.strictSame((await app.inject({ method: 'PUT', url: LIST, payload: shown })).json(), plain);
    const mail = async () =>
      (await app.inject(LIST)).json().find(({ fields }: { fields: string[] }) => fields[0] === 'mail');
    const before = await mail();
    t.ok(before.sizeBytes > 0 && Date.parse(before.since) > 0, 'with its size');
    await services.mongo.data.collection('people').find({ mail: 'ann' }).hint('mail_1_unique').toArray();
    t.equal((await mail()).uses, before.uses + 1, 'and each use');
    await app.inject({ method: 'PUT', url: LIST, payload: [BY_MAIL, { fields: ['mail'] }] });
    t.strictSame(await names('people'), ['_id_', 'mail_1__id_1', 'mail_1_unique']);
    await app.inject({ method: 'PUT', url: LIST, payload: [{ fields: ['mail'] }] });
    t.strictSame(await names('people'), ['_id_', 'mail_1__id_1'], 'the same fields, no longer unique');
  });

  await t.test('names that would be written alike are distinguished', async (t) => {
    const url = '/admin/collections/alike/indexes';
    const alike = [{ fields: ['a_1_b'] }, { fields: ['a', 'b'] }];
    for (const payload of [alike, alike.slice(1), alike]) {
      const response = await app.inject({ method: 'PUT', url, payload });
      t.equal(response.statusCode, 200, response.body);
      t.equal(response.json().length, payload.length);
    }
    t.strictSame(await names('alike'), ['_id_', 'a_1_b_1__id_1', 'a_1_b_1__id_1_2']);
  });

  await t.test('new indexes end in the id, which is not listed, and its absence is no difference', async (t) => {
    const url = '/admin/collections/ending/indexes';
    const put = async (payload: object[]) => (await app.inject({ method: 'PUT', url, payload })).json();
    const shown = [{ fields: ['-score'], unique: false, sparse: false }];
    t.strictSame(await put([{ fields: ['-score'] }]), shown);
    t.strictSame(await names('ending'), ['_id_', 'score_-1__id_1']);
    t.strictSame(await put([{ fields: ['-score', 'id'] }]), shown, 'said or not, it is the same index');
    const data = services.mongo.data.collection('ending');
    await data.createIndex({ score: -1 });
    const once = (await app.inject(url)).json();
    t.match(once, shown);
    t.equal(once.length, 1, 'listed once');
    await data.dropIndex('score_-1__id_1');
    t.strictSame(await put(shown), shown);
    t.strictSame(await names('ending'), ['_id_', 'score_-1'], 'one without the id is not built anew');
    await put([{ fields: ['a', 'id', 'b'] }, { fields: ['c', '-id'] }, { fields: ['d'], sparse: true }]);
    t.strictSame(await names('ending'), ['_id_', 'a_1__id_1_b_1', 'c_1__id_-1', 'd_1_sparse']);
    const twice = await app.inject({ method: 'PUT', url, payload: [{ fields: ['a'] }, { fields: ['a', 'id'] }] });
    t.match(twice.json(), { status: 400, code: 'invalid-index' });
  });

  await t.test('index kinds that the API cannot express stay unchanged', async (t) => {
    await services.mongo.data.collection('people').createIndex({ note: 'text' });
    await services.mongo.data.collection('people').createIndex({ born: 1 }, { expireAfterSeconds: 1e9 });
    t.strictSame((await app.inject({ method: 'PUT', url: LIST, payload: [BY_MAIL] })).json().length, 1);
    t.strictSame(await names('people'), ['_id_', 'born_1', 'mail_1_unique', 'note_text']);
  });

  await t.test('a unique index is enforced in every way of writing', (t) =>
    runScenarios(t, app, [
      { name: 'one', request: 'POST /api/people', send: { id: 'a', mail: 'a@x' }, status: 201 },
      { name: 'another', request: 'POST /api/people', send: { id: 'b', mail: 'b@x' }, status: 201 },
      { name: 'POST', request: 'POST /api/people', send: { mail: 'a@x' }, status: 409, expect: DUPLICATE },
      { name: 'PUT', request: 'PUT /api/people/b', send: { mail: 'a@x' }, status: 409, expect: DUPLICATE },
      { name: 'PATCH', request: 'PATCH /api/people/b', send: { mail: 'a@x' }, status: 409, expect: DUPLICATE },
      {
        name: 'upsert',
        request: 'PUT /api/people/c?upsert=true',
        send: { mail: 'a@x' },
        status: 409,
        expect: DUPLICATE,
      },
      {
        name: 'bulk names the element',
        request: 'POST /api/people',
        send: [{ mail: 'c@x' }, { mail: 'b@x' }],
        status: 409,
        expect: { code: 'unique-violation', errors: [{ pointer: '/1/mail' }] },
      },
      {
        name: 'batch names the operation',
        request: 'POST /batch',
        send: {
          operations: [
            { method: 'POST', path: '/api/people', body: { mail: 'c@x' } },
            { method: 'PATCH', path: '/api/people/b', body: { mail: 'a@x' } },
          ],
        },
        status: 409,
        expect: { code: 'unique-violation', failedOperation: 1 },
      },
      {
        name: 'with a key, twice',
        request: 'POST /api/people',
        headers: { 'idempotency-key': 'k' },
        send: { mail: 'a@x' },
        status: 409,
        expect: DUPLICATE,
      },
      {
        name: 'nothing came of it',
        request: 'GET /api/people?fields=mail&count=exact',
        status: 200,
        expect: { length: 2 },
      },
      { name: 'the own value stays allowed', request: 'PUT /api/people/a', send: { mail: 'a@x', n: 1 }, status: 200 },
    ]),
  );

  await t.test('a list that cannot be built changes nothing', async (t) => {
    await app.inject({ method: 'POST', url: '/api/people', payload: { id: 'd', mail: 'd@x', n: 1, p: [1], q: [1] } });
    const before = await names('people');
    await runScenarios(t, app, [
      PUT('duplicates exist', [{ fields: ['fresh'] }, { fields: ['n', 'zone'], unique: true }], 409, {
        code: 'unique-violation',
        expect: { detail: /same n and zone/, errors: [{ pointer: '/n' }, { pointer: '/zone' }] },
      }),
      PUT('two arrays', [{ fields: ['p', 'q'] }], 409, { code: 'index-build-failed' }),
    ]);
    t.strictSame(await names('people'), before);
  });

  await t.test('a document that an index cannot hold is rejected', async (t) => {
    await app.inject({ method: 'PUT', url: '/admin/collections/pairs/indexes', payload: [{ fields: ['p', 'q'] }] });
    await runScenarios(t, app, [
      { name: 'POST', request: 'POST /api/pairs', send: { p: [1], q: [2] }, status: 400, code: 'unsupported-value' },
      { name: 'bulk', request: 'POST /api/pairs', send: [{ p: [1], q: [2] }], status: 400, code: 'unsupported-value' },
      { name: 'one array', request: 'POST /api/pairs', send: { id: 'x', p: [1], q: 2 }, status: 201 },
      { name: 'PATCH', request: 'PATCH /api/pairs/x', send: { q: [1] }, status: 400, code: 'unsupported-value' },
    ]);
  });

  await t.test('a field whose name contains a dollar sign is listed, and dropped', async (t) => {
    await runScenarios(t, app, [
      PUT('creates', [{ fields: ['price$eur'] }], 200, { expect: [{ fields: ['price$eur'] }] }),
      { name: 'lists', request: `GET ${LIST}`, status: 200, expect: [{ fields: ['price$eur'] }] },
      PUT('drops', [], 200, { expect: [] }),
    ]);
    t.notOk((await names('people')).includes('price$eur_1'), 'the database has it no more');
  });

  await t.test('an invalid list of indexes is rejected with its position', (t) =>
    runScenarios(
      t,
      app,
      (
        [
          ['no array', { fields: ['a'] }, ''],
          ['no fields', [{}], '/0'],
          ['an empty list of fields', [{ fields: [] }], '/0/fields'],
          ['a field of another type', [{ fields: [1] }], '/0/fields/0'],
          ['an unknown field', [{ fields: ['a'], uniqe: true }], '/0'],
          ['an operator', [{ fields: ['$a'] }], '/0/fields'],
          ['a wildcard', [{ fields: ['a.$**'] }], '/0/fields'],
          ['an empty step', [{ fields: ['a..b'] }], '/0/fields'],
          ['only a minus', [{ fields: ['-'] }], '/0/fields'],
          ['the id', [{ fields: ['id'] }], '/0/fields'],
          ['both directions', [{ fields: ['a', '-a'] }], '/0/fields'],
          ['a number for a name', [{ fields: ['b', '1'] }], '/0/fields'],
          ['the same twice', [{ fields: ['a'] }, { fields: ['a'], unique: false }], '/1'],
          ['nine fields', [{ fields: [...'abcdefghi'] }], '/0/fields'],
          ['33 indexes', Array.from({ length: 33 }, (_, n) => ({ fields: [`f${n}`] })), ''],
        ] as const
      ).map(([title, send, pointer]) =>
        PUT(title, send, 400, { code: 'invalid-index', expect: { errors: [{ pointer }] } }),
      ),
    ),
  );

  await t.test('an unknown field of an index is reported by its name', (t) =>
    runScenarios(t, app, [
      PUT('unknown', [{ fields: ['a'], uniqe: true }], 400, { expect: { detail: /, at \/0, .*: uniqe$/ } }),
    ]),
  );

  await t.test('names and media types are checked as on other routes', (t) =>
    runScenarios(t, app, [
      {
        name: 'internal',
        request: 'GET /admin/collections/_users/indexes',
        status: 400,
        code: 'invalid-collection-name',
      },
      {
        name: 'reserved',
        request: 'PUT /admin/collections/system/indexes',
        send: [],
        status: 400,
        code: 'invalid-collection-name',
      },
      { name: 'no body', request: `PUT ${LIST}`, headers: {}, status: 400, code: 'body-required' },
      { name: 'text', request: `PUT ${LIST}`, headers: { 'content-type': 'text/plain' }, send: 'x', status: 415 },
    ]),
  );
});

t.test('in production only the administrator can list or change indexes', async (t) => {
  const { app } = await buildTestApp(t, { MILLRACE_MODE: 'production' });
  await runScenarios(t, app, [
    { name: 'GET', request: `GET ${LIST}`, status: 401, code: 'not-authenticated' },
    { name: 'PUT', request: `PUT ${LIST}`, send: [], status: 401, code: 'not-authenticated' },
  ]);
});
