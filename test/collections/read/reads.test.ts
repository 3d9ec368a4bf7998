/** Reading collections, and HTTP's rules for it, row by row. */
import t from 'tap';
import { buildTestApp } from '../../helpers/app.ts';
import { runScenarios } from '../../helpers/scenario.ts';

t.test('reads, paths and methods', async (t) => {
  const { app } = await buildTestApp(t);
  const META = { revision: 1, createdAt: /Z$/ };
  for (const [n, id] of ['a', 'b', 'c'].entries())
    await app.inject({ method: 'POST', url: '/api/many', payload: { id, n } });

  await t.test('GET reads documents', (t) =>
    runScenarios(t, app, [
      {
        name: 'list all, by id',
        request: 'GET /api/many',
        status: 200,
        expect: [{ id: 'a' }, { id: 'b' }, { id: 'c' }],
        expectHeaders: { 'cache-control': 'private, no-cache', vary: /Authorization/ },
      },
      { name: 'head of a list', request: 'HEAD /api/many', status: 200, text: '' },
      {
        name: 'one',
        request: 'GET /api/many/a',
        status: 200,
        expect: { id: 'a', n: 0, _meta: META },
        expectHeaders: { etag: /^"1-/ },
      },
      { name: 'head of one', request: 'HEAD /api/many/a', status: 200, text: '', expectHeaders: { etag: /^"1-/ } },
      { name: 'missing', request: 'GET /api/many/zzz', status: 404, code: 'document-not-found' },
      {
        name: 'a parameter that is not known',
        request: 'GET /api/many/a?colour=red',
        status: 400,
        code: 'unknown-parameter',
      },
      { name: 'a long id', request: `GET /api/many/${'x'.repeat(300)}`, status: 404, code: 'document-not-found' },
      ...['_users', 'system', '1a', 'a.b', 'a%24b', 'x'.repeat(65)].map((name) => ({
        name: `the name ${name.slice(0, 9)} is rejected`,
        request: `GET /api/${name}`,
        status: 400,
        code: 'invalid-collection-name',
      })),
      {
        name: 'no JSON accepted',
        request: 'GET /api/many',
        headers: { accept: 'text/html' },
        status: 406,
        code: 'not-acceptable',
      },
      {
        name: 'JSON among others',
        request: 'GET /api/many',
        headers: { accept: 'text/html, application/*;q=0.8' },
        status: 200,
      },
    ]),
  );

  await t.test('an empty collection stays available', async (t) => {
    await app.inject({ method: 'POST', url: '/api/brief', payload: { id: 'a' } });
    await runScenarios(t, app, [
      { name: 'delete', request: 'DELETE /api/brief/a', status: 204, text: '' },
      { name: 'again', request: 'DELETE /api/brief/a', status: 404, code: 'document-not-found' },
      { name: 'list', request: 'GET /api/brief', status: 200, text: '[]' },
    ]);
  });

  await t.test('the id stays in the result, with any fields', async (t) => {
    await app.inject({ method: 'POST', url: '/api/kept', payload: { id: 'a', n: 1 } });
    for (const [fields, shown] of [
      ['-id', { id: 'a', n: 1, _meta: { revision: 1 } }],
      ['n,-id', { id: 'a', n: 1 }],
      ['-n,-id,-_meta', { id: 'a' }],
    ] as const) {
      t.match((await app.inject(`/api/kept?fields=${fields}`)).json(), [shown], fields);
      t.match((await app.inject(`/api/kept/a?fields=${fields}`)).json(), shown, fields);
    }
  });

  await t.test('a request to the wrong path gets a hint with the right ones', async (t) => {
    for (const url of ['/nowhere', '/todos'])
      t.match(
        (await app.inject({ url })).json(),
        { code: 'route-not-found', hint: /\/api\/\{collection\}.*\/docs/ },
        url,
      );
  });

  await t.test('paths and methods of reads', (t) =>
    runScenarios(t, app, [
      { name: 'nothing here', request: 'GET /nowhere', status: 404, code: 'route-not-found' },
      {
        name: 'wrong method',
        request: 'PUT /api/many',
        status: 405,
        code: 'method-not-allowed',
        expectHeaders: { allow: 'DELETE, GET, HEAD, OPTIONS, PATCH, POST' },
      },
      {
        name: 'wrong method on one',
        request: 'POST /api/many/a',
        status: 405,
        code: 'method-not-allowed',
        expectHeaders: { allow: 'DELETE, GET, HEAD, OPTIONS, PATCH, PUT' },
      },
      {
        name: 'options',
        request: 'OPTIONS /api/many',
        status: 204,
        expectHeaders: { allow: 'DELETE, GET, HEAD, OPTIONS, PATCH, POST' },
      },
      {
        name: 'preflight from a loopback origin',
        request: 'OPTIONS /api/many',
        headers: {
          origin: 'http://localhost:5173',
          'access-control-request-method': 'PUT',
          'access-control-request-headers': 'if-match',
        },
        status: 204,
        expectHeaders: {
          'access-control-allow-origin': 'http://localhost:5173',
          'access-control-allow-methods': /PUT/,
          'access-control-allow-headers': 'if-match',
        },
      },
      {
        name: 'a foreign origin gets no permission',
        request: 'GET /api/many',
        headers: { origin: 'https://evil.example' },
        status: 403,
        code: 'forbidden',
        expectHeaders: { 'access-control-allow-origin': null },
      },
      {
        name: 'a credential that cannot be valid',
        request: 'GET /api/many',
        headers: { authorization: 'Bearer x' },
        status: 401,
        code: 'invalid-token',
        expectHeaders: { 'www-authenticate': /^Bearer/ },
      },
      { name: 'alive', request: 'GET /healthz', status: 200, expect: { status: 'ok' } },
      { name: 'ready', request: 'GET /readyz', status: 200, expect: { status: 'ready' } },
    ]),
  );
});
