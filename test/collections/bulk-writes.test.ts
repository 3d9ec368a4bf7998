/** Writes by filter: what they match and change, what they require, and that a rejection changes nothing. */
import t from 'tap';
import { buildTestApp } from '../helpers/app.ts';
import { watchEvents } from '../helpers/events/event-watch.ts';
import { runScenarios } from '../helpers/scenario.ts';

const upTo = (most: number) => ({ prefer: `max-affected=${most}` });
const reported = (verb: string, ...ids: string[]) =>
  ids.map((documentId) => ({ type: `items.${verb}`, documentId, transaction: String }));
const PATCH = { 'content-type': 'application/json-patch+json' };
const UPDATE = { 'content-type': 'application/vnd.millrace.update+json' };

t.test('writes by filter', async (t) => {
  const { app, services } = await buildTestApp(t);
  const watch = await watchEvents(t, services);
  const seed = (name: string, count: number) =>
    app.inject({
      method: 'POST',
      url: `/api/${name}`,
      payload: Array.from({ length: count }, (_, n) => ({
        id: `d${n}`,
        n,
        tag: n % 2 === 0 ? 'even' : 'odd',
        list: [n],
      })),
    });
  await seed('items', 10);

  await t.test('a write by filter changes matching documents', (t) =>
    runScenarios(
      t,
      app,
      [
        {
          name: 'a merge patch',
          request: 'PATCH /api/items?tag=even&n[lt]=6',
          headers: upTo(5),
          send: { seen: true },
          status: 200,
          events: reported('updated', 'd0', 'd2', 'd4'),
          expectHeaders: { 'preference-applied': 'max-affected=5', 'content-type': /json/ },
          text: '{"matched":3,"modified":3}',
        },
        {
          name: 'what it reached',
          request: 'GET /api/items?seen=true&fields=n,_meta',
          status: 200,
          expect: [{ n: 0, _meta: { revision: 2 } }, { n: 2 }, { n: 4 }],
        },
        {
          name: 'operators',
          request: 'PATCH /api/items?filter={"list":{"$gte":8}}',
          headers: { ...UPDATE, ...upTo(2) },
          send: { $inc: { n: 100 }, $push: { list: 0 } },
          status: 200,
          events: reported('updated', 'd8', 'd9'),
          expect: { matched: 2, modified: 2 },
        },
        {
          name: 'what they did',
          request: 'GET /api/items?n[gte]=100',
          status: 200,
          expect: [
            { n: 108, list: [8, 0] },
            { n: 109, list: [9, 0] },
          ],
        },
        {
          name: 'a JSON Patch',
          request: 'PATCH /api/items?tag=odd',
          headers: { ...PATCH, ...upTo(10) },
          send: [{ op: 'remove', path: '/list' }],
          status: 200,
          events: reported('updated', 'd1', 'd3', 'd5', 'd7', 'd9'),
          expect: { matched: 5, modified: 5 },
        },
        {
          name: 'a JSON Patch that fails for one is applied to none',
          request: 'PATCH /api/items?filter={}',
          headers: { ...PATCH, ...upTo(10) },
          send: [
            { op: 'add', path: '/x', value: 1 },
            { op: 'test', path: '/tag', value: 'even' },
          ],
          status: 409,
          code: 'patch-test-failed',
          expect: { detail: /^Document 'd1': Operation 1/ },
        },
        { name: 'none', request: 'GET /api/items?x=1', status: 200, text: '[]' },
        {
          name: 'nothing found',
          request: 'PATCH /api/items?tag=none',
          headers: upTo(1),
          send: { x: 1 },
          status: 200,
          text: '{"matched":0,"modified":0}',
        },
        {
          name: 'more than allowed',
          request: 'PATCH /api/items?tag=even',
          headers: upTo(4),
          send: { x: 1 },
          status: 409,
          code: 'too-many-affected',
        },
        { name: 'still none', request: 'GET /api/items?x=1', status: 200, text: '[]' },
        {
          name: 'max-affected=0 only counts',
          request: 'DELETE /api/items?tag=even',
          headers: upTo(0),
          status: 409,
          code: 'too-many-affected',
        },
      ],
      watch,
    ),
  );

  await t.test('a write by filter deletes matching documents', (t) =>
    runScenarios(
      t,
      app,
      [
        {
          name: 'more than allowed',
          request: 'DELETE /api/items?tag=odd',
          headers: upTo(4),
          status: 409,
          code: 'too-many-affected',
        },
        {
          name: 'some',
          request: 'DELETE /api/items?tag=odd',
          headers: upTo(5),
          status: 200,
          events: reported('deleted', 'd1', 'd3', 'd5', 'd7', 'd9'),
          text: '{"matched":5,"modified":5}',
        },
        {
          name: 'the rest is there',
          request: 'GET /api/items?count=exact',
          status: 200,
          expectHeaders: { 'millrace-count': '5' },
        },
        {
          name: 'all',
          request: 'DELETE /api/items?filter={}',
          headers: upTo(10_000),
          status: 200,
          events: reported('deleted', 'd0', 'd2', 'd4', 'd6', 'd8'),
          text: '{"matched":5,"modified":5}',
        },
        { name: 'an empty collection stays', request: 'GET /api/items', status: 200, text: '[]' },
      ],
      watch,
    ),
  );

  await t.test('invalid writes by filter are rejected and change nothing', (t) =>
    runScenarios(
      t,
      app,
      [
        { name: 'no max-affected', request: 'DELETE /api/items?n=1', status: 400, code: 'max-affected-required' },
        {
          name: 'no number',
          request: 'DELETE /api/items?n=1',
          headers: { prefer: 'max-affected=all' },
          status: 400,
          code: 'max-affected-required',
        },
        { name: 'no filter', request: 'DELETE /api/items', headers: upTo(1), status: 400, code: 'invalid-filter' },
        {
          name: 'no filter for a patch',
          request: 'PATCH /api/items',
          headers: upTo(1),
          send: {},
          status: 400,
          code: 'invalid-filter',
        },
        {
          name: 'filter=null',
          request: 'DELETE /api/items?filter=null',
          headers: upTo(1),
          status: 400,
          code: 'invalid-filter',
        },
        {
          name: 'an operator that is not known',
          request: 'DELETE /api/items?filter={"$where":"1"}',
          headers: upTo(1),
          status: 400,
          code: 'unknown-operator',
        },
        ...['limit=1', 'sort=n', 'skip=1', 'cursor=x', 'fields=n', 'count=exact', 'expand=a:b'].map((parameter) => ({
          name: `the parameter ${parameter}`,
          request: `DELETE /api/items?n=1&${parameter}`,
          headers: upTo(1),
          status: 400,
          code: 'unknown-parameter',
        })),
        {
          name: 'If-Match',
          request: 'DELETE /api/items?n=1',
          headers: { ...upTo(1), 'if-match': '*' },
          status: 400,
          code: 'malformed-request',
        },
        {
          name: 'no such collection',
          request: 'DELETE /api/nothing?n=1',
          headers: upTo(1),
          status: 404,
          code: 'resource-not-available',
        },
        {
          name: 'a reserved name',
          request: 'DELETE /api/_users?n=1',
          headers: upTo(1),
          status: 400,
          code: 'invalid-collection-name',
        },
        {
          name: 'another type',
          request: 'PATCH /api/items?n=1',
          headers: { ...upTo(1), 'content-type': 'text/plain' },
          send: 'x',
          status: 415,
          code: 'unsupported-media-type',
        },
        { name: 'no body', request: 'PATCH /api/items?n=1', headers: upTo(1), status: 400, code: 'body-required' },
        {
          name: 'a bad patch',
          request: 'PATCH /api/items?n=1',
          headers: { ...upTo(1), ...UPDATE },
          send: { $inc: { id: 1 } },
          status: 400,
          code: 'invalid-patch',
        },
      ],
      watch,
    ),
  );

  await t.test('writes by filter run in a batch and with an idempotency key', async (t) => {
    await seed('both', 4);
    const operations = [
      { method: 'PATCH', path: '/api/both?tag=odd', headers: upTo(2), body: { done: true } },
      { method: 'DELETE', path: '/api/both?done=true', headers: upTo(2) },
    ];
    const response = await app.inject({ method: 'POST', url: '/batch', payload: { operations } });
    t.match(response.json(), {
      results: [
        { status: 200, body: { matched: 2 } },
        { status: 200, body: { modified: 2 } },
      ],
    });
    const keyed = {
      method: 'DELETE',
      url: '/api/both?tag=even',
      headers: { ...upTo(2), 'idempotency-key': 'k' },
    } as const;
    t.equal((await app.inject(keyed)).body, '{"matched":2,"modified":2}');
    await seed('both', 1);
    const again = await app.inject(keyed);
    t.equal(again.body, '{"matched":2,"modified":2}');
    t.equal(again.headers['idempotency-replayed'], 'true');
    t.equal((await app.inject('/api/both')).json().length, 1);
  });
});
