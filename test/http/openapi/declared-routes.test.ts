/** A server with a route that the contract does not know, or knows wrongly, does not start and says which route it is. */
import '../../../src/fastify.ts';
import Fastify from 'fastify';
import t from 'tap';
import { type Declared, operation, outsideContract } from '../../../src/contract/operation.ts';
import { pathParameter } from '../../../src/contract/parameters.ts';
import { declaredRoutes } from '../../../src/http/openapi/declared-routes.ts';
import type { DeclaredRoute } from '../../../src/http/openapi/openapi.ts';

const NOTHING = {
  tag: 'Files',
  summary: 'Nothing',
  answers: { 204: { description: 'Nothing.' } },
  errors: [],
} as const;
const ID = pathParameter('id', 'Any.', { type: 'string' });

/** Starts a server with one route after another. */
async function start(...configs: readonly (Declared | null)[]): Promise<readonly DeclaredRoute[]> {
  const app = Fastify();
  const routes: DeclaredRoute[] = [];
  await app.register(declaredRoutes, { routes });
  await app.register(
    async (inner) => {
      for (const [n, config] of configs.entries()) {
        inner.get(`/things-${n}/:id`, { ...(config === null ? {} : { config }) }, async () => '');
      }
    },
    { prefix: '/v1' },
  );
  await app.ready();
  await app.close();
  return routes;
}

t.test('a route without an operation stops the start and is named', async (t) => {
  await t.rejects(start(null), { message: /^GET \/v1\/things-0\/:id declares no operation/ });
});

t.test('a route that says it is outside of the contract starts, and stays out', async (t) => {
  t.strictSame(await start(outsideContract('A page')), []);
});

t.test('a declared route is gathered once, with braces, though it answers HEAD too', async (t) => {
  const config = operation({ id: 'one', parameters: [ID], ...NOTHING });
  t.match(await start(config), [{ method: 'get', path: '/v1/things-0/{id}', declaration: config.contract }]);
  t.equal((await start(config)).length, 1);
});

t.test('two operations of one id stop the start', async (t) => {
  const config = operation({ id: 'one', parameters: [ID], ...NOTHING });
  await t.rejects(start(config, config), { message: /^GET \/v1\/things-1\/:id declares the id 'one'/ });
});

t.test('path parameters that the URL does not have, or has besides, stop the start', async (t) => {
  await t.rejects(start(operation({ id: 'one', ...NOTHING })), { message: /path parameters '', its URL has 'id'/ });
});
