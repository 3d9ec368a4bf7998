/**
 * Bodies of HTML forms, for the routes to which a provider lets a browser post. Each is parsed as `URLSearchParams`.
 */
import fp from 'fastify-plugin';
import type { ServerConfig } from '../../config/config.ts';
import { readBodies } from './body-parsers.ts';

const MAX_BYTES = 65_536;

export interface FormOptions {
  readonly config: Pick<ServerConfig, 'bodyTimeoutMs'>;
}

/** Makes a context parse forms and nothing else. */
export const form = fp<FormOptions>(
  async (app, { config }) => {
    readBodies(app, {
      types: ['application/x-www-form-urlencoded'],
      maxBytes: MAX_BYTES,
      timeoutMs: config.bodyTimeoutMs,
      parse: (body) => new URLSearchParams(body.toString()),
    });
  },
  { name: 'form' },
);
