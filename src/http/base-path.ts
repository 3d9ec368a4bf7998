/**
 * The path below which clients reach this server (MILLRACE_BASE_PATH): requests are served with and without it, because some
 * proxies remove it, and references in responses always have it.
 */
import type { FastifyReply } from 'fastify';
import fp from 'fastify-plugin';

/** The request target without the base path. */
export function withoutBasePath(target: string, basePath: string): string {
  if (!target.startsWith(basePath)) return target;
  const rest = target.slice(basePath.length);
  if (rest === '' || rest.startsWith('?')) return `/${rest}`;
  return rest.startsWith('/') ? rest : target;
}

/** Adds the base path to the paths in `Location` and `Link`. Headers of functions stay unchanged. */
export const prefixResponseUrls = fp(
  async (app) => {
    const { basePath = '' } = app;
    if (basePath === '') return;
    app.addHook('onSend', (request, reply, payload, done) => {
      if (request.routeOptions.url !== '/fn/*') completeHeaders(reply, basePath);
      done(null, payload);
    });
  },
  { name: 'base-path' },
);

function completeHeaders(reply: FastifyReply, basePath: string): void {
  const location = reply.getHeader('location');
  if (typeof location === 'string' && isPath(location)) reply.header('location', basePath + location);
  const link = reply.getHeader('link');
  if (typeof link === 'string') reply.header('link', link.replaceAll(/(^|, )<\/(?!\/)/g, `$1<${basePath}/`));
}

/** A path of this server, not a URL with a host (`//host/path`). */
function isPath(reference: string): boolean {
  return reference.startsWith('/') && !reference.startsWith('//');
}
