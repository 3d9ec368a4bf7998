/** Rejected batches: every error has the index of its operation, and nothing is written. */
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

t.test('rejected batches', async (t) => {
  const { app } = await buildTestApp(t);
  await app.inject({ method: 'POST', url: '/api/cond', payload: { id: 'a' } });
  await t.test('a rejected batch reports the failing operation and writes nothing', (t) =>
    runScenarios(t, app, [
      { name: 'no body', request: 'POST /batch', status: 400, code: 'body-required' },
      { name: 'an array', request: 'POST /batch', send: [], status: 400, code: 'invalid-body-type' },
      { name: 'no operations', request: 'POST /batch', send: {}, status: 400, code: 'invalid-body-type' },
      {
        name: 'another field',
        request: 'POST /batch',
        send: { operations: [], x: 1 },
        status: 400,
        code: 'invalid-body-type',
      },
      post('an empty one', [], { code: 'invalid-body-type' }),
      post('101', Array(101).fill({ method: 'POST', path: '/api/a', body: {} }), { code: 'too-many-operations' }),
      {
        name: 'a parameter',
        request: 'POST /batch?x=1',
        send: { operations: [] },
        status: 400,
        code: 'unknown-parameter',
      },
      {
        name: 'another method',
        request: 'PUT /batch',
        send: {},
        status: 405,
        code: 'method-not-allowed',
        expectHeaders: { allow: 'OPTIONS, POST' },
      },
      ...[1, {}, { method: 'POST' }, { method: 1, path: '/api/a' }, { method: 'POST', path: '/api/a', x: 1 }].map(
        (operation) =>
          post(
            `no operation: ${JSON.stringify(operation)}`,
            [{ method: 'POST', path: '/api/refused', body: {} }, operation],
            {
              code: 'malformed-request',
              expect: { failedOperation: 1, errors: [{ pointer: '/operations/1' }] },
            },
          ),
      ),
      ...[
        { ref: 1 },
        { ref: '' },
        { ref: '1' },
        { headers: 1 },
        { headers: { 'if-match': 1 } },
        { headers: { 'idempotency-key': 'x' } },
      ].map((more) =>
        post(
          `an invalid field: ${JSON.stringify(more)}`,
          [{ method: 'POST', path: '/api/refused', body: {}, ...more }],
          {
            code: 'malformed-request',
            expect: { failedOperation: 0 },
          },
        ),
      ),
      post('a ref twice', Array(2).fill({ method: 'POST', path: '/api/refused', body: {}, ref: 'a' }), {
        code: 'malformed-request',
        expect: { failedOperation: 1 },
      }),
      post('a ref of many', [{ method: 'POST', path: '/api/refused', body: [{}], ref: 'a' }], {
        code: 'malformed-request',
      }),
      post('a path with a ref that is not there', [{ method: 'DELETE', path: '/api/refused/$a.id' }], {
        code: 'malformed-request',
      }),
      ...['/files/x', '/api', '/api/', '/api/a/', '/api/a/b/c', '/batch', 'api/a', ''].map((path) =>
        post(`the path '${path}'`, [{ method: 'POST', path, body: {} }], {
          status: 404,
          code: 'route-not-found',
          expect: { failedOperation: 0 },
        }),
      ),
      post('a path that is not well encoded', [{ method: 'POST', path: '/api/%', body: {} }], {
        code: 'malformed-request',
      }),
      post('GET', [{ method: 'GET', path: '/api/refused/x' }], {
        status: 405,
        code: 'method-not-allowed',
        expectHeaders: { allow: 'DELETE, PATCH, PUT' },
      }),
      post('a method that none is', [{ method: 'SHOUT', path: '/api/refused' }], {
        status: 405,
        code: 'method-not-allowed',
        expectHeaders: { allow: 'DELETE, PATCH, POST' },
      }),
      post('a reserved name', [{ method: 'POST', path: '/api/_users', body: {} }], { code: 'invalid-collection-name' }),
      post('no body of an operation', [{ method: 'POST', path: '/api/refused' }], { code: 'body-required' }),
      {
        name: 'a body that is rejected while it is parsed',
        request: 'POST /batch',
        headers: { 'content-type': 'application/json' },
        send: '{"operations":[{"method":"POST","path":"/api/a","body":{}},{"method":"POST","path":"/api/a","body":{"n":1e999}}]}',
        status: 400,
        code: 'unsupported-value',
        expect: { failedOperation: 1, errors: [{ pointer: '/operations/1/body/n' }] },
      },
      post('a bad body of an operation', [{ method: 'POST', path: '/api/refused', body: { _id: 1 } }], {
        code: 'unsupported-field-name',
        expect: { failedOperation: 0, errors: [{ pointer: '/operations/0/body/_id' }] },
      }),
      post(
        'a media type',
        [{ method: 'PUT', path: '/api/refused/a', body: {}, headers: { 'content-type': 'text/plain' } }],
        {
          status: 415,
          code: 'unsupported-media-type',
        },
      ),
      post('a parameter in a path', [{ method: 'POST', path: '/api/refused?x=1', body: {} }], {
        code: 'unknown-parameter',
      }),
      post('a missing document', [{ method: 'DELETE', path: '/api/cond/none' }], {
        status: 404,
        code: 'document-not-found',
      }),
      post('a missing collection', [{ method: 'DELETE', path: '/api/nothing/none' }], {
        status: 404,
        code: 'resource-not-available',
      }),
      post(
        'a missing document in a collection of this batch',
        [
          { method: 'POST', path: '/api/refused', body: {} },
          { method: 'DELETE', path: '/api/refused/none' },
        ],
        { status: 404, code: 'document-not-found', expect: { failedOperation: 1 } },
      ),
      { name: 'none of them left anything', request: 'GET /api/refused', status: 404, code: 'resource-not-available' },
    ]),
  );
});

t.test('in production mode a batch writes nothing that a single write may not', async (t) => {
  const { app } = await buildTestApp(t, { MILLRACE_MODE: 'production' });
  const payload = { operations: [{ method: 'POST', path: '/api/a', body: {} }] };
  const response = await app.inject({ method: 'POST', url: '/batch', payload });
  t.equal(response.statusCode, 401);
  t.match(response.json(), { code: 'not-authenticated', failedOperation: 0 });
});
