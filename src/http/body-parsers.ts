/**
 * Parsers for buffered bodies: the media types of a context, within a deadline and a number of bytes, without a content
 * encoding.
 */

import type { IncomingMessage } from 'node:http';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import fp from 'fastify-plugin';
import { PATCH_MEDIA_TYPES } from '../collections/patch/patch-bodies.ts';
import type { ServerConfig } from '../config/config.ts';
import { parseStrictJson } from '../database/json/parse-json.ts';
import { MillraceError } from '../lib/errors.ts';
import { hasBody, refuseCompressedBody } from '../lib/request.ts';

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

const MAX_FORM_BYTES = 65_536;

interface FormBodiesOptions {
  readonly config: Pick<ServerConfig, 'bodyTimeoutMs'>;
}

/** Makes a context parse forms and nothing else. */
export const formBodies = fp<FormBodiesOptions>(
  async (app, { config }) => {
    registerBodyParser(app, {
      types: ['application/x-www-form-urlencoded'],
      maxBytes: MAX_FORM_BYTES,
      timeoutMs: config.bodyTimeoutMs,
      parse: (body) => new URLSearchParams(body.toString()),
    });
  },
  { name: 'form' },
);

interface FunctionCallBodiesOptions {
  readonly config: Pick<ServerConfig, 'bodyTimeoutMs'>;
  /** The largest body, in bytes. */
  readonly maxBytes: number;
}

/** Makes a context parse these bodies and nothing else. */
export const functionCallBodies = fp<FunctionCallBodiesOptions>(
  async (app, { config, maxBytes }) => {
    registerBodyParser(app, {
      types: ['application/json', 'application/x-www-form-urlencoded', /^application\/[\w.!#$&^-]+\+json/, /^text\//],
      maxBytes,
      timeoutMs: config.bodyTimeoutMs,
      parse: (body) => (body.length === 0 ? undefined : body),
    });
  },
  { name: 'call-bodies' },
);

interface JsonBodiesOptions {
  readonly config: Pick<ServerConfig, 'bodyBytes' | 'bodyTimeoutMs'>;
}

/** Makes a context accept JSON and nothing else. */
export const jsonBodies = fp<JsonBodiesOptions>(
  async (app, { config }) => {
    app.decorate('speaksJson', true);
    app.decorateRequest('rawBody', null);
    app.addHook('onRequest', (request, _reply, done) => {
      const { accept } = request.headers;
      const streams = request.routeOptions.config.streams === true && accept?.includes('text/event-stream') === true;
      if (streams || acceptsJson(accept)) done();
      else
        done(new MillraceError('not-acceptable', 'This server responds in JSON', { hint: 'Accept: application/json' }));
    });
    registerBodyParser(app, {
      // Each route declares which it accepts. A PATCH accepts plain JSON too, so its types are all of them.
      types: PATCH_MEDIA_TYPES,
      maxBytes: config.bodyBytes,
      timeoutMs: config.bodyTimeoutMs,
      parse: (body, request) => {
        // Only a write with an idempotency key compares its raw body later.
        if (request.headers['idempotency-key'] !== undefined) request.rawBody = body;
        // Many clients always send a Content-Type. An empty body counts as no body, which a route that needs one
        // rejects.
        return body.length === 0 ? undefined : parseStrictJson(body);
      },
    });
  },
  { name: 'json' },
);

/** RFC 9110 section 12.5.1, as far as a server with one representation needs it. */
function acceptsJson(accept: string | undefined): boolean {
  if (accept === undefined || accept.trim() === '') return true;
  return accept.split(',').some((range) => {
    const [type = '', ...parameters] = range.split(';').map((part) => part.trim().toLowerCase());
    const refused = parameters.some((parameter) => /^q=0(\.0*)?$/.test(parameter));
    return !refused && ['*/*', 'application/*', 'application/json', 'application/problem+json'].includes(type);
  });
}
