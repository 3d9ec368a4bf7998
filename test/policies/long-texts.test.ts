/**
 * The database's regex engine counts its steps and gives up on some texts, and then says "no match". What a policy
 * denies by a pattern stays denied all the same, on every way to a document.
 */
import t from 'tap';
import { buildTestApp } from '../helpers/app.ts';
import { multipart } from '../helpers/files/upload.ts';
import { openSocket } from '../helpers/live/socket.ts';
import { withPolicies } from '../helpers/policies.ts';
import { ask, signUp } from '../helpers/users.ts';

const SECRET = 'what-is-denied';
const LONG = `${'a'.repeat(300_000)}b`;
/** Texts that match, and on which the engine gives up. */
const WAYS: readonly (readonly [name: string, text: string | string[], filter: object])[] = [
  ['nested repetition', `${'a'.repeat(40)} ac`, { text: { $regex: '(a+)+c' } }],
  ['repetition of a group', LONG, { text: { $regex: '^(?:a|b)*$' } }],
  ['a like with parts', LONG, { text: { $like: '*b*' } }],
  ['several texts in one element', [LONG], { text: { $elemMatch: { $contains: 'b', $endsWith: 'b' } } }],
];

t.test('a file that is denied by a pattern on which the database gives up', async (t) => {
  const { app, services } = await buildTestApp(t);
  const ann = await signUp(app, 'ann');
  const files = { resources: ['_files'], actions: ['read', 'create', 'delete'] };
  withPolicies(services, [files]);
  const name = `${'a'.repeat(40)} ac.txt`;
  const { send, headers } = await multipart({ field: 'files', name: 'b.txt' }, { field: 'files', name });
  const posted = await app.inject({
    method: 'POST',
    url: '/files/bulk',
    payload: send,
    headers: { ...headers, ...ann.headers },
  });
  t.ok(posted.statusCode < 300, posted.body);
  const all = (await ask(app, 'GET /files', undefined, ann)).json();
  const hidden = all.find((file: { name: string }) => file.name === name);
  t.ok(hidden, 'it is there');
  const deny = { ...files, actions: ['read', 'delete'], effect: 'deny', filter: { name: { $regex: '(a+)+c' } } };
  withPolicies(services, [files, deny]);
  for (const query of ['', '?sort=name&limit=5&count=exact'] as const) {
    const list = await ask(app, `GET /files${query}`, undefined, ann);
    t.match(list.json(), [{ name: 'b.txt' }]);
    t.equal(list.json().length, 1, 'a list');
    if (query !== '') t.equal(list.headers['millrace-count'], '1', 'its count');
  }
  t.equal((await ask(app, `GET /files/${hidden.id}`, undefined, ann)).statusCode, 404, 'its bytes');
  t.equal((await ask(app, `DELETE /files/${hidden.id}`, undefined, ann)).statusCode, 404, 'its end');
});

t.test('policies with patterns on which the database gives up', async (t) => {
  const { app, services } = await buildTestApp(t);
  const url = await app.listen({ host: '127.0.0.1', port: 0 });
  const ann = await signUp(app, 'ann');
  const everything = { resources: ['posts', 'links'], actions: ['read', 'create', 'update', 'delete'] };
  const byFilter = (method: 'PATCH' | 'DELETE', query: string, payload?: object) =>
    app.inject({
      method,
      url: `/api/posts${query}`,
      headers: { ...ann.headers, prefer: 'max-affected=9' },
      ...(payload && { payload }),
    });
  const get = async (path: string) => (await ask(app, `GET /${path}`, undefined, ann)).json();

  for (const [name, text, where] of WAYS) {
    await t.test(name, async (t) => {
      withPolicies(services, [everything]);
      for (const id of ['a', 'c']) await ask(app, 'POST /api/posts', { id, n: 1, text: 'short' }, ann);
      await ask(app, 'POST /api/posts', { id: 'b', n: 1, text, secret: SECRET }, ann);
      await ask(app, 'POST /api/links', { id: 'l', to: 'b' }, ann);
      const deny = { resources: ['posts'], actions: ['read', 'update', 'delete'], effect: 'deny', filter: where };
      const others = { ...everything, filter: { $or: [{ to: 'b' }, { $nor: [where] }] } };
      for (const policies of [[everything, deny], [others]]) {
        withPolicies(services, policies);
        const found = await services.mongo.data.collection('posts').countDocuments({});
        t.equal(found, 3);
        t.equal((await ask(app, 'GET /api/posts/b', undefined, ann)).statusCode, 404, 'one document');
        t.match(await get('api/posts'), [{ id: 'a' }, { id: 'c' }], 'a list');
        t.match(await get('api/posts?fields=id'), [{ id: 'a' }, { id: 'c' }], 'some fields of it');
        const page = await ask(app, 'GET /api/posts?sort=n&limit=2&count=exact', undefined, ann);
        t.notOk(page.body.includes('"b"'), 'a page');
        t.equal(page.headers['millrace-total-count'] ?? page.headers['millrace-count'], '2', 'its count');
        t.match(await get('api/links?expand=to:posts'), [{ id: 'l', _expanded: { to: null } }], 'expansion');
        const patched = await byFilter('PATCH', '?n=1', { n: 1 });
        t.match(patched.json(), { matched: 2 }, patched.body);
        for (const request of ['PATCH /api/posts/b', 'DELETE /api/posts/b'] as const) {
          t.equal((await ask(app, request, { n: 2 }, ann)).statusCode, 404, request);
        }
        const socket = await openSocket(t, url, { hello: { type: 'hello', token: ann.accessToken } });
        for (const query of [{}, { sort: 'n', limit: 5 }]) {
          const id = JSON.stringify(query);
          socket.send({ type: 'subscribe', id, collection: 'posts', query });
          await socket.frame({ type: 'live', id });
          t.match(await socket.frame({ type: 'snapshot', id }), { documents: [{ id: 'a' }, { id: 'c' }] }, 'live data');
        }
        t.notOk(JSON.stringify(socket.frames).includes(SECRET));
      }
      withPolicies(services, [everything]);
      const filter = encodeURIComponent(JSON.stringify({ $nor: [where] }));
      const gone = await byFilter('DELETE', `?filter=${filter}`);
      t.match(gone.json(), { matched: 2 }, `a filter deletes what matches: ${gone.body}`);
      t.match(await get('api/posts?fields=id'), [{ id: 'b' }]);
      await ask(app, 'DELETE /api/posts/b', undefined, ann);
      await ask(app, 'DELETE /api/links/l', undefined, ann);
    });
  }
});
