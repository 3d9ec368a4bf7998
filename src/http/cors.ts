/**
 * Cross-origin calls from browsers (Fetch standard, "CORS protocol"): any loopback origin in development mode, the
 * configured ones in production. Origins, not wildcards, so that credentials may come along later.
 */
import fp from 'fastify-plugin';
import type { ServerConfig } from '../kernel/config.ts';
import { isLoopbackOrigin } from '../kernel/loopback.ts';

const METHODS = 'GET, HEAD, POST, PUT, PATCH, DELETE';
const EXPOSED =
  'ETag, Location, Link, Allow, Accept-Patch, Retry-After, RateLimit, Preference-Applied, X-Request-Id, ' +
  'Accept-Ranges, Content-Range, Content-Disposition, Accept-Encoding, ' +
  'Idempotency-Replayed, Millrace-Count, Millrace-Count-Kind, Millrace-Next, Millrace-Position, Millrace-Explain';
/** How long a browser may remember a preflight, in seconds. */
const MAX_AGE = '7200';

export interface CorsOptions {
  readonly config: Pick<ServerConfig, 'mode' | 'corsOrigins'>;
}

/** Says which origins may read the answers, and answers preflights. */
export const cors = fp<CorsOptions>(
  async (app, { config }) => {
    const listed = new Set(config.corsOrigins);
    const allowed = (origin: string) =>
      listed.has(origin) || (config.mode === 'development' && isLoopbackOrigin(origin));
    app.addHook('onRequest', (request, reply, done) => {
      const { origin } = request.headers;
      if (origin === undefined || !allowed(origin)) {
        done();
        return;
      }
      reply.header('access-control-allow-origin', origin).header('access-control-expose-headers', EXPOSED);
      if (request.method !== 'OPTIONS' || request.headers['access-control-request-method'] === undefined) {
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
