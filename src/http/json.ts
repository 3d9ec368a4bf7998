/**
 * JSON in and out of the routes that carry data: strict body parsing within its deadline, and what the client
 * accepts. Not here: the meaning of a body.
 */
import fp from 'fastify-plugin';
import { PATCH_TYPES } from '../collections/patch/patch-bodies.ts';
import { parseJson } from '../database/json/parse-json.ts';
import type { ServerConfig } from '../kernel/config/config.ts';
import { MillraceError } from '../kernel/errors.ts';
import { refuseEncoding } from '../kernel/request.ts';
import { withDeadline } from './protection.ts';

/** Bodies that are JSON. Each route says which of them it takes. A PATCH takes plain JSON too, so these are all. */
const JSON_TYPES: string[] = [...PATCH_TYPES];

export interface JsonOptions {
  readonly config: Pick<ServerConfig, 'bodyBytes' | 'bodyTimeoutMs'>;
}

/** Makes a context speak JSON and nothing else. */
export const json = fp<JsonOptions>(
  async (app, { config }) => {
    app.decorateRequest('rawBody', null);
    app.addHook('onRequest', (request, _reply, done) => {
      const { accept } = request.headers;
      const streams = request.routeOptions.config.streams === true && accept?.includes('text/event-stream') === true;
      if (streams || acceptsJson(accept)) done();
      else
        done(new MillraceError('not-acceptable', 'This server answers in JSON', { hint: 'Accept: application/json' }));
    });
    app.addHook('preParsing', (request, _reply, payload, done) => {
      withDeadline(request.raw, config.bodyTimeoutMs);
      done(null, payload);
    });
    app.removeAllContentTypeParsers();
    // Which media types it takes is the route's to say, in its own words.
    app.addContentTypeParser('*', (_request, _payload, done) => done(null));
    app.addContentTypeParser(
      JSON_TYPES,
      { parseAs: 'buffer', bodyLimit: config.bodyBytes },
      (request, body: Buffer, done) => {
        // Only a keyed write asks later whether it is the same body again.
        if (request.headers['idempotency-key'] !== undefined) request.rawBody = body;
        try {
          refuseEncoding(request);
          // Many clients always name the type. Where a body is needed, an empty one is refused as none.
          done(null, body.length === 0 ? undefined : parseJson(body));
        } catch (error) {
          done(error instanceof Error ? error : new Error('Parsing failed', { cause: error }));
        }
      },
    );
  },
  { name: 'json' },
);

/** RFC 9110 section 12.5.1, as far as one representation needs it. */
function acceptsJson(accept: string | undefined): boolean {
  if (accept === undefined || accept.trim() === '') return true;
  return accept.split(',').some((range) => {
    const [type = '', ...parameters] = range.split(';').map((part) => part.trim().toLowerCase());
    const refused = parameters.some((parameter) => /^q=0(\.0*)?$/.test(parameter));
    return !refused && ['*/*', 'application/*', 'application/json', 'application/problem+json'].includes(type);
  });
}
