/** PATCH by JSON Patch over HTTP: what is applied, what is rejected, and that a rejection changes nothing. */
import t from 'tap';
import { buildTestApp } from '../../helpers/app.ts';
import { watchEvents } from '../../helpers/events/event-watch.ts';
import { runScenarios } from '../../helpers/scenario.ts';

const PATCH = { 'content-type': 'application/json-patch+json' };

t.test('JSON Patch over HTTP', async (t) => {
  const { app, services } = await buildTestApp(t);
  const watch = await watchEvents(t, services);
  const create = (payload: object) => app.inject({ method: 'POST', url: '/api/things', payload });

  await t.test('JSON Patch changes a document', async (t) => {
    await create({ id: 'p', title: 'a', tags: ['x', 'y'], nested: { n: 1 } });
    await runScenarios(
      t,
      app,
      [
        {
          name: 'all operations',
          request: 'PATCH /api/things/p',
          headers: PATCH,
          send: [
            { op: 'test', path: '/_meta/revision', value: 1 },
            { op: 'replace', path: '/title', value: 'b' },
            { op: 'add', path: '/tags/-', value: 'z' },
            { op: 'remove', path: '/tags/0' },
            { op: 'copy', from: '/nested', path: '/copied' },
            { op: 'move', from: '/nested/n', path: '/moved' },
          ],
          status: 200,
          events: [{ type: 'things.updated', changed: ['title', 'tags', 'nested', 'copied', 'moved'] }],
          expectHeaders: { etag: /^"2-/ },
          expect: {
            id: 'p',
            title: 'b',
            tags: ['y', 'z'],
            nested: {},
            copied: { n: 1 },
            moved: 1,
            _meta: { revision: 2 },
          },
        },
        {
          name: 'a failing test applies nothing',
          request: 'PATCH /api/things/p',
          headers: PATCH,
          send: [
            { op: 'replace', path: '/title', value: 'c' },
            { op: 'test', path: '/moved', value: 2 },
          ],
          status: 409,
          code: 'patch-test-failed',
          expect: { detail: /^Operation 1:/, errors: [{ pointer: '/1', code: 'patch-test-failed' }] },
        },
        {
          name: 'nothing was applied',
          request: 'GET /api/things/p',
          status: 200,
          expect: { title: 'b', _meta: { revision: 2 } },
        },
        {
          name: 'a path that does not exist',
          request: 'PATCH /api/things/p',
          headers: PATCH,
          send: [{ op: 'remove', path: '/none' }],
          status: 400,
          code: 'invalid-patch',
          expect: { errors: [{ pointer: '/0' }] },
        },
        ...['/id', '/_id', '/_meta', '/_meta/revision', '/_meta/createdBy'].map((path) => ({
          name: `${path} cannot be changed`,
          request: 'PATCH /api/things/p',
          headers: PATCH,
          send: [{ op: 'add', path, value: 'x' }],
          status: 400,
          code: 'invalid-patch',
        })),
        {
          name: 'a prototype',
          request: 'PATCH /api/things/p',
          headers: PATCH,
          send: [{ op: 'add', path: '/__proto__/x', value: 1 }],
          status: 400,
          code: 'unsupported-field-name',
        },
        {
          name: 'the whole document, as in a PUT',
          request: 'PATCH /api/things/p',
          headers: PATCH,
          send: [{ op: 'replace', path: '', value: { id: 'other', _meta: {}, only: true } }],
          status: 200,
          events: ['things.updated'],
          expect: { id: 'p', only: true, title: undefined, _meta: { revision: 3 } },
        },
        {
          name: 'no object any more',
          request: 'PATCH /api/things/p',
          headers: PATCH,
          send: [{ op: 'replace', path: '', value: [] }],
          status: 400,
          code: 'invalid-patch',
        },
        {
          name: 'no array',
          request: 'PATCH /api/things/p',
          headers: PATCH,
          send: {},
          status: 400,
          code: 'invalid-patch',
        },
        { name: 'no body', request: 'PATCH /api/things/p', status: 400, code: 'body-required' },
        {
          name: 'missing',
          request: 'PATCH /api/things/q',
          headers: PATCH,
          send: [],
          status: 404,
          code: 'document-not-found',
        },
        {
          name: 'no such collection',
          request: 'PATCH /api/nothing/q',
          headers: PATCH,
          send: [],
          status: 404,
          code: 'resource-not-available',
        },
        {
          name: 'another tag',
          request: 'PATCH /api/things/p',
          headers: { ...PATCH, 'if-match': '"1-x"' },
          send: [],
          status: 412,
          code: 'precondition-failed',
        },
        {
          name: 'without a body in the response',
          request: 'PATCH /api/things/p',
          headers: { ...PATCH, prefer: 'return=minimal' },
          send: [],
          status: 204,
          text: '',
        },
        {
          name: 'a type that is none of them',
          request: 'PATCH /api/things/p',
          headers: { 'content-type': 'application/xml' },
          send: '<a/>',
          status: 415,
          code: 'unsupported-media-type',
          expectHeaders: {
            'accept-patch':
              'application/merge-patch+json, application/json, application/json-patch+json, application/vnd.millrace.update+json',
          },
        },
        {
          name: 'a patch type on PUT',
          request: 'PUT /api/things/p',
          headers: PATCH,
          send: [],
          status: 415,
          code: 'unsupported-media-type',
        },
      ],
      watch,
    );
  });

  await t.test('copies of copies end in 413, not in exhausted memory', async (t) => {
    await create({ id: 'large', text: 'x'.repeat(500_000) });
    const send = Array.from({ length: 40 }, (_, n) => ({ op: 'copy', from: '/text', path: `/t${n}` }));
    const response = await app.inject({
      method: 'PATCH',
      url: '/api/things/large',
      headers: PATCH,
      payload: JSON.stringify(send),
    });
    t.equal(response.statusCode, 413);
    t.equal(response.json().code, 'document-too-large');
    const fewer = async (count: number) => {
      const headers = { ...PATCH, prefer: 'return=minimal' };
      const payload = JSON.stringify(send.slice(0, count));
      return app.inject({ method: 'PATCH', url: '/api/things/large', headers, payload });
    };
    t.equal((await fewer(33)).json().code, 'document-too-large', 'what only the database can say');
    t.equal((await fewer(32)).statusCode, 204, 'what just fits the database');
  });
});
