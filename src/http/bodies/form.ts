/**
 * Bodies of HTML forms, for the routes that a provider lets a browser post to. Each is read as `URLSearchParams`. Not
 * here: files (files/), JSON (json.ts).
 */
import fp from 'fastify-plugin';
import type { ServerConfig } from '../../kernel/config/config.ts';
import { readBodies } from './known-bodies.ts';

const MAX_BYTES = 65_536;

export interface FormOptions {
  readonly config: Pick<ServerConfig, 'bodyTimeoutMs'>;
}

/** Makes a context read forms and nothing else. */
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
