/** The routes of a server, as Fastify itself lists them. */
import type { FastifyInstance } from 'fastify';

/** Each as its method and its URL: `GET /api/:collection`. */
export function routesOf(app: FastifyInstance): string[] {
  const path: string[] = [];
  return app
    .printRoutes({ commonPrefix: false })
    .split('\n')
    .flatMap((line) => {
      const found = /^((?:│ {3}| {4})*)(?:├──|└──) (\S+)(?: \(([A-Z, ]+)\))?/.exec(line);
      if (found === null) return [];
      const [, indent = '', segment = '', methods = ''] = found;
      path.splice(indent.length / 4, path.length, segment);
      return methods === '' ? [] : methods.split(', ').map((method) => `${method} ${path.join('')}`);
    });
}
