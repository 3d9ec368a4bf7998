/** JSON requests and responses of the data routes: strict body parsing, and the `Accept` header. */
import fp from 'fastify-plugin';
import { PATCH_MEDIA_TYPES } from '../../collections/patch/patch-bodies.ts';
import type { ServerConfig } from '../../config/config.ts';
import { parseJson } from '../../database/json/parse-json.ts';
import { MillraceError } from '../../lib/errors.ts';
import { registerBodyParser } from './body-parsers.ts';

export interface JsonBodiesOptions {
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
        return body.length === 0 ? undefined : parseJson(body);
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
