/** Entity tags: which writes they allow, and that the tag of a write is that of the next read. */
import t from 'tap';
import { buildTestApp } from '../../helpers/app.ts';
import { watchEvents } from '../../helpers/events/event-watch.ts';
import { runScenarios } from '../../helpers/scenario.ts';

t.test('preconditions and tags', async (t) => {
  const { app, services } = await buildTestApp(t);
  const watch = await watchEvents(t, services);

  async function create(id: string, fields: object): Promise<string> {
    const response = await app.inject({ method: 'POST', url: '/api/things', payload: { id, ...fields } });
    return String(response.headers['etag']);
  }

  await t.test('preconditions allow and reject writes', async (t) => {
    const etag = await create('cond', { n: 1 });
    await runScenarios(
      t,
      app,
      [
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
          name: 'If-Match with the weak form of another tag',
          request: 'PATCH /api/things/cond',
          headers: { 'if-match': 'W/"1-x", "1-x-gzip"' },
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
          name: 'conditions that cannot be combined',
          request: 'PUT /api/things/none',
          headers: { 'if-match': '"1-x"', 'if-none-match': '*' },
          send: {},
          status: 412,
          code: 'precondition-failed',
        },
        {
          name: 'a condition on a collection',
          request: 'POST /api/things',
          headers: { 'if-match': '"1-x"' },
          send: {},
          status: 400,
          code: 'malformed-request',
        },
        {
          name: 'a condition on a batch',
          request: 'POST /batch',
          headers: { 'if-none-match': '*' },
          send: { operations: [{ method: 'DELETE', path: '/api/things/cond' }] },
          status: 400,
          code: 'malformed-request',
        },
        {
          name: 'a condition on a creation in a batch',
          request: 'POST /batch',
          send: { operations: [{ method: 'POST', path: '/api/things', body: {}, headers: { 'if-match': '"1-x"' } }] },
          status: 400,
          code: 'malformed-request',
          expect: { failedOperation: 0 },
        },
        {
          name: 'the right tag among others',
          request: 'PUT /api/things/cond',
          headers: { 'if-match': `"a", ${etag}` },
          send: { n: 2 },
          status: 200,
          events: ['things.updated'],
        },
        {
          name: 'the old tag now',
          request: 'DELETE /api/things/cond',
          headers: { 'if-match': etag },
          status: 412,
          code: 'precondition-failed',
        },
        {
          name: 'If-Match: *',
          request: 'DELETE /api/things/cond',
          headers: { 'if-match': '*' },
          status: 204,
          events: ['things.deleted'],
        },
      ],
      watch,
    );
  });

  await t.test('a tag that a compressing proxy changed still matches its version, until it is stale', async (t) => {
    const forms: readonly ((tag: string) => string)[] = [
      (tag) => `W/${tag}`,
      ...['-gzip', '-br', '-zstd', '-deflate', '--gzip'].map((end) => (tag: string) => tag.replace(/"$/, `${end}"`)),
      (tag) => `W/${tag.replace(/"$/, '-gzip"')}`,
      (tag) => `"other", W/${tag}`,
    ];
    for (const [n, form] of forms.entries()) {
      const tag = await create(`proxied-${n}`, { n: 0 });
      const url = `/api/things/proxied-${n}`;
      const name = form(tag);
      const read = await app.inject({ url, headers: { 'if-none-match': name } });
      t.equal(read.statusCode, 304, `If-None-Match: ${name}`);
      const patch = () => app.inject({ method: 'PATCH', url, headers: { 'if-match': name }, payload: { n: 1 } });
      const written = await patch();
      t.equal(written.statusCode, 200, `If-Match: ${name}`);
      const stale = await patch();
      t.equal(stale.statusCode, 412, `the stale ${name}`);
      t.equal(stale.headers['etag'], written.headers['etag']);
      const replaced = { method: 'PUT' as const, url, payload: { n: 2 } };
      const unless = await app.inject({
        ...replaced,
        headers: { 'if-none-match': form(String(written.headers['etag'])) },
      });
      t.equal(unless.statusCode, 412, 'If-None-Match on a write');
      const removed = await app.inject({
        method: 'POST',
        url: '/batch',
        payload: {
          operations: [{ method: 'DELETE', path: url, headers: { 'if-match': form(String(written.headers['etag'])) } }],
        },
      });
      t.equal(removed.statusCode, 200, 'in a batch');
    }
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
