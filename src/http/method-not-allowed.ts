/**
 * Responses where no route matches: 405 with `Allow` on a known path, 204 for OPTIONS, else 404. The router keeps one
 * tree per method, so it cannot list the other methods of a path, and it takes `/files/bulk` for `/files/:id` where
 * only the latter has the method. Therefore the patterns are collected here, and a path belongs to its closest pattern
 * only.
 */
import type { FastifyReply, FastifyRequest } from 'fastify';
import fp from 'fastify-plugin';
import { MillraceError } from '../lib/errors.ts';
import { escapeRegExp } from '../lib/escape-reg-exp.ts';

interface Known {
  readonly url: string;
  readonly pattern: RegExp;
  readonly methods: Set<string>;
}

/** For a browser at the URL that the startup prints, and for URLs without the part before the collection. */
const hint =
  'Documents are at /api/{collection}, files at /files. Administrators list collections by GET /admin/collections; /docs describes everything';

/** Register it before any route. */
export const methodNotAllowed = fp(
  async (app) => {
    const known = new Map<string, Known>();
    app.addHook('onRoute', (route) => {
      const one = known.get(route.url) ?? { url: route.url, pattern: toPattern(route.url), methods: new Set() };
      for (const method of ['OPTIONS', route.method].flat()) one.methods.add(method);
      known.set(route.url, one);
    });
    const response = (request: FastifyRequest, reply: FastifyReply): void => {
      const path = request.url.split('?', 1)[0] ?? '';
      const matching = [...known.values()].filter(({ pattern }) => pattern.test(path));
      const closest = matching.filter((one) => !matching.some((other) => isCloser(other, one)));
      const allowed = new Set(closest.flatMap((one) => [...one.methods]));
      const allow = [...allowed].sort().join(', ');
      if (allow === '' || hasEmptyStep(request)) {
        const shorter = path.replace(/\/+$/, '');
        const isSlash = shorter !== path && [...known.values()].some(({ pattern }) => pattern.test(shorter));
        throw new MillraceError('route-not-found', `No route matches ${path.slice(0, 200)}`, {
          hint: isSlash ? `Leave out the slash at the end: ${shorter.slice(0, 200)}` : hint,
        });
      }
      if (request.method === 'OPTIONS') {
        reply.code(204).header('allow', allow).send();
        return;
      }
      throw new MillraceError('method-not-allowed', `${request.method} is not supported here`, { headers: { allow } });
    };
    /** For each route, the paths that belong to closer routes, with any query. */
    const cut = new Map<string, RegExp>();
    app.addHook('onReady', async () => {
      for (const one of known.values()) {
        const closer = [...known.values()].filter((other) => isCloser(other, one));
        const sources = closer.map(({ url }) => source(url));
        if (sources.length > 0) cut.set(one.url, new RegExp(`^(?:${sources.join('|')})(?:\\?|$)`));
      }
    });
    // Before the body is read: a body that will be rejected is never parsed.
    app.addHook('onRequest', (request, reply, done) => {
      if (
        !request.is404 &&
        !hasEmptyStep(request) &&
        cut.get(request.routeOptions.url ?? '')?.test(request.url) !== true
      ) {
        done();
        return;
      }
      try {
        response(request, reply);
      } catch (error) {
        done(error instanceof Error ? error : new Error('Rejecting failed', { cause: error }));
      }
    });
    app.setNotFoundHandler(response);
  },
  { name: 'methods' },
);

/** The router takes `/api/todos/` for `/api/:collection/:id` with an empty id. */
function hasEmptyStep({ params }: FastifyRequest): boolean {
  if (params === null || typeof params !== 'object') return false;
  return Object.entries(params).some(([name, value]) => name !== '*' && value === '');
}

/** True if every path that `one` matches is also matched by `other`, and not the other way round. */
function isCloser(one: Known, other: Known): boolean {
  return one !== other && other.pattern.test(one.url) && !one.pattern.test(other.url);
}

/** `/api/:collection/*` as a pattern for whole paths. */
function toPattern(url: string): RegExp {
  return new RegExp(`^${source(url)}$`);
}

function source(url: string): string {
  const parts = url.split('/').map((part) => {
    if (part.startsWith(':')) return '[^/]+';
    if (part === '*') return '.*';
    return escapeRegExp(part);
  });
  return parts.join('/');
}
