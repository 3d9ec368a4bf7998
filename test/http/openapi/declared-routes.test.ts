/**
 * A server with a route that is missing in the OpenAPI document, or is declared wrongly, does not start and names the
 * route.
 */
import '../../../src/fastify-types.ts';
import Fastify from 'fastify';
import t from 'tap';
import { openApiRouteCollector } from '../../../src/http/openapi/declared-routes.ts';
import type { DeclaredRoute } from '../../../src/http/openapi/openapi.ts';
import { declareOperation, excludeFromOpenApi, type OpenApiRouteConfig } from '../../../src/openapi/operation.ts';
import { pathParameter } from '../../../src/openapi/parameters.ts';

const NOTHING = {
  tag: 'files',
  summary: 'Nothing',
  responses: { 204: { description: 'Nothing.' } },
  errors: [],
} as const;
const ID = pathParameter('id', 'Any.', { type: 'string' });

/** Starts a server with one route after another. */
async function start(...configs: readonly (OpenApiRouteConfig | null)[]): Promise<readonly DeclaredRoute[]> {
  const app = Fastify();
  const routes: DeclaredRoute[] = [];
  await app.register(openApiRouteCollector, { routes });
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

t.test('a route without an operation stops the startup and is named', async (t) => {
  await t.rejects(start(null), { message: /^GET \/v1\/things-0\/:id declares no operation/ });
});

t.test('a route declared outside of the OpenAPI document starts, and stays out', async (t) => {
  t.strictSame(await start(excludeFromOpenApi('A page')), []);
});

t.test('a declared route is collected once, with braces, though it supports HEAD too', async (t) => {
  const config = declareOperation({ id: 'one', parameters: [ID], ...NOTHING });
  t.match(await start(config), [{ method: 'get', path: '/v1/things-0/{id}', declaration: config.openApi }]);
  t.equal((await start(config)).length, 1);
});

t.test('two operations with one id stop the startup', async (t) => {
  const config = declareOperation({ id: 'one', parameters: [ID], ...NOTHING });
  await t.rejects(start(config, config), { message: /^GET \/v1\/things-1\/:id declares the id 'one'/ });
});

t.test('path parameters that differ from those of the URL stop the startup', async (t) => {
  await t.rejects(start(declareOperation({ id: 'one', ...NOTHING })), {
    message: /path parameters '', its URL has 'id'/,
  });
});
