/**
 * Errors of the server in terms of the closed table: none of them is an internal error (500), and a retryable one says
 * when. On a server with failpoints; the rest by causing real errors.
 */
import { randomBytes } from 'node:crypto';
import type { Document } from 'mongodb';
import t from 'tap';
import { translateError } from '../../src/database/errors.ts';
import { mongoErrorMeaning } from '../../src/database/mongo-error-codes.ts';
import { ERRORS } from '../../src/lib/errors.ts';
import { buildTestApp } from '../helpers/app.ts';
import { testReplicaSet } from '../helpers/database/replica-set.ts';
import { isLong } from '../helpers/long-profile.ts';
import { runScenarios } from '../helpers/scenario.ts';

/** Every transient code of a server without shards: of `error_codes.yml` the retryable and the interrupting. */
const PASSING = [
  6, 7, 24, 43, 46, 50, 64, 79, 89, 91, 100, 117, 133, 134, 175, 189, 202, 215, 234, 237, 239, 246, 250, 261, 262, 264,
  276, 279, 281, 282, 285, 290, 355, 365, 371, 9001, 10058, 10107, 11600, 11601, 11602, 13435, 13436, 14031,
];

t.test('the table has every transient code of the server', async (t) => {
  for (const code of PASSING) {
    const meaning = mongoErrorMeaning(code, '');
    t.equal(ERRORS[meaning?.code ?? 'internal'].status, 503, String(code));
    t.ok(meaning?.retryAfter, String(code));
  }
  const gaveUp = new DOMException('No response within 5 ms', 'TimeoutError');
  t.match(translateError(gaveUp), { code: 'database-unavailable', cause: gaveUp });
  for (const code of [undefined, 1, 2, 8, 13, 11000]) t.equal(mongoErrorMeaning(code, ''), undefined, String(code));
});

t.test('errors of the server become errors of the table', async (t) => {
  const set = await testReplicaSet(t, { args: ['--setParameter', 'enableTestCommands=1'] });
  const testDatabase = { url: set.url, database: `test_${randomBytes(6).toString('hex')}` };
  const { app, services } = await buildTestApp(t, {}, testDatabase);
  const data = services.mongo.data;
  const fail = (mode: object | string, more: Document = {}) =>
    services.mongo.client.db('admin').command({ configureFailPoint: 'failCommand', mode, data: more });
  t.teardown(() => fail('off'));
  const POINT = {
    id: 'a',
    x: [1, 2],
    y: [3, 4],
    z: 1,
  };
  await app.inject({ method: 'POST', url: '/api/things', payload: POINT });

  await t.test('a transient error is 503 with Retry-After', async (t) => {
    for (const errorCode of isLong ? [11601, 237, 43, 365, 10107, 50, 262, 134] : [11601, 10107]) {
      for (const [command, method, url] of [
        ['find', 'GET', '/api/things'],
        ['find', 'GET', '/api/things/a'],
        ['insert', 'POST', '/api/things'],
        ['update', 'PATCH', '/api/things/a'],
      ] as const) {
        const namespace = `${testDatabase.database}.things`;
        await fail('alwaysOn', { errorCode, failCommands: [command], namespace });
        const response = await app.inject({ method, url, ...(method === 'GET' ? {} : { payload: { b: 1 } }) });
        await fail('off');
        t.equal(response.statusCode, 503, `${errorCode} ${method} ${url}: ${response.body}`);
        t.match(response.headers['retry-after'], /^[1-9]\d*$/, `${errorCode} ${method} ${url}`);
      }
    }
    const result = await app.inject('/api/things/a');
    t.equal(result.statusCode, 200, 'and it has passed');
  });

  await t.test('an unavailable database is reported for many documents too', async (t) => {
    const url = '/api/things';
    const failing = { closeConnection: true, failCommands: ['insert'], namespace: `${testDatabase.database}.things` };
    await fail('alwaysOn', failing);
    const many = Array.from({ length: 8 }, () => ({ b: 1 }));
    const creates = many.map((payload) => app.inject({ method: 'POST', url, payload }));
    const responses = [...(await Promise.all(creates)), await app.inject({ method: 'POST', url, payload: many })];
    await fail('off');
    for (const response of responses) {
      t.match(response.json(), { status: 503, code: 'database-unavailable' });
      t.match(response.headers['retry-after'], /^[1-9]/);
    }
  });

  await t.test('a write that too few members have acknowledged is not reported as successful', async (t) => {
    const writeConcernError = { code: 64, errmsg: 'waiting for replication timed out' };
    for (const [command, method, url] of [
      ['insert', 'POST', '/api/things'],
      ['update', 'PATCH', '/api/things/a'],
      ['delete', 'DELETE', '/api/things/a'],
    ] as const) {
      await fail('alwaysOn', {
        writeConcernError,
        failCommands: [command],
        namespace: `${testDatabase.database}.things`,
      });
      const payload = method === 'DELETE' ? {} : { payload: { b: 1 } };
      const response = await app.inject({ method, url, ...payload });
      await fail('off');
      t.equal(response.statusCode, 503, `${method}: ${response.body}`);
      t.match(response.headers['retry-after'], /^[1-9]/, method);
    }
  });

  await t.test('a limit of the database is an error of the request', async (t) => {
    await app.inject({ method: 'PUT', url: '/api/things/b?upsert=true', payload: POINT });
    await data.createCollection('ruled', { validator: { age: { $type: 'int' } } });
    await data.createCollection('small', { capped: true, size: 4096 });
    await data.createCollection('seen', { viewOn: 'things', pipeline: [] });
    await data.createCollection('times', { timeseries: { timeField: 't' } });
    await data.collection('times').insertOne({ t: new Date() });
    const PATCH = { x: [1, 2], y: [3, 4] };
    await app.inject({ method: 'PUT', url: '/admin/collections/indexed/indexes', payload: [{ fields: ['x', 'y'] }] });
    await app.inject({ method: 'POST', url: '/api/indexed', payload: { id: 'a' } });
    await app.inject({ method: 'POST', url: '/api/small', payload: { id: 'a' } });
    await runScenarios(t, app, [
      { name: 'parallel', request: 'GET /api/things?sort=x,y', status: 400, code: 'sort-not-possible' },
      { name: 'a page', request: 'GET /api/things?sort=x,y&limit=1', status: 400, code: 'sort-not-possible' },
      {
        name: 'asked',
        request: 'POST /api/things/_query',
        send: { sort: '-y,x', limit: 2 },
        status: 400,
        code: 'sort-not-possible',
      },
      { name: 'one array', request: 'GET /api/things?sort=x,z', status: 200 },
      { name: 'index', request: 'PATCH /api/indexed/a', send: PATCH, status: 400, code: 'unsupported-value' },
      { name: 'a rule', request: 'POST /api/ruled', send: { age: 'x' }, status: 400, code: 'unsupported-value' },
      { name: 'rules', request: 'POST /api/ruled', send: [{ age: 'x' }], status: 400, code: 'unsupported-value' },
      { name: 'capped', request: 'POST /api/small', send: { id: 'b' }, status: 201 },
      { name: 'capped, many', request: 'POST /api/small', send: [{}], status: 403, code: 'forbidden' },
      {
        name: 'capped, keyed',
        request: 'POST /api/small',
        headers: { 'idempotency-key': 'k' },
        send: {},
        status: 403,
        code: 'forbidden',
      },
      { name: 'view, indexes', request: 'GET /admin/collections/seen/indexes', status: 200, text: '[]' },
      { name: 'view', request: 'GET /api/seen/b', status: 200 },
      { name: 'view, write', request: 'POST /api/seen', send: {}, status: 403, code: 'forbidden' },
      { name: 'view, patch', request: 'PATCH /api/seen/b', send: { a: 1 }, status: 403, code: 'forbidden' },
      { name: 'view, delete', request: 'DELETE /api/seen/b', status: 403, code: 'forbidden' },
      { name: 'time series', request: 'POST /api/times', send: { t: 'x' }, status: 403, code: 'forbidden' },
      {
        name: 'time series, by filter',
        request: 'DELETE /api/times?filter={}',
        headers: { prefer: 'max-affected=10' },
        status: 403,
        code: 'forbidden',
        expect: { detail: /time series/ },
      },
    ]);
  });
});
