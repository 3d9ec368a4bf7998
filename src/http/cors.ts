/**
 * Cross-origin calls from browsers (Fetch standard, "CORS protocol"): any loopback origin in development mode, the
 * configured ones in production. Origins are named, without wildcards, so that credentials can be allowed later. A page
 * does not learn why its preflight was refused, so the log says why.
 */
import fp from 'fastify-plugin';
import type { ServerConfig } from '../kernel/config/config.ts';
import { isLoopbackOrigin } from '../kernel/config/loopback.ts';

const METHODS = 'GET, HEAD, POST, PUT, PATCH, DELETE';
const EXPOSED =
  'ETag, Location, Link, Allow, Accept-Patch, Retry-After, RateLimit, Preference-Applied, X-Request-Id, ' +
  'Accept-Ranges, Content-Range, Content-Disposition, Accept-Encoding, ' +
  'Idempotency-Replayed, Millrace-Count, Millrace-Count-Kind, Millrace-Next, Millrace-Position, Millrace-Hint, ' +
  'Millrace-Explain, Millrace-Run';
/** How long a browser may remember a preflight, in seconds. */
const MAX_AGE = '7200';
/** Characters of an origin in a log line. */
const MAX_SHOWN = 100;

export interface CorsOptions {
  readonly config: Pick<ServerConfig, 'mode' | 'corsOrigins'>;
}

/** Tells browsers which origins may read the answers, and answers preflights. */
export const cors = fp<CorsOptions>(
  async (app, { config }) => {
    const listed = new Set(config.corsOrigins);
    const allowed = (origin: string) =>
      listed.has(origin) || (config.mode === 'development' && isLoopbackOrigin(origin));
    app.addHook('onRequest', (request, reply, done) => {
      const { origin } = request.headers;
      const asks = request.method === 'OPTIONS' && request.headers['access-control-request-method'] !== undefined;
      if (origin === undefined || !allowed(origin)) {
        if (asks) app.log.info({ request: request.id, origin: shown(origin) }, whyRefused(origin));
        done();
        return;
      }
      reply.header('access-control-allow-origin', origin).header('access-control-expose-headers', EXPOSED);
      if (!asks) {
        done();
        return;
      }
      reply
        .header('access-control-allow-methods', METHODS)
        .header('access-control-allow-headers', request.headers['access-control-request-headers'] ?? '')
        .header('access-control-max-age', MAX_AGE)
        .header('vary', 'Origin, Access-Control-Request-Headers')
        .code(204)
        .send();
    });
  },
  { name: 'cors' },
);

/** An origin in a form that is safe in a log, whatever a client sent. */
function shown(origin: string | undefined): string | null {
  return origin?.slice(0, MAX_SHOWN).replace(/[^\x21-\x7e]/g, '?') ?? null;
}

function whyRefused(origin: string | undefined): string {
  if (origin === undefined) return 'A preflight without an origin was refused: browsers always send one';
  if (origin === 'null')
    return 'A preflight of a page with no origin of its own was refused: such a page is a file, or in a sandbox';
  return `A preflight of ${shown(origin)} was refused: MILLRACE_CORS_ORIGINS does not name it`;
}
