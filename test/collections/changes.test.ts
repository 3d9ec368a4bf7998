/** PUT, PATCH and DELETE with their preconditions, row by row. */
import t from 'tap';
import { buildTestApp } from '../helpers/app.ts';
import { runScenarios } from '../helpers/scenario.ts';

t.test('changes and preconditions', async (t) => {
  const { app } = await buildTestApp(t);

  const MERGE = { 'content-type': 'application/merge-patch+json' };

  async function create(id: string, members: object): Promise<string> {
    const answer = await app.inject({ method: 'POST', url: '/api/things', payload: { id, ...members } });
    return String(answer.headers['etag']);
  }

  await t.test('PUT replaces', async (t) => {
    await create('put', { a: 1, b: { c: 2 } });
    await runScenarios(t, app, [
      {
        name: 'what the body leaves out is gone; id and _meta of the body are ignored',
        request: 'PUT /api/things/put',
        send: { id: 'other', b: 5, _meta: { revision: 40 }, _expanded: {} },
        status: 200,
        expectHeaders: { etag: /^"2-/, location: null },
        expect: { id: 'put', a: undefined, b: 5, _expanded: undefined, _meta: { revision: 2, createdAt: /Z$/ } },
      },
      { name: 'missing', request: 'PUT /api/things/none', send: {}, status: 404, code: 'document-not-found' },
      {
        name: 'upsert creates',
        request: 'PUT /api/things/up?upsert=true',
        send: { n: 1 },
        status: 201,
        expectHeaders: { location: '/api/things/up', etag: /^"1-/ },
        expect: { id: 'up', n: 1 },
      },
      {
        name: 'upsert replaces',
        request: 'PUT /api/things/up?upsert=true',
        send: { n: 2 },
        status: 200,
        expect: { id: 'up', n: 2, _meta: { revision: 2 } },
      },
      { name: 'upsert makes the collection', request: 'PUT /api/upserted/x?upsert=true', send: {}, status: 201 },
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
      { name: 'an array', request: 'PUT /api/things/put', send: [], status: 400, code: 'body-type' },
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
      },
    ]);
  });

  await t.test('PATCH merges (RFC 7396)', async (t) => {
    await create('patch', { a: 'b', c: { d: 'e', f: 'g' }, list: [1, 2] });
    await runScenarios(t, app, [
      {
        name: 'plain JSON is a merge patch',
        request: 'PATCH /api/things/patch',
        send: { a: 'z', c: { f: null }, id: 'x', _meta: {} },
        status: 200,
        expectHeaders: { etag: /^"2-/ },
        expect: { id: 'patch', a: 'z', c: { d: 'e', f: undefined }, list: [1, 2], _meta: { revision: 2 } },
      },
      {
        name: 'arrays are replaced, objects made',
        request: 'PATCH /api/things/patch',
        headers: MERGE,
        send: { list: [null], n: { m: { x: null, y: 1 } } },
        status: 200,
        expect: { list: [null], n: { m: { y: 1, x: undefined } } },
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
      { name: '_id', request: 'PATCH /api/things/patch', send: { _id: 1 }, status: 400, code: 'unsupported-key' },
    ]);
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

  await t.test('the vectors of RFC 7396', async (t) => {
    for (const [index, [before, patch, after]] of VECTORS.entries()) {
      await create(`rfc${index}`, before);
      const answer = await app.inject({
        method: 'PATCH',
        url: `/api/things/rfc${index}`,
        headers: MERGE,
        payload: JSON.stringify(patch),
      });
      const { id, _meta, ...members } = answer.json();
      t.strictSame(members, after, JSON.stringify(patch));
    }
  });

  await t.test('DELETE', async (t) => {
    await create('del', { n: 1 });
    await create('del2', { n: 2 });
    await runScenarios(t, app, [
      { name: 'answers nothing', request: 'DELETE /api/things/del', status: 204, text: '' },
      { name: 'it is gone', request: 'GET /api/things/del', status: 404, code: 'document-not-found' },
      {
        name: 'or the document that was',
        request: 'DELETE /api/things/del2',
        headers: { prefer: 'return=representation' },
        status: 200,
        expectHeaders: { 'preference-applied': 'return=representation', etag: /^"1-/ },
        expect: { id: 'del2', n: 2, _meta: { revision: 1 } },
      },
      {
        name: 'with If-Match on a missing one',
        request: 'DELETE /api/things/del',
        headers: { 'if-match': '"x"' },
        status: 412,
        code: 'precondition-failed',
      },
    ]);
  });

  await t.test('preconditions', async (t) => {
    const etag = await create('cond', { n: 1 });
    await runScenarios(t, app, [
      {
        name: 'not modified',
        request: 'GET /api/things/cond',
        headers: { 'if-none-match': `"x", W/${etag}` },
        status: 304,
        text: '',
        expectHeaders: { etag },
      },
      { name: 'modified', request: 'GET /api/things/cond', headers: { 'if-none-match': '"x"' }, status: 200 },
      {
        name: 'If-Match with another tag',
        request: 'PUT /api/things/cond',
        headers: { 'if-match': '"1-x"' },
        send: {},
        status: 412,
        code: 'precondition-failed',
        expectHeaders: { etag },
      },
      {
        name: 'a weak tag never matches a write',
        request: 'PATCH /api/things/cond',
        headers: { 'if-match': `W/${etag}` },
        send: {},
        status: 412,
        code: 'precondition-failed',
      },
      {
        name: 'DELETE with another tag',
        request: 'DELETE /api/things/cond',
        headers: { 'if-match': '"1-x"' },
        status: 412,
        code: 'precondition-failed',
      },
      {
        name: 'no list of tags',
        request: 'PUT /api/things/cond',
        headers: { 'if-match': 'x' },
        send: {},
        status: 400,
        code: 'malformed-request',
      },
      {
        name: 'If-Match: * on a missing one',
        request: 'PUT /api/things/none',
        headers: { 'if-match': '*' },
        send: {},
        status: 412,
        code: 'precondition-failed',
      },
      {
        name: 'If-Match forbids an upsert to create',
        request: 'PUT /api/things/none?upsert=true',
        headers: { 'if-match': '*' },
        send: {},
        status: 412,
        code: 'precondition-failed',
      },
      {
        name: 'the right tag among others',
        request: 'PUT /api/things/cond',
        headers: { 'if-match': `"a", ${etag}` },
        send: { n: 2 },
        status: 200,
      },
      {
        name: 'the old tag now',
        request: 'DELETE /api/things/cond',
        headers: { 'if-match': etag },
        status: 412,
        code: 'precondition-failed',
      },
      { name: 'If-Match: *', request: 'DELETE /api/things/cond', headers: { 'if-match': '*' }, status: 204 },
    ]);
  });

  await t.test('the tag of a write is the tag of the next read', async (t) => {
    const steps = [
      ['POST', '/api/tags', { id: 'a', 2: 'two', 1: 'one', x: 1.5, y: [{ z: 'ß' }] }],
      ['PATCH', '/api/tags/a', { y: [{ z: null }], w: 1 }],
      ['PUT', '/api/tags/a', { x: 0.1, 1: 1 }],
    ] as const;
    for (const [method, url, payload] of steps) {
      const written = await app.inject({ method, url, payload });
      const read = await app.inject({ method: 'GET', url: '/api/tags/a' });
      t.equal(written.headers['etag'], read.headers['etag'], method);
      t.equal(written.body, read.body, method);
    }
  });
});
