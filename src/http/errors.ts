/**
 * Where every error of a request ends: logged if it is our fault, and answered as a problem document. It also answers
 * what Node's parser and Fastify's router refuse before a route is known, in the same shape.
 */
import { createRequire } from 'node:module';
import type { Socket } from 'node:net';
import type { FastifyReply, FastifyRequest } from 'fastify';
import fp from 'fastify-plugin';
import { type ErrorCode, MillraceError } from '../kernel/errors.ts';
import { PROBLEM_TYPE, toMillraceError, toProblem } from './problem.ts';
import { SECURITY_HEADERS } from './protection.ts';

/**
 * Texts of HTTP's status codes. Not by `import`, which reads everything that `node:http` exports: then Node loads what `WebSocket` and
 * `fetch` need, a twentieth of the time that the program takes to load.
 */
const { STATUS_CODES } = createRequire(import.meta.url)('node:http') as typeof import('node:http');

/**
 * Answers failed requests, and those that arrive while the server closes, which Fastify would answer in another shape.
 */
export const errors = fp(
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

/** Writes an error as the reply. */
function sendError(thrown: unknown, request: FastifyRequest, reply: FastifyReply): void {
  const { bodyLimit: set = 0 } = request.server.initialConfig;
  const { bodyLimit = set } = request.routeOptions;
  const error = toMillraceError(isCutOff(thrown, request) ? cutOff(thrown) : thrown, bodyLimit, bodyLimit === set);
  request.refusal = error;
  const { id, log } = request;
  if (error.code === 'internal') log.error({ request: id, err: error.cause ?? error }, 'Unexpected error');
  // A full disk is logged once, when it becomes so.
  else if (error.status >= 500 && error.code !== 'storage-full')
    log.warn({ request: id, code: error.code, err: error.cause }, error.message);
  reply.code(error.status).headers(error.headers);
  if (isEmbedded(request)) reply.send();
  else reply.type(PROBLEM_TYPE).send(toProblem(error, `${request.server.basePath ?? ''}${request.url}`, request.id));
}

/**
 * True if a page loads the address as an `<img>` does (Fetch Metadata, `Sec-Fetch-Mode`). The page cannot read such an
 * answer, and Chromium hides even its status if the body is JSON (opaque response blocking).
 */
function isEmbedded({ headers, routeOptions }: FastifyRequest): boolean {
  return routeOptions.config?.embeddable === true && headers['sec-fetch-mode'] === 'no-cors';
}

/** Answers a refusal of the router. The router runs no hooks, so the headers that hooks would set are set here. */
export function refuseAddress(thrown: unknown, request: FastifyRequest, reply: FastifyReply): void {
  reply.headers(SECURITY_HEADERS).header('x-request-id', request.id);
  sendError(thrown, request, reply);
}

/**
 * True if the client disconnected in the middle of its body; a broken connection of ours to another server has the same
 * code.
 */
function isCutOff(thrown: unknown, { raw }: FastifyRequest): boolean {
  return !raw.complete && raw.destroyed && thrown instanceof Error && 'code' in thrown && thrown.code === 'ECONNRESET';
}

function cutOff(cause: unknown): MillraceError {
  return new MillraceError('malformed-request', 'The connection ended before the body did', { cause });
}

const PARSER_ERRORS: Readonly<Record<string, readonly [ErrorCode, string]>> = {
  HPE_HEADER_OVERFLOW: ['headers-too-large', 'The request headers are larger than this server accepts'],
  ERR_HTTP_REQUEST_TIMEOUT: ['request-timeout', 'The request headers took too long to arrive'],
};

const FIXED_HEADERS = Object.entries(SECURITY_HEADERS).map(([name, value]) => `${name}: ${value}\r\n`);

/**
 * Makes the function that answers requests that are not HTTP, or are too large, and closes the connection.
 * @param nextId makes the id of a request
 */
export function refuseConnection(nextId: () => string): (error: Error & { code?: string }, socket: Socket) => void {
  return (error, socket) => {
    if (error.code === 'ECONNRESET' || !socket.writable) {
      socket.destroy();
      return;
    }
    const id = nextId();
    const [code, message] = PARSER_ERRORS[error.code ?? ''] ?? ['malformed-request', 'The request is not valid HTTP'];
    const problem = toProblem(new MillraceError(code, message), '', id);
    const body = JSON.stringify({ ...problem, instance: undefined });
    socket.end(
      `HTTP/1.1 ${problem.status} ${STATUS_CODES[problem.status]}\r\nContent-Type: ${PROBLEM_TYPE}\r\n` +
        `${FIXED_HEADERS.join('')}X-Request-Id: ${id}\r\n` +
        `Content-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`,
    );
  };
}
