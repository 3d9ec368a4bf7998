/**
 * `_meta` keeps the actor and request of the last change, and shows five other fields. Filtering, sorting, paging,
 * indexing, writing by filter and live queries cannot reveal the hidden ones either.
 */
import t from 'tap';
import { buildTestApp } from '../../helpers/app.ts';
import { openSocket } from '../../helpers/live/socket.ts';

const HIDDEN = ['_meta.by', '_meta.request', '_meta.store', '_meta.createdBy.x', '_meta.0.by', '_meta'];

t.test('the hidden fields of _meta', async (t) => {
  const { app } = await buildTestApp(t);
  const post = await app.inject({ method: 'POST', url: '/api/things', payload: { id: 'a', n: 1 } });
  t.equal(post.statusCode, 201);
  const refused = async (method: 'GET' | 'PATCH' | 'DELETE' | 'PUT', url: string, payload?: object) => {
    const headers = { 'content-type': method === 'PATCH' ? 'application/merge-patch+json' : 'application/json' };
    const prefer = { prefer: 'max-affected=9' };
    const response = await app.inject({
      method,
      url,
      headers: { ...prefer, ...(payload && headers) },
      ...(payload && { payload }),
    });
    t.match(response.json(), { status: 400, code: /invalid-(filter|parameter)/ }, `${method} ${url}`);
    return response.json();
  };
  for (const path of HIDDEN) {
    const filter = encodeURIComponent(JSON.stringify({ $or: [{ n: 2 }, { [path]: { $gt: null } }] }));
    await refused('GET', `/api/things?${path}[gte]=a`);
    await refused('GET', `/api/things?filter=${filter}`);
    await refused('GET', `/api/things?sort=-${path}&limit=1`);
    await refused('GET', `/api/things/_changes?${path}[ne]=x`);
    await refused('PATCH', `/api/things?${path}=x`, { n: 2 });
    await refused('DELETE', `/api/things?filter=${filter}`);
    if (path !== '_meta') await refused('GET', `/api/things?fields=${path}`);
  }
  t.match(await refused('GET', '/api/things?_meta.updatedby=x'), { code: 'invalid-filter', hint: /updatedBy/ });
  t.match(await refused('GET', '/api/things?sort=_meta.request'), { code: 'invalid-parameter', hint: /revision/ });

  const url = await app.listen({ host: '127.0.0.1', port: 0 });
  const socket = await openSocket(t, url);
  for (const query of [{ sort: '_meta' }, { sort: '-_meta.by', limit: 1 }, { filter: { '_meta.request': 'x' } }]) {
    const id = JSON.stringify(query);
    socket.send({ type: 'subscribe', id, collection: 'things', query });
    t.match(await socket.frame({ id }), { type: 'unsubscribed', problem: { status: 400 } });
  }

  const policy = (where: object) => ({
    name: 'p',
    resources: ['things'],
    actions: ['read'],
    effect: 'allow',
    filter: where,
  });
  const save = (where: object) => app.inject({ method: 'POST', url: '/admin/policies', payload: policy(where) });
  for (const path of HIDDEN)
    t.match((await save({ [path]: 'x' })).json(), { code: 'invalid-policy' }, `a policy with ${path}`);

  for (const field of ['revision', 'createdAt', 'updatedAt', 'createdBy', 'updatedBy']) {
    const response = await app.inject(`/api/things?sort=_meta.${field}&_meta.${field}[exists]=true&limit=1`);
    t.match(response.json(), [{ id: 'a' }], `${field} can be requested`);
  }
  t.match(
    (await app.inject('/api/things?fields=_meta')).json(),
    [{ _meta: { revision: 1 } }],
    'all of it can be requested',
  );
});
