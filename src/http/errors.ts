/**
 * Central error handling of requests: an error is logged if it is a server error, and sent as a problem document. It
 * also handles what Fastify's router rejects before a route is known.
 */
import type { FastifyReply, FastifyRequest } from 'fastify';
import fp from 'fastify-plugin';
import { MillraceError } from '../lib/errors.ts';
import { applyCors, type OriginMatcher } from './cors.ts';
import { PROBLEM_CONTENT_TYPE, toMillraceError, toProblemDocument } from './problem.ts';
import { SECURITY_HEADERS } from './security-headers-and-limits.ts';

/**
 * Handles failed requests, and those that arrive while the server closes, to which Fastify would respond in another
 * format.
 */
export const errorHandling = fp(
  async (app) => {
    app.decorateRequest('refusal', null);
    app.setErrorHandler(sendError);
    let closing = false;
    app.addHook('preClose', (done) => {
      closing = true;
      done();
    });
    app.addHook('onRequest', (_request, _reply, done) => {
      const headers = { 'retry-after': '1' };
      done(closing ? new MillraceError('shutting-down', 'The server is shutting down', { headers }) : undefined);
    });
  },
  { name: 'errors' },
);

/** Sends an error as the response. */
function sendError(thrown: unknown, request: FastifyRequest, reply: FastifyReply): void {
  const { bodyLimit: set = 0 } = request.server.initialConfig;
  const { bodyLimit = set } = request.routeOptions;
  // Forms and calls of functions have limits of their own, which may happen to be as large.
  const isSet = bodyLimit === set && request.server.speaksJson === true;
  const error = toMillraceError(isCutOff(thrown, request) ? cutOff(thrown) : thrown, bodyLimit, isSet);
  request.refusal = error;
  const { id, log } = request;
  if (error.code === 'internal') log.error({ request: id, err: error.cause ?? error }, 'Unexpected error');
  // A full disk is logged once, when it occurs.
  else if (error.status >= 500 && error.code !== 'storage-full')
    log.warn({ request: id, code: error.code, err: error.cause }, error.message);
  reply.code(error.status).headers(error.headers);
  if (isEmbedded(request)) reply.send();
  else
    reply
      .type(PROBLEM_CONTENT_TYPE)
      .send(toProblemDocument(error, `${request.server.basePath ?? ''}${request.url}`, request.id));
}

/**
 * True if a page loads the URL as an `<img>` does (Fetch Metadata, `Sec-Fetch-Mode`). The page cannot read such a
 * response, and Chromium hides even its status if the body is JSON (opaque response blocking).
 */
function isEmbedded({ headers, routeOptions }: FastifyRequest): boolean {
  return routeOptions.config?.embeddable === true && headers['sec-fetch-mode'] === 'no-cors';
}

/**
 * Creates the function for requests that the router rejects. The router runs no hooks, so it does what hooks would do.
 */
export function createInvalidUrlHandler(
  allows: OriginMatcher,
): (thrown: unknown, request: FastifyRequest, reply: FastifyReply) => void {
  return (thrown, request, reply) => {
    reply.headers(SECURITY_HEADERS).header('x-request-id', request.id);
    const { origin } = request.headers;
    if (origin !== undefined && allows(origin) && applyCors(request, reply, origin)) return;
    sendError(thrown, request, reply);
  };
}

/**
 * True if the client disconnected in the middle of its body; a broken connection from this server to another one has
 * the same code.
 */
function isCutOff(thrown: unknown, { raw }: FastifyRequest): boolean {
  return !raw.complete && raw.destroyed && thrown instanceof Error && 'code' in thrown && thrown.code === 'ECONNRESET';
}

function cutOff(cause: unknown): MillraceError {
  return new MillraceError('malformed-request', 'The connection closed before the end of the body', { cause });
}
