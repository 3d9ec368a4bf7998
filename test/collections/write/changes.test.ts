/** PUT, PATCH and DELETE, row by row, with their events. */
import t from 'tap';
import { buildTestApp } from '../../helpers/app.ts';
import { watchEvents } from '../../helpers/events/event-watch.ts';
import { runScenarios } from '../../helpers/scenario.ts';

t.test('changes of documents', async (t) => {
  const { app, services } = await buildTestApp(t);
  const watch = await watchEvents(t, services);

  const MERGE = { 'content-type': 'application/merge-patch+json' };

  async function create(id: string, fields: object): Promise<string> {
    const response = await app.inject({ method: 'POST', url: '/api/things', payload: { id, ...fields } });
    return String(response.headers['etag']);
  }

  await t.test('PUT replaces a document', async (t) => {
    await create('put', { a: 1, b: { c: 2 } });
    await runScenarios(
      t,
      app,
      [
        {
          name: 'what the body leaves out is gone; id and _meta of the body are ignored',
          request: 'PUT /api/things/put',
          send: { id: 'other', b: 5, _meta: { revision: 40 }, _expanded: {} },
          status: 200,
          expectHeaders: { etag: /^"2-/, location: null },
          expect: { id: 'put', a: undefined, b: 5, _expanded: undefined, _meta: { revision: 2, createdAt: /Z$/ } },
          events: [{ type: 'things.updated', documentId: 'put', revision: 2, changed: ['a', 'b'], before: { a: 1 } }],
        },
        { name: 'missing', request: 'PUT /api/things/none', send: {}, status: 404, code: 'document-not-found' },
        {
          name: 'upsert creates',
          request: 'PUT /api/things/up?upsert=true',
          send: { n: 1 },
          status: 201,
          expectHeaders: { location: '/api/things/up', etag: /^"1-/ },
          expect: { id: 'up', n: 1 },
          events: ['things.created'],
        },
        {
          name: 'upsert replaces',
          request: 'PUT /api/things/up?upsert=true',
          send: { n: 2 },
          status: 200,
          expect: { id: 'up', n: 2, _meta: { revision: 2 } },
          events: [{ type: 'things.updated', changed: ['n'], before: { n: 1 }, data: { n: 2 } }],
        },
        {
          name: 'upsert makes the collection',
          request: 'PUT /api/upserted/x?upsert=true',
          send: {},
          status: 201,
          events: ['upserted.created'],
        },
        {
          name: 'upsert creates with an id like generated ones',
          request: 'PUT /api/things/6b021d6715e9e04fb9dd38b0?upsert=true',
          send: { n: 1 },
          status: 201,
          expectHeaders: { location: '/api/things/6b021d6715e9e04fb9dd38b0' },
          expect: { id: '6b021d6715e9e04fb9dd38b0', n: 1 },
          events: [{ type: 'things.created', documentId: '6b021d6715e9e04fb9dd38b0' }],
        },
        {
          name: 'upsert replaces under such an id',
          request: 'PUT /api/things/6b021d6715e9e04fb9dd38b0?upsert=true',
          send: { n: 2 },
          status: 200,
          expect: { n: 2, _meta: { revision: 2 } },
          events: ['things.updated'],
        },
        {
          name: 'If-None-Match: * creates under such an id',
          request: 'PUT /api/things/6b021d6715e9e04fb9dd38b1',
          headers: { 'if-none-match': '*' },
          send: { id: 'passed over' },
          status: 201,
          expect: { id: '6b021d6715e9e04fb9dd38b1' },
          events: ['things.created'],
        },
        {
          name: 'upsert with a bad id',
          request: 'PUT /api/things/_x?upsert=true',
          send: {},
          status: 400,
          code: 'invalid-id',
        },
        {
          name: 'upsert=maybe',
          request: 'PUT /api/things/up?upsert=maybe',
          send: {},
          status: 400,
          code: 'invalid-parameter',
        },
        {
          name: 'If-None-Match: * creates',
          request: 'PUT /api/things/fresh',
          headers: { 'if-none-match': '*' },
          send: { n: 1 },
          status: 201,
          expectHeaders: { location: '/api/things/fresh' },
          events: [{ type: 'things.created', documentId: 'fresh' }],
        },
        {
          name: 'If-None-Match: * on an existing one',
          request: 'PUT /api/things/fresh',
          headers: { 'if-none-match': '*' },
          send: { n: 2 },
          status: 412,
          code: 'precondition-failed',
          expectHeaders: { etag: /^"1-/ },
        },
        { name: 'an array', request: 'PUT /api/things/put', send: [], status: 400, code: 'invalid-body-type' },
        {
          name: 'a patch type',
          request: 'PUT /api/things/put',
          headers: MERGE,
          send: {},
          status: 415,
          code: 'unsupported-media-type',
        },
        {
          name: 'Prefer: return=minimal',
          request: 'PUT /api/things/put',
          headers: { prefer: 'return=minimal' },
          send: {},
          status: 204,
          text: '',
          expectHeaders: { etag: /^"3-/ },
          events: [{ type: 'things.updated', revision: 3, changed: ['b'] }],
        },
      ],
      watch,
    );
  });

  await t.test('PATCH merges a document (RFC 7396)', async (t) => {
    await create('patch', { a: 'b', c: { d: 'e', f: 'g' }, list: [1, 2] });
    await runScenarios(
      t,
      app,
      [
        {
          name: 'plain JSON is a merge patch',
          request: 'PATCH /api/things/patch',
          send: { a: 'z', c: { f: null }, id: 'x', _meta: {} },
          status: 200,
          expectHeaders: { etag: /^"2-/ },
          expect: { id: 'patch', a: 'z', c: { d: 'e', f: undefined }, list: [1, 2], _meta: { revision: 2 } },
          events: [{ type: 'things.updated', documentId: 'patch', changed: ['a', 'c'] }],
        },
        {
          name: 'arrays are replaced, objects created',
          request: 'PATCH /api/things/patch',
          headers: MERGE,
          send: { list: [null], n: { m: { x: null, y: 1 } } },
          status: 200,
          expect: { list: [null], n: { m: { y: 1, x: undefined } } },
          events: [{ type: 'things.updated', changed: ['list', 'n'] }],
        },
        { name: 'missing', request: 'PATCH /api/things/none', send: {}, status: 404, code: 'document-not-found' },
        {
          name: 'another type',
          request: 'PATCH /api/things/patch',
          headers: { 'content-type': 'text/plain' },
          send: 'x',
          status: 415,
          code: 'unsupported-media-type',
          expectHeaders: { 'accept-patch': /merge-patch/ },
        },
        {
          name: '_id',
          request: 'PATCH /api/things/patch',
          send: { _id: 1 },
          status: 400,
          code: 'unsupported-field-name',
        },
      ],
      watch,
    );
  });

  /** RFC 7396, appendix A, the rows whose target and result are objects (others cannot be documents). */
  const VECTORS: readonly (readonly [object, object, object])[] = [
    [{ a: 'b' }, { a: 'c' }, { a: 'c' }],
    [{ a: 'b' }, { b: 'c' }, { a: 'b', b: 'c' }],
    [{ a: 'b' }, { a: null }, {}],
    [{ a: 'b', b: 'c' }, { a: null }, { b: 'c' }],
    [{ a: ['b'] }, { a: 'c' }, { a: 'c' }],
    [{ a: 'c' }, { a: ['b'] }, { a: ['b'] }],
    [{ a: { b: 'c' } }, { a: { b: 'd', c: null } }, { a: { b: 'd' } }],
    [{ a: [{ b: 'c' }] }, { a: [1] }, { a: [1] }],
    [{ e: null }, { a: 1 }, { e: null, a: 1 }],
    [{}, { a: { bb: { ccc: null } } }, { a: { bb: {} } }],
  ];

  await t.test('PATCH passes the test vectors of RFC 7396', async (t) => {
    for (const [index, [before, patch, after]] of VECTORS.entries()) {
      await create(`rfc${index}`, before);
      const response = await app.inject({
        method: 'PATCH',
        url: `/api/things/rfc${index}`,
        headers: MERGE,
        payload: JSON.stringify(patch),
      });
      const { id, _meta, ...fields } = response.json();
      t.strictSame(fields, after, JSON.stringify(patch));
    }
  });

  await t.test('DELETE removes a document', async (t) => {
    await create('del', { n: 1 });
    await create('del2', { n: 2 });
    await runScenarios(
      t,
      app,
      [
        {
          name: 'returns no body',
          request: 'DELETE /api/things/del',
          status: 204,
          text: '',
          events: [{ type: 'things.deleted', documentId: 'del', data: null, before: { n: 1 }, request: /^req_/ }],
        },
        { name: 'it is gone', request: 'GET /api/things/del', status: 404, code: 'document-not-found' },
        {
          name: 'or the document that was',
          request: 'DELETE /api/things/del2',
          headers: { prefer: 'return=representation' },
          status: 200,
          expectHeaders: { 'preference-applied': 'return=representation', etag: /^"1-/ },
          expect: { id: 'del2', n: 2, _meta: { revision: 1 } },
          events: [{ type: 'things.deleted', documentId: 'del2' }],
        },
        {
          name: 'with If-Match on a missing one',
          request: 'DELETE /api/things/del',
          headers: { 'if-match': '"x"' },
          status: 412,
          code: 'precondition-failed',
        },
      ],
      watch,
    );
  });
});
