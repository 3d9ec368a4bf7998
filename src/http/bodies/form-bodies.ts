/**
 * Bodies of HTML forms, for the routes to which a provider lets a browser post. Each is parsed as `URLSearchParams`.
 */
import fp from 'fastify-plugin';
import type { ServerConfig } from '../../config/config.ts';
import { registerBodyParser } from './body-parsers.ts';

const MAX_BYTES = 65_536;

export interface FormBodiesOptions {
  readonly config: Pick<ServerConfig, 'bodyTimeoutMs'>;
}

/** Makes a context parse forms and nothing else. */
export const formBodies = fp<FormBodiesOptions>(
  async (app, { config }) => {
    registerBodyParser(app, {
      types: ['application/x-www-form-urlencoded'],
      maxBytes: MAX_BYTES,
      timeoutMs: config.bodyTimeoutMs,
      parse: (body) => new URLSearchParams(body.toString()),
    });
  },
  { name: 'form' },
);
