/**
 * Cross-origin calls from browsers (Fetch standard, "CORS protocol"): any loopback origin in development mode, the
 * configured ones in production. Origins are listed, without wildcards, so that credentials can be allowed later. A
 * page cannot learn why its preflight was rejected, so the log states the reason.
 */
import type { FastifyReply, FastifyRequest } from 'fastify';
import fp from 'fastify-plugin';
import type { ServerConfig } from '../config/config.ts';
import { isLoopbackOrigin } from '../config/loopback.ts';

const METHODS = 'GET, HEAD, POST, PUT, PATCH, DELETE';
const EXPOSED =
  'ETag, Location, Link, Allow, Accept-Patch, Retry-After, RateLimit, Preference-Applied, X-Request-Id, ' +
  'Accept-Ranges, Content-Range, Content-Disposition, Accept-Encoding, ' +
  'Idempotency-Replayed, Millrace-Count, Millrace-Count-Kind, Millrace-Next, Millrace-Position, Millrace-Hint, ' +
  'Millrace-Explain, Millrace-Run';
/** How long a browser may cache a preflight, in seconds. */
const MAX_AGE = '7200';
/** Characters of an origin in a log line. */
const MAX_SHOWN = 100;

export interface CorsOptions {
  readonly config: Pick<ServerConfig, 'mode' | 'corsOrigins'>;
}

/** Whether pages of an origin may read responses. */
export type OriginMatcher = (origin: string) => boolean;

export function createOriginMatcher({ mode, corsOrigins }: CorsOptions['config']): OriginMatcher {
  const listed = new Set(corsOrigins);
  return (origin) => listed.has(origin) || (mode === 'development' && isLoopbackOrigin(origin));
}

/** Sends the headers by which browsers let pages read responses, and responds to preflights. */
export const cors = fp<CorsOptions>(
  async (app, { config }) => {
    const allows = createOriginMatcher(config);
    app.addHook('onRequest', (request, reply, done) => {
      const { origin } = request.headers;
      if (origin !== undefined && allows(origin)) {
        if (applyCors(request, reply, origin)) return;
      } else if (isPreflight(request)) {
        app.log.info({ request: request.id, origin: shown(origin) }, whyRefused(origin));
      }
      done();
    });
  },
  { name: 'cors' },
);

/**
 * Lets pages of an allowed origin read the response, and responds to a preflight.
 * @returns whether it was a preflight: then nothing else is to be done
 */
export function applyCors(request: FastifyRequest, reply: FastifyReply, origin: string): boolean {
  reply.headers(corsResponseHeaders(origin));
  if (!isPreflight(request)) return false;
  reply
    .headers(preflightHeaders(request.headers['access-control-request-headers'] ?? ''))
    .code(204)
    .send();
  return true;
}

/** The headers by which pages of an allowed origin may read a response. */
export function corsResponseHeaders(origin: string): Readonly<Record<string, string>> {
  return { 'access-control-allow-origin': origin, 'access-control-expose-headers': EXPOSED };
}

/**
 * The headers of the response to a preflight.
 * @param names the headers that the page may send, with commas
 */
export function preflightHeaders(names: string): Readonly<Record<string, string>> {
  return {
    'access-control-allow-methods': METHODS,
    'access-control-allow-headers': names,
    'access-control-max-age': MAX_AGE,
    vary: 'Origin, Access-Control-Request-Headers',
  };
}

function isPreflight({ method, headers }: FastifyRequest): boolean {
  return method === 'OPTIONS' && headers['access-control-request-method'] !== undefined;
}

/** An origin in a form that is safe in a log, whatever a client sent. */
function shown(origin: string | undefined): string | null {
  return origin?.slice(0, MAX_SHOWN).replace(/[^\x21-\x7e]/g, '?') ?? null;
}

function whyRefused(origin: string | undefined): string {
  if (origin === undefined) return 'A preflight without an origin was rejected: browsers always send one';
  if (origin === 'null')
    return 'A preflight of a page with an opaque origin was rejected: the page is a file, or sandboxed';
  return `A preflight of ${shown(origin)} was rejected: MILLRACE_CORS_ORIGINS does not list it`;
}
