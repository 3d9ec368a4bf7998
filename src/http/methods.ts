/**
 * What HTTP expects where no route answers: 405 with `Allow` on a known path, 204 for OPTIONS, else 404. The router
 * keeps one tree per method and cannot say which others a path has, so the patterns are collected here; they are asked
 * only when nothing else answered.
 */
import type { FastifyReply, FastifyRequest } from 'fastify';
import fp from 'fastify-plugin';
import { MillraceError } from '../kernel/errors.ts';

/** Register it before any route. */
export const methods = fp(
  async (app) => {
    const patterns = new Map<string, { readonly pattern: RegExp; readonly methods: Set<string> }>();
    app.addHook('onRoute', (route) => {
      const known = patterns.get(route.url) ?? { pattern: toPattern(route.url), methods: new Set(['OPTIONS']) };
      for (const method of [route.method].flat()) known.methods.add(method);
      patterns.set(route.url, known);
    });
    const answer = (request: FastifyRequest, reply: FastifyReply): void => {
      const path = request.url.split('?', 1)[0] ?? '';
      const allowed = new Set<string>();
      for (const known of patterns.values()) {
        if (known.pattern.test(path)) for (const method of known.methods) allowed.add(method);
      }
      const allow = [...allowed].sort().join(', ');
      if (allow === '') throw new MillraceError('route-not-found', `There is nothing at ${path.slice(0, 200)}`);
      if (request.method === 'OPTIONS') {
        reply.code(204).header('allow', allow).send();
        return;
      }
      throw new MillraceError('method-not-allowed', `${request.method} is not possible here`, { headers: { allow } });
    };
    // Before the body is looked at: nobody's body is parsed for nothing.
    app.addHook('onRequest', (request, reply, done) => {
      if (!request.is404) {
        done();
        return;
      }
      try {
        answer(request, reply);
      } catch (error) {
        done(error instanceof Error ? error : new Error('Refusing failed', { cause: error }));
      }
    });
    app.setNotFoundHandler(answer);
  },
  { name: 'methods' },
);

/** `/api/:collection/*` as a pattern for whole paths. */
function toPattern(url: string): RegExp {
  const parts = url.split('/').map((part) => {
    if (part.startsWith(':')) return '[^/]+';
    if (part === '*') return '.*';
    return part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
  });
  return new RegExp(`^${parts.join('/')}$`);
}
