/**
 * Collects what each route declares about itself, and refuses to start a server with a route that declares nothing or
 * declares it wrongly, so that the OpenAPI document matches the routes.
 */
import fp from 'fastify-plugin';
import { excludeFromOpenApi, type Operation } from '../../openapi/operation.ts';
import { type DeclaredRoute, generalOperation } from './openapi.ts';

export interface OpenApiRouteCollectorOptions {
  /** Receives them in the order of registration. Complete once the server is ready. */
  readonly routes: DeclaredRoute[];
}

/**
 * Methods that every path supports and that the document describes once for all: HEAD as GET, OPTIONS by its `Allow`.
 */
const SAID_ONCE: ReadonlySet<string> = new Set(['HEAD', 'OPTIONS']);

/** Register it before any route. */
export const openApiRouteCollector = fp<OpenApiRouteCollectorOptions>(
  async (app, { routes }) => {
    const ids = new Set<string>();
    app.addHook('onRoute', function gather({ method, url, config }) {
      for (const one of [method].flat()) {
        if (SAID_ONCE.has(one)) continue;
        const where = `${one} ${url}`;
        const declaration = config?.openApi;
        if (declaration === undefined) {
          throw new Error(`${where} declares no operation: give its config one, or ${excludeFromOpenApi.name}(why)`);
        }
        if (declaration.kind === 'outside') continue;
        const operation = generalOperation(declaration);
        if (ids.has(operation.id)) throw new Error(`${where} declares the id '${operation.id}', which is used twice`);
        ids.add(operation.id);
        if (declaration.kind === 'of-collection' && !operation.id.includes('Document')) {
          throw new Error(
            `${where} declares the id '${operation.id}': the name of a collection goes before 'Document'`,
          );
        }
        const path = url.replace(/:(\w+)/g, '{$1}');
        checkPath(where, path, operation);
        routes.push({ method: one.toLowerCase(), path, declaration, speaksJson: this.speaksJson === true });
      }
    });
  },
  { name: 'declared-routes' },
);

function checkPath(where: string, path: string, { parameters = [] }: Operation): void {
  const inUrl = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name).sort();
  const declared = parameters.flatMap((one) => (one.in === 'path' ? [one.name] : [])).sort();
  if (inUrl.join() === declared.join()) return;
  throw new Error(`${where} declares the path parameters '${declared.join()}', its URL has '${inUrl.join()}'`);
}
