/**
 * Bodies of calls of functions: JSON, texts and forms, each read as the bytes that arrived. Not here: what they mean
 * (functions/http/call-input.ts).
 */
import fp from 'fastify-plugin';
import type { ServerConfig } from '../../kernel/config/config.ts';
import { readBodies } from './known-bodies.ts';

export interface CallBodiesOptions {
  readonly config: Pick<ServerConfig, 'bodyTimeoutMs'>;
  /** The largest body, in bytes. */
  readonly maxBytes: number;
}

/** Makes a context read these bodies and nothing else. */
export const callBodies = fp<CallBodiesOptions>(
  async (app, { config, maxBytes }) => {
    readBodies(app, {
      types: ['application/json', 'application/x-www-form-urlencoded', /^application\/[\w.!#$&^-]+\+json/, /^text\//],
      maxBytes,
      timeoutMs: config.bodyTimeoutMs,
      parse: (body) => (body.length === 0 ? undefined : body),
    });
  },
  { name: 'call-bodies' },
);
