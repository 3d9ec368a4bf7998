/**
 * Parsers for buffered bodies: the media types of a context, within a deadline and a number of bytes, without a content
 * encoding.
 */
import type { IncomingMessage } from 'node:http';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { hasBody, refuseCompressedBody } from '../../lib/request.ts';

export interface BodyParserOptions {
  /** Their media types; a pattern starts at the start of the header. */
  readonly types: readonly (string | RegExp)[];
  /** The largest body, in bytes. */
  readonly maxBytes: number;
  /** Milliseconds within which a body must arrive. */
  readonly timeoutMs: number;
  /** Returns what the routes get as `request.body`, or throws to reject the body. */
  readonly parse: (body: Buffer, request: FastifyRequest) => unknown;
}

/**
 * Makes a context parse these bodies and nothing else. A body of another type is left unread: the route itself decides
 * which types it accepts, and words the error.
 */
export function registerBodyParser(
  app: FastifyInstance,
  { types, maxBytes, timeoutMs, parse }: BodyParserOptions,
): void {
  app.addHook('preParsing', (request, _reply, payload, done) => {
    withDeadline(request.raw, timeoutMs);
    done(null, payload);
  });
  // A limit of the route, not of the parser: only that one is known when the error is worded.
  app.addHook('onRoute', (route) => {
    route.bodyLimit ??= maxBytes;
  });
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', (_request, _payload, done) => done(null));
  const read = (request: FastifyRequest, body: Buffer, done: (error: Error | null, body?: unknown) => void) => {
    try {
      refuseCompressedBody(request);
      done(null, parse(body, request));
    } catch (error) {
      done(error instanceof Error ? error : new Error('Parsing failed', { cause: error }));
    }
  };
  for (const type of types) app.addContentTypeParser(type, { parseAs: 'buffer' }, read);
}

/**
 * Closes the connection if a body has not arrived in time. Fastify's `requestTimeout` cannot be used: it would cut
 * large uploads too.
 */
function withDeadline(body: IncomingMessage, timeoutMs: number): void {
  if (!hasBody(body)) return;
  const timer = setTimeout(() => body.destroy(), timeoutMs).unref();
  const clear = () => clearTimeout(timer);
  body.once('end', clear).once('close', clear);
}
