/**
 * The contract: valid by the schema of its format, true to the routes that exist, telling each collection as its newest
 * documents are, kept for a moment, closed to strangers in production.
 */
import { Validator } from '@seriousme/openapi-schema-validator';
import t from 'tap';
import { ANONYMOUS } from '../../../src/auth/identity/principal.ts';
import { READING, WRITES } from '../../../src/collections/http/document-operations.ts';
import { memberSchemas } from '../../../src/collections/sample/member-types.ts';
import { SeenCollections } from '../../../src/collections/sample/seen-collections.ts';
import { referenceVersion } from '../../../src/http/docs/reference-script.ts';
import { Contract } from '../../../src/http/openapi/contract.ts';
import { toOpenApi } from '../../../src/http/openapi/openapi.ts';
import { ERRORS } from '../../../src/kernel/errors.ts';
import { buildTestApp } from '../../helpers/app.ts';
import { routesOf } from '../../helpers/routes.ts';

/** The routes that the contract does not tell, each declared so where it is registered. */
const OUTSIDE: readonly string[] = [
  'GET /openapi.json',
  'GET /docs',
  'GET /docs/page.js',
  'GET /docs/page.css',
  `GET /docs/reference-${await referenceVersion()}.js`,
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
/** One route, for contracts that are made by hand. */
const ROUTES = [{ method: 'get', path: '/api/{collection}', declaration: READING.list.contract, speaksJson: true }];
/** What only sockets are told, or who comes to their place without one: OpenAPI has no words for that place. */
const SOCKET_ONLY: ReadonlySet<string> = new Set([
  'upgrade-required',
  'unknown-message',
  'too-many-subscriptions',
  'too-large',
  'policy-revoked',
  'subscription-unknown',
  'subscription-exists',
]);

/** What only code inside a function sees, as errors of `ctx`. */
const FUNCTION_ONLY: ReadonlySet<string> = new Set(['function-limit', 'fetch-not-allowed', 'fetch-failed']);

/** What a browser takes to the address that a sign-in by a provider ends at, as `error`. */
const REDIRECT_ONLY: ReadonlySet<string> = new Set([
  'provider-denied',
  'provider-account-refused',
  'account-exists',
  'provider-answer-refused',
  'provider-unavailable',
]);

t.test('the contract', async (t) => {
  const { app, parts } = await buildTestApp(t);
  const seeing = parts.policies.scope(ANONYMOUS, 'read', 'admin');
  const read = async () => (await app.inject('/openapi.json')).json();
  await app.inject({
    method: 'POST',
    url: '/api/books',
    payload: [
      { title: 'A', year: 1999 },
      { title: null, year: '2001', at: '2026-01-01T00:00:00Z' },
    ],
  });
  const contract = await read();

  await t.test('is OpenAPI 3.1', async (t) => {
    const validator = new Validator();
    const result = await validator.validate(structuredClone(contract));
    t.equal(result.valid, true, JSON.stringify(result.errors));
    t.equal(validator.version, '3.1');
  });

  await t.test('names every route that exists and no other, each under a name of its own', async (t) => {
    const operations = Object.entries<Record<string, { operationId: string }>>(contract.paths).flatMap(
      ([path, methods]) =>
        Object.entries(methods).map(([method, { operationId }]) => ({
          route: `${method.toUpperCase()} ${path.replace(/\{(\w+)\}/g, ':$1')}`,
          operationId,
        })),
    );
    const told = operations.map(({ route }) => route).filter((route) => !route.includes('/api/books'));
    // Fastify prints wildcards without what stands before them.
    const routes = routesOf(app).filter((route) => !/^(?:HEAD|OPTIONS) |\*$/.test(route));
    t.strictSame(told.sort(), routes.filter((route) => !OUTSIDE.includes(route)).sort());
    for (const route of OUTSIDE) t.ok(app.hasRoute({ method: 'GET', url: route.slice(4) }), `${route} exists`);
    t.equal(new Set(operations.map(({ operationId }) => operationId)).size, operations.length);
  });

  await t.test('names every code of the table that HTTP can answer with', async (t) => {
    const told = JSON.stringify(contract.components.responses);
    t.strictSame(
      Object.keys(ERRORS).filter(
        (code) =>
          !told.includes(`"${code}"`) && ![SOCKET_ONLY, FUNCTION_ONLY, REDIRECT_ONLY].some((only) => only.has(code)),
      ),
      [],
    );
  });

  await t.test('names the headers of refusals that are kept under a key, or pass', async (t) => {
    const { patch } = contract.paths['/api/{collection}/{id}'];
    const refusal = (status: number) => contract.components.responses[patch.responses[status].$ref.split('/').at(-1)];
    for (const status of [400, 404, 409, 412, 413]) t.ok(refusal(status).headers['Idempotency-Replayed'], `${status}`);
    for (const status of [401, 403, 422, 503]) t.notOk(refusal(status).headers['Idempotency-Replayed'], `${status}`);
    for (const status of [409, 503]) t.ok(refusal(status).headers['Retry-After'], `${status}`);
  });

  await t.test('names Millrace-As where it is taken, and nowhere else', async (t) => {
    const as = Object.entries<{ name: string }>(contract.components.parameters).filter(
      ([, { name }]) => name === 'Millrace-As',
    );
    t.equal(as.length, 1);
    const reference = `#/components/parameters/${as[0]?.[0]}`;
    const takes = Object.entries<Record<string, { parameters?: { $ref: string }[] }>>(contract.paths).flatMap(
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
    const asks = { origin: 'http://localhost:5173', 'access-control-request-method': 'GET' };
    const headers = { ...asks, 'access-control-request-headers': 'authorization,millrace-as' };
    const preflight = await app.inject({ method: 'OPTIONS', url: '/api/books', headers });
    t.match(preflight.headers['access-control-allow-headers'], /millrace-as/, 'browsers may send it');
  });

  await t.test('tells a collection as its newest documents are', async (t) => {
    t.ok(contract.paths['/api/books/{id}'].patch);
    t.match(contract.components.schemas['books.Document'], {
      allOf: [
        { $ref: '#/components/schemas/Document' },
        {
          properties: {
            title: { type: ['null', 'string'], description: 'In 2 of the 2 newest documents.' },
            year: { type: ['string', 'integer'] },
            at: { type: 'string', format: 'date-time', description: 'In 1 of the 2 newest documents.' },
          },
        },
      ],
    });
  });

  await t.test('tells the others when one collection cannot be looked at', async (t) => {
    const longest = Array.from({ length: 21 }, (_, n) => ({ _id: `${n}`.padStart(3_000, 'z') }));
    await parts.mongo.data.collection<{ _id: string }>('foreign').insertMany(longest);
    const told: string[] = [];
    const onError = (_error: unknown, collection: string) => told.push(collection);
    const seen = new SeenCollections({ ...parts, onError });
    const { paths } = await new Contract({ seen, routes: ROUTES, version: '1' }).get(seeing);
    t.strictSame(told, [], 'an error that a client would be told is none of ours');
    t.ok('/api/books' in paths);
    t.ok('/api/foreign' in paths);
    await parts.mongo.data.collection('foreign').drop();
    const collections = Object.assign(Object.create(parts.collections), {
      list: async () => {
        throw new TypeError('A mistake of ours');
      },
    });
    await new SeenCollections({ ...parts, collections, onError }).of(ANONYMOUS);
    t.ok(told.includes('books'), 'a fault of the program is told');
  });

  await t.test('is kept for a moment', async (t) => {
    let now = 0;
    const seen = new SeenCollections({ ...parts, onError: (error) => t.fail(String(error)) });
    const kept = new Contract({ seen, routes: ROUTES, version: '1', now: () => now });
    const before = await kept.get(seeing);
    await app.inject({ method: 'POST', url: '/api/late', payload: {} });
    now = 2_000;
    t.equal(await kept.get(seeing), before);
    now = 4_000;
    t.ok('/api/late' in (await kept.get(seeing)).paths);
  });

  await t.test('is small for many collections', async (t) => {
    const members = memberSchemas([{ a: 1, b: 'x' }]);
    const declarations = [...Object.values(READING), ...Object.values(WRITES)];
    const routes = declarations.map(({ contract }, n) => ({
      method: 'get',
      path: `/api/{collection}/${n}`,
      declaration: contract,
      speaksJson: true,
    }));
    const many = Array.from({ length: 50 }, (_, n) => ({ name: `c${n}`, sampled: 1, members }));
    const size = JSON.stringify(toOpenApi(routes, many, '1')).length;
    t.ok(size < 1_000_000, `${size} bytes`);
  });
});

t.test('in production strangers do not see it', async (t) => {
  const { app } = await buildTestApp(t, { MILLRACE_MODE: 'production' });
  t.equal((await app.inject('/openapi.json')).statusCode, 401);
});

t.test('what no route answers is refused before its body is read', async (t) => {
  const { app } = await buildTestApp(t);
  const url = await app.listen({ host: '127.0.0.1', port: 0 });
  for (const [method, path, status] of [
    ['QUERY', '/healthz', 405],
    ['QUERY', '/nothing', 404],
    ['DELETE', '/healthz', 405],
  ] as const) {
    const answer = await fetch(url + path, { method });
    t.equal(answer.status, status, `${method} ${path}`);
    await answer.body?.cancel();
  }
});
