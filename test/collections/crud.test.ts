/** The API of collections (docs/api.md), row by row, on a real database. */
import t from 'tap';
import { buildTestApp } from '../helpers/app.ts';
import { watchEvents } from '../helpers/events/event-watch.ts';
import { runScenarios } from '../helpers/scenario.ts';

t.test('the API of collections', async (t) => {
  const { app, services } = await buildTestApp(t);
  const watch = await watchEvents(t, services);

  const META = { revision: 1, createdAt: /^\d{4}-.*Z$/, updatedAt: /^\d{4}-.*Z$/, createdBy: null, updatedBy: null };
  const ODD = ['odd.created'];
  const NEVER = { detail: "Resource 'ghosts' is not available in the database" };

  await t.test('a collection that was never created is not available', (t) =>
    runScenarios(
      t,
      app,
      [
        { name: 'list', request: 'GET /api/ghosts', status: 404, code: 'resource-not-available', expect: NEVER },
        { name: 'head', request: 'HEAD /api/ghosts', status: 404, text: '' },
        { name: 'get', request: 'GET /api/ghosts/a', status: 404, code: 'resource-not-available', expect: NEVER },
        {
          name: 'put',
          request: 'PUT /api/ghosts/a',
          send: {},
          status: 404,
          code: 'resource-not-available',
          expect: NEVER,
        },
        { name: 'patch', request: 'PATCH /api/ghosts/a', send: {}, status: 404, code: 'resource-not-available' },
        { name: 'delete', request: 'DELETE /api/ghosts/a', status: 404, code: 'resource-not-available', expect: NEVER },
        {
          name: 'delete, with the type of the body that it has not',
          request: 'DELETE /api/ghosts/a',
          headers: { 'content-type': 'application/json', 'content-length': '0' },
          send: '',
          status: 404,
          code: 'resource-not-available',
        },
        { name: 'still not there', request: 'GET /api/ghosts', status: 404, code: 'resource-not-available' },
      ],
      watch,
    ),
  );

  await t.test('POST creates a document', (t) =>
    runScenarios(
      t,
      app,
      [
        {
          name: 'an object becomes a document with an id and _meta',
          request: 'POST /api/todos',
          send: { title: 'Buy milk', date: '2026-01-02' },
          status: 201,
          expectHeaders: {
            location: /^\/api\/todos\/[0-9a-f]{24}$/,
            etag: /^"1-[\w-]{27}"$/,
            'content-type': 'application/json; charset=utf-8',
            'cache-control': 'private, no-cache',
            'x-content-type-options': 'nosniff',
            'x-request-id': /^req_/,
          },
          expect: { id: /^[0-9a-f]{24}$/, title: 'Buy milk', date: '2026-01-02', _meta: META },
          events: [{ type: 'todos.created', revision: 1, data: { title: 'Buy milk' }, before: null, request: /^req_/ }],
        },
        {
          name: 'an id in the body is the id',
          request: 'POST /api/todos',
          send: { id: 'milk.1~a-b_c', title: 'Milk', _meta: { revision: 9 }, _expanded: 1 },
          status: 201,
          expectHeaders: { location: '/api/todos/milk.1~a-b_c' },
          expect: { id: 'milk.1~a-b_c', _meta: META, _expanded: undefined },
          events: [{ type: 'todos.created', documentId: 'milk.1~a-b_c' }],
        },
        {
          name: 'the same id again',
          request: 'POST /api/todos',
          send: { id: 'milk.1~a-b_c' },
          status: 409,
          code: 'id-exists',
        },
        ...['', '_x', 'a/b', 'ä', 'x'.repeat(129)].map((id) => ({
          name: `the id '${id.slice(0, 9)}' is rejected`,
          request: 'POST /api/todos',
          send: { id },
          status: 400,
          code: 'invalid-id',
        })),
        {
          name: 'an id that is no string',
          request: 'POST /api/todos',
          send: { id: 7 },
          status: 400,
          code: 'invalid-id',
        },
        { name: 'no body', request: 'POST /api/todos', status: 400, code: 'body-required' },
        { name: 'an empty body', request: 'POST /api/todos', send: '', status: 400, code: 'body-required' },
        { name: 'not JSON', request: 'POST /api/todos', send: '{"a":', status: 400, code: 'malformed-json' },
        { name: 'a string', request: 'POST /api/todos', send: '"x"', status: 400, code: 'invalid-body-type' },
        { name: 'null', request: 'POST /api/todos', send: 'null', status: 400, code: 'invalid-body-type' },
        {
          name: 'another media type',
          request: 'POST /api/todos',
          send: 'a=1',
          headers: { 'content-type': 'application/x-www-form-urlencoded' },
          status: 415,
          code: 'unsupported-media-type',
        },
        {
          name: 'a patch type is no document',
          request: 'POST /api/todos',
          send: {},
          headers: { 'content-type': 'application/merge-patch+json' },
          status: 415,
          code: 'unsupported-media-type',
        },
        {
          name: 'Prefer: return=minimal',
          request: 'POST /api/todos',
          send: { id: 'minimal' },
          headers: { prefer: 'return=minimal' },
          status: 201,
          expectHeaders: { 'preference-applied': 'return=minimal', location: '/api/todos/minimal', etag: /^"1-/ },
          text: '',
          events: [{ type: 'todos.created', documentId: 'minimal' }],
        },
        {
          name: 'names with dots, dollars and no characters are stored',
          request: 'POST /api/odd',
          send: { 'a.b': { $set: 1, '': [{ 'x.y': null }] }, $where: 'x', __v: 1, _class: 'y', constructor: 1 },
          status: 201,
          expect: { 'a.b': { $set: 1, '': [{ 'x.y': null }] }, $where: 'x', __v: 1, _class: 'y', constructor: 1 },
          events: [{ type: 'odd.created', data: { 'a.b': { $set: 1, '': [{ 'x.y': null }] }, $where: 'x' } }],
        },
        ...[
          ['{"_id":1}', '/_id'],
          ['{"a":{"__proto__":1}}', '/a/__proto__'],
          ['{"a":[{"_bsontype":"x"}]}', '/a/0/_bsontype'],
          ['{"a\\u0000b":1}', '/a\u0000b'],
          ['{"constructor":{"prototype":1}}', '/constructor/prototype'],
        ].map(([send, pointer]) => ({
          name: `a name that cannot be stored: ${send}`,
          request: 'POST /api/odd',
          send,
          status: 400,
          code: 'unsupported-field-name',
          expect: { errors: [{ pointer, code: 'unsupported-field-name' }] },
        })),
        ...['{"a":9007199254740993}', '{"a":-9007199254740993}', '{"a":1e400}', '{"a":"\\ud800"}'].map((send) => ({
          name: `a value that would be altered: ${send}`,
          request: 'POST /api/odd',
          send,
          status: 400,
          code: 'unsupported-value',
        })),
        { name: '2^53 is exact', request: 'POST /api/odd', send: '{"a":9007199254740992}', status: 201, events: ODD },
        {
          name: 'a fraction is a double',
          request: 'POST /api/odd',
          send: '{"a":9007199254740993.0}',
          status: 201,
          events: ODD,
        },
        { name: 'depth 100', request: 'POST /api/odd', send: nested(100), status: 201, events: ODD },
        { name: 'depth 101', request: 'POST /api/odd', send: nested(101), status: 400, code: 'json-too-deep' },
        {
          name: 'invalid UTF-8',
          request: 'POST /api/odd',
          send: Buffer.from('{"a":"\xff"}', 'latin1'),
          status: 400,
          code: 'malformed-json',
        },
        {
          name: 'over 1 MiB',
          request: 'POST /api/odd',
          send: { a: 'x'.repeat(1_048_576) },
          status: 413,
          code: 'body-too-large',
        },
      ],
      watch,
    ),
  );

  await t.test('POST creates many documents', (t) =>
    runScenarios(
      t,
      app,
      [
        {
          name: 'all, in order',
          request: 'POST /api/many',
          send: [{ id: 'a', n: 1 }, { n: 2 }, { id: 'c', n: 3 }],
          status: 201,
          expectHeaders: { location: null },
          expect: [
            { id: 'a', n: 1, _meta: META },
            { id: /^[0-9a-f]{24}$/, n: 2, _meta: META },
            { id: 'c', n: 3, _meta: META },
          ],
          events: [
            { type: 'many.created', documentId: 'a', transaction: String },
            { type: 'many.created', data: { n: 2 } },
            { type: 'many.created', documentId: 'c' },
          ],
        },
        {
          name: 'one invalid, none created; the error has the index',
          request: 'POST /api/many',
          send: [{ id: 'd' }, { id: 'a' }],
          status: 409,
          code: 'id-exists',
          expect: { errors: [{ pointer: '/1', code: 'id-exists' }] },
        },
        { name: 'the good one is not there', request: 'GET /api/many/d', status: 404, code: 'document-not-found' },
        {
          name: 'twice the same id in a new collection',
          request: 'POST /api/manynew',
          send: [{ id: 'a' }, { id: 'a' }],
          status: 409,
          code: 'id-exists',
        },
        { name: 'leaves no collection', request: 'GET /api/manynew', status: 404, code: 'resource-not-available' },
        { name: 'an empty array', request: 'POST /api/many', send: [], status: 400, code: 'invalid-body-type' },
        {
          name: 'not all objects',
          request: 'POST /api/many',
          send: [{}, 1],
          status: 400,
          code: 'invalid-body-type',
          expect: { errors: [{ pointer: '/1' }] },
        },
        {
          name: 'a bad id inside',
          request: 'POST /api/many',
          send: [{}, { id: '_x' }],
          status: 400,
          code: 'invalid-id',
          expect: { errors: [{ pointer: '/1' }] },
        },
        {
          name: '1,000',
          request: 'POST /api/thousand',
          send: Array.from({ length: 1000 }, (_, n) => ({ n })),
          headers: { prefer: 'return=minimal' },
          status: 201,
          text: '',
          events: Array<string>(1000).fill('thousand.created'),
        },
        {
          name: '1,001',
          request: 'POST /api/many',
          send: Array.from({ length: 1001 }, () => ({})),
          status: 400,
          code: 'too-many-documents',
        },
      ],
      watch,
    ),
  );

  function nested(depth: number): string {
    return `${'{"a":'.repeat(depth - 1)}{}${'}'.repeat(depth - 1)}`;
  }
});
