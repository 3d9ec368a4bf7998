/**
 * Bodies of HTML forms, for the routes that a provider lets a browser post to. Each arrives within the deadline of bodies
 * and is read as `URLSearchParams`. Not here: files (files/), JSON (json.ts).
 */
import fp from 'fastify-plugin';
import type { ServerConfig } from '../kernel/config/config.ts';
import { refuseEncoding } from '../kernel/request.ts';
import { withDeadline } from './protection.ts';

const MAX_BYTES = 65_536;

export interface FormOptions {
  readonly config: Pick<ServerConfig, 'bodyTimeoutMs'>;
}

/** Makes a context read forms and nothing else. */
export const form = fp<FormOptions>(
  async (app, { config }) => {
    app.addHook('preParsing', (request, _reply, payload, done) => {
      withDeadline(request.raw, config.bodyTimeoutMs);
      done(null, payload);
    });
    app.removeAllContentTypeParsers();
    // The route words the error.
    app.addContentTypeParser('*', (_request, _payload, done) => done(null));
    app.addContentTypeParser(
      'application/x-www-form-urlencoded',
      { parseAs: 'string', bodyLimit: MAX_BYTES },
      (request, body: string, done) => {
        try {
          refuseEncoding(request);
          done(null, new URLSearchParams(body));
        } catch (error) {
          done(error instanceof Error ? error : new Error('Parsing failed', { cause: error }));
        }
      },
    );
  },
  { name: 'form' },
);
