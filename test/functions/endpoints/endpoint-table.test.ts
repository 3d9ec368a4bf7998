/** Routing of HTTP functions: literal segments before parameters, the most specific pattern alone, HEAD as GET. */
import t from 'tap';
import { type Endpoint, EndpointTable, splitPath } from '../../../src/functions/endpoints/endpoint-table.ts';
import { endpoint, pluginOf } from '../../helpers/functions/plugins.ts';

const ROUTES: Readonly<Record<string, string>> = {
  root: 'GET /',
  list: 'GET /users',
  make: 'POST,PUT /users',
  me: 'GET /users/me',
  one: 'GET /users/:id',
  change: 'PATCH /users/:user',
  deep: 'GET /users/:id/notes/:note',
  own: 'GET /users/me/notes/last',
  file: 'GET /users/me/:file',
};
const plugin = pluginOf(
  'p',
  Object.fromEntries(Object.entries(ROUTES).map(([name, route]) => [name, { use: endpoint(route) }])),
);
const table = new EndpointTable(plugin.functions as readonly Endpoint[]);

t.test('A request matches the most specific HTTP function.', async (t) => {
  const cases: readonly (readonly [string, string, Record<string, string>?])[] = [
    ['GET /', 'root'],
    ['GET /users', 'list'],
    ['HEAD /users', 'list'],
    ['PUT /users', 'make'],
    ['GET /users/me', 'me'],
    ['GET /users/7', 'one', { id: '7' }],
    ['PATCH /users/7', 'change', { user: '7' }],
    ['GET /users/7/notes/8', 'deep', { id: '7', note: '8' }],
    ['GET /users/me/notes/last', 'own'],
    ['GET /users/me/notes/8', 'deep', { id: 'me', note: '8' }],
    ['GET /users/me/notes', 'file', { file: 'notes' }],
    ['GET /users/__proto__', 'one', { id: '__proto__' }],
  ];
  for (const [requested, name, params = {}] of cases) {
    const [method = '', path = ''] = requested.split(' ');
    const match = table.find(method, splitPath(path));
    t.equal(match.kind, 'found', requested);
    if (match.kind === 'found') t.strictSame([match.fn.name, match.params], [name, params], requested);
  }
});

t.test('A request without a matching HTTP function is not found.', async (t) => {
  for (const path of [
    '/nothing',
    '/users/',
    '/users//notes/8',
    '/users/7/notes',
    '/users/7/notes/8/9',
    '//users',
    '/Users',
  ]) {
    t.strictSame(table.find('GET', splitPath(path)), { kind: 'nothing' }, path);
    t.equal(table.allowed(splitPath(path)), null, path);
  }
  t.strictSame(table.find('DELETE', ['users']), { kind: 'other-methods', allow: 'GET, HEAD, OPTIONS, POST, PUT' });
  t.strictSame(table.find('PATCH', ['users', 'me']), { kind: 'other-methods', allow: 'GET, HEAD, OPTIONS' });
  t.equal(table.allowed(['users', '7']), 'GET, HEAD, OPTIONS, PATCH');
});
