/**
 * The OpenAPI document: valid by the schema of its format, consistent with the existing routes, describing each
 * collection by its newest documents, cached briefly, closed to unauthenticated clients in production.
 */
import { Validator } from '@seriousme/openapi-schema-validator';
import { BSON } from 'mongodb';
import t from 'tap';
import { ANONYMOUS } from '../../../src/auth/identity/principal.ts';
import { DOCUMENT_READ_OPERATIONS, DOCUMENT_WRITE_OPERATIONS } from '../../../src/collections/http/document-openapi.ts';
import { CollectionList, describeFields } from '../../../src/collections/schema/collection-list.ts';
import { apiReferenceVersion } from '../../../src/http/docs/api-reference-script.ts';
import { toOpenApi } from '../../../src/http/openapi/openapi.ts';
import { OpenApiDocuments } from '../../../src/http/openapi/openapi-document-route.ts';
import { ERRORS } from '../../../src/lib/errors.ts';
import { buildTestApp } from '../../helpers/app.ts';
import { routesOf } from '../../helpers/routes.ts';

/** The routes outside of the document, each declared so where it is registered. */
const OUTSIDE: readonly string[] = [
  'GET /openapi.json',
  'GET /docs',
  'GET /docs/page.js',
  'GET /docs/page.css',
  `GET /docs/reference-${await apiReferenceVersion()}.js`,
  'GET /realtime',
  'GET /setup',
  'GET /signin',
  'GET /reset',
  'GET /verify',
  'GET /open-app',
  'GET /',
  'GET /examples',
  'GET /examples/',
  'GET /examples/:example',
  'GET /examples/*',
  'GET /client/*',
  'GET /fn/*',
  'GET /dashboard',
  'GET /dashboard/*',
  'GET /dashboard/assets/:name',
];
/** One route, for documents that are built by hand. */
const ROUTES = [
  { method: 'get', path: '/api/{collection}', declaration: DOCUMENT_READ_OPERATIONS.list.openApi, speaksJson: true },
];
/** Codes that only sockets get, or requests to their path without an upgrade: OpenAPI cannot describe that path. */
const SOCKET_ONLY: ReadonlySet<string> = new Set([
  'upgrade-required',
  'unknown-message',
  'too-many-subscriptions',
  'subscription-result-too-large',
  'policy-revoked',
  'subscription-not-found',
  'subscription-exists',
]);

/** Codes that only code inside a function gets, as errors of `ctx`. */
const FUNCTION_ONLY: ReadonlySet<string> = new Set(['function-limits-exceeded', 'fetch-not-allowed', 'fetch-failed']);

/** Codes that a browser takes to the URL at which a sign-in by a provider ends, as `error`. */
const REDIRECT_ONLY: ReadonlySet<string> = new Set([
  'provider-denied',
  'provider-account-not-allowed',
  'provider-response-invalid',
  'provider-unavailable',
]);

t.test('the OpenAPI document', async (t) => {
  const { app, services } = await buildTestApp(t);
  const seeing = services.policies.scope(ANONYMOUS, 'read', '_admin');
  const read = async () => (await app.inject('/openapi.json')).json();
  await app.inject({
    method: 'POST',
    url: '/api/books',
    payload: [
      { title: 'A', year: 1999 },
      { title: null, year: '2001', at: '2026-01-01T00:00:00Z' },
    ],
  });
  const openApi = await read();

  await t.test('the OpenAPI document is valid OpenAPI 3.1', async (t) => {
    const validator = new Validator();
    const result = await validator.validate(structuredClone(openApi));
    t.equal(result.valid, true, JSON.stringify(result.errors));
    t.equal(validator.version, '3.1');
  });

  await t.test(
    'the OpenAPI document contains every existing route and no other, each with a unique name',
    async (t) => {
      const operations = Object.entries<Record<string, { operationId: string }>>(openApi.paths).flatMap(
        ([path, methods]) =>
          Object.entries(methods).map(([method, { operationId }]) => ({
            route: `${method.toUpperCase()} ${path.replace(/\{(\w+)\}/g, ':$1')}`,
            operationId,
          })),
      );
      const reported = operations.map(({ route }) => route).filter((route) => !route.includes('/api/books'));
      // Fastify prints wildcards without what precedes them.
      const routes = routesOf(app).filter((route) => !/^(?:HEAD|OPTIONS) |\*$/.test(route));
      t.strictSame(reported.sort(), routes.filter((route) => !OUTSIDE.includes(route)).sort());
      for (const route of OUTSIDE) t.ok(app.hasRoute({ method: 'GET', url: route.slice(4) }), `${route} exists`);
      t.equal(new Set(operations.map(({ operationId }) => operationId)).size, operations.length);
    },
  );

  await t.test('the OpenAPI document contains every code of the table that HTTP can return', async (t) => {
    const reported = JSON.stringify(openApi.components.responses);
    t.strictSame(
      Object.keys(ERRORS).filter(
        (code) =>
          !reported.includes(`"${code}"`) &&
          ![SOCKET_ONLY, FUNCTION_ONLY, REDIRECT_ONLY].some((only) => only.has(code)),
      ),
      [],
    );
  });

  await t.test(
    'the OpenAPI document lists the headers of errors that are stored for a key, or are temporary',
    async (t) => {
      const { patch } = openApi.paths['/api/{collection}/{id}'];
      const refusal = (status: number) => openApi.components.responses[patch.responses[status].$ref.split('/').at(-1)];
      for (const status of [400, 404, 409, 412, 413])
        t.ok(refusal(status).headers['Idempotency-Replayed'], `${status}`);
      for (const status of [401, 403, 422, 503]) t.notOk(refusal(status).headers['Idempotency-Replayed'], `${status}`);
      for (const status of [409, 503]) t.ok(refusal(status).headers['Retry-After'], `${status}`);
    },
  );

  await t.test('the OpenAPI document lists Millrace-As where it is accepted, and nowhere else', async (t) => {
    const as = Object.entries<{ name: string }>(openApi.components.parameters).filter(
      ([, { name }]) => name === 'Millrace-As',
    );
    t.equal(as.length, 1);
    const reference = `#/components/parameters/${as[0]?.[0]}`;
    const takes = Object.entries<Record<string, { parameters?: { $ref: string }[] }>>(openApi.paths).flatMap(
      ([path, methods]) =>
        Object.entries(methods).flatMap(([method, { parameters = [] }]) =>
          parameters.some(({ $ref }) => $ref === reference) ? [`${method.toUpperCase()} ${path}`] : [],
        ),
    );
    t.strictSame(takes.filter((route) => !route.includes('/api/books')).sort(), [
      'GET /api/{collection}',
      'GET /api/{collection}/_changes',
      'GET /api/{collection}/{id}',
      'GET /api/{collection}/{id}/_history',
      'GET /events',
      'GET /files',
      'GET /files/{id}',
      'GET /files/{id}/{name}',
      'POST /api/{collection}/_query',
    ]);
    const requests = { origin: 'http://localhost:5173', 'access-control-request-method': 'GET' };
    const headers = { ...requests, 'access-control-request-headers': 'authorization,millrace-as' };
    const preflight = await app.inject({ method: 'OPTIONS', url: '/api/books', headers });
    t.match(preflight.headers['access-control-allow-headers'], /millrace-as/, 'browsers may send it');
  });

  await t.test('the OpenAPI document describes a collection by its newest documents', async (t) => {
    t.ok(openApi.paths['/api/books/{id}'].patch);
    t.match(openApi.components.schemas['BooksDocument'], {
      type: 'object',
      properties: {
        id: { type: 'string' },
        _meta: { $ref: '#/components/schemas/DocumentMeta' },
        title: { type: ['null', 'string'], description: 'In 2 of the 2 newest documents.' },
        year: { anyOf: [{ type: 'string' }, { type: 'integer', format: 'int64' }] },
        at: { type: 'string', format: 'date-time', description: 'In 1 of the 2 newest documents.' },
      },
    });
  });

  await t.test('the OpenAPI document describes the others when one collection cannot be read', async (t) => {
    const longest = Array.from({ length: 21 }, (_, n) => ({ _id: `${n}`.padStart(3_000, 'z') }));
    await services.mongo.data.collection<{ _id: string }>('foreign').insertMany(longest);
    const reported: string[] = [];
    const onError = (_error: unknown, collection: string) => reported.push(collection);
    const seen = new CollectionList({ ...services, onError });
    const { paths } = await new OpenApiDocuments({ seen, routes: ROUTES, version: '1' }).get(seeing);
    t.strictSame(reported, [], 'a client error is not a server error');
    t.ok('/api/books' in paths);
    t.ok('/api/foreign' in paths);
    await services.mongo.data.collection('foreign').drop();
    const collections = Object.assign(Object.create(services.collections), {
      list: async () => {
        throw new TypeError('A mistake of ours');
      },
    });
    await new CollectionList({ ...services, collections, onError }).of(ANONYMOUS);
    t.ok(reported.includes('books'), 'a server error is reported');
  });

  await t.test('the OpenAPI document is cached briefly', async (t) => {
    let now = 0;
    const seen = new CollectionList({ ...services, onError: (error) => t.fail(String(error)) });
    const kept = new OpenApiDocuments({ seen, routes: ROUTES, version: '1', now: () => now });
    const before = await kept.get(seeing);
    await app.inject({ method: 'POST', url: '/api/late', payload: {} });
    now = 2_000;
    t.equal(await kept.get(seeing), before);
    now = 4_000;
    t.ok('/api/late' in (await kept.get(seeing)).paths);
  });

  await t.test('the OpenAPI document is small for many collections', async (t) => {
    const fields = await describeFields([BSON.serialize({ a: 1, b: 'x' })]);
    const declarations = [...Object.values(DOCUMENT_READ_OPERATIONS), ...Object.values(DOCUMENT_WRITE_OPERATIONS)];
    const routes = declarations.map(({ openApi: contract }, n) => ({
      method: 'get',
      path: `/api/{collection}/${n}`,
      declaration: contract,
      speaksJson: true,
    }));
    const many = Array.from({ length: 50 }, (_, n) => ({ name: `c${n}`, sampled: 1, fields }));
    const size = JSON.stringify(toOpenApi(routes, many, '1')).length;
    t.ok(size < 1_000_000, `${size} bytes`);
  });
});

t.test('in production unauthenticated clients cannot read the OpenAPI document', async (t) => {
  const { app } = await buildTestApp(t, { MILLRACE_MODE: 'production' });
  t.equal((await app.inject('/openapi.json')).statusCode, 401);
});

t.test('a request that no route matches is rejected before its body is read', async (t) => {
  const { app } = await buildTestApp(t);
  const url = await app.listen({ host: '127.0.0.1', port: 0 });
  for (const [method, path, status] of [
    ['QUERY', '/healthz', 405],
    ['QUERY', '/nothing', 404],
    ['DELETE', '/healthz', 405],
  ] as const) {
    const response = await fetch(url + path, { method });
    t.equal(response.status, status, `${method} ${path}`);
    await response.body?.cancel();
  }
});
