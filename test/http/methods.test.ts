/**
 * Responses to methods that a path does not support: 405 with its own methods in `Allow`, never those of a wider path.
 */
import t from 'tap';
import { buildTestApp } from '../helpers/app.ts';

const OWN: readonly (readonly [path: string, allow: string])[] = [
  ['/api/todos', 'DELETE, GET, HEAD, OPTIONS, PATCH, POST'],
  ['/api/todos/a', 'DELETE, GET, HEAD, OPTIONS, PATCH, PUT'],
  ['/api/todos/_query', 'OPTIONS, POST'],
  ['/api/todos/_changes', 'GET, HEAD, OPTIONS'],
  ['/files', 'GET, HEAD, OPTIONS, POST'],
  ['/files/bulk', 'OPTIONS, POST'],
  ['/files/507f1f77bcf86cd799439011', 'DELETE, GET, HEAD, OPTIONS'],
  ['/files/507f1f77bcf86cd799439011/a.txt', 'GET, HEAD, OPTIONS'],
  ['/files/bulk/a.txt', 'GET, HEAD, OPTIONS'],
  ['/batch', 'OPTIONS, POST'],
  ['/events', 'GET, HEAD, OPTIONS'],
  ['/healthz', 'GET, HEAD, OPTIONS'],
];
const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'] as const;

t.test('a path rejects other methods with 405 and Allow', async (t) => {
  const { app } = await buildTestApp(t);
  await app.inject({ method: 'POST', url: '/api/todos', payload: { id: 'a' } });
  for (const [path, allow] of OWN) {
    for (const query of ['', '?a=/b&c=?']) {
      const options = await app.inject({ method: 'OPTIONS', url: path + query });
      t.equal(options.statusCode, 204, `OPTIONS ${path}`);
      t.equal(options.headers.allow, allow, `OPTIONS ${path}`);
      for (const method of METHODS.filter((one) => !allow.split(', ').includes(one))) {
        const response = await app.inject({ method, url: path + query });
        t.equal(response.statusCode, 405, `${method} ${path}`);
        t.equal(response.headers.allow, allow, `${method} ${path}`);
        if (method !== 'HEAD') t.match(response.json(), { code: 'method-not-allowed' });
      }
    }
  }
  for (const path of ['/api/todos', '/files', '/admin/users', '/webhooks/endpoints', '/events', '/healthz']) {
    for (const method of METHODS) {
      const response = await app.inject({ method, url: `${path}/?x=1` });
      t.equal(response.statusCode, 404, `${method} ${path}/`);
      if (method === 'HEAD') continue;
      t.match(response.json(), { code: 'route-not-found', hint: `Leave out the slash at the end: ${path}` });
    }
  }
  for (const path of ['/api/', '/api//a', '/api//_changes', '/files//a.txt']) {
    t.match((await app.inject(path)).json(), {
      status: 404,
      code: 'route-not-found',
      detail: `No route matches ${path}`,
    });
  }
  for (const path of ['/api/', '/api/todos/a/b', '/files/a/b/c', '/nowhere', '/batch/x']) {
    t.equal((await app.inject({ method: 'OPTIONS', url: path })).statusCode, 404, path);
    t.equal((await app.inject({ method: 'PUT', url: path })).statusCode, 404, path);
  }
});
