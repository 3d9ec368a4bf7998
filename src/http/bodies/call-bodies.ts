/** Bodies of function calls: JSON, texts and forms, each as the received bytes. */
import fp from 'fastify-plugin';
import type { ServerConfig } from '../../config/config.ts';
import { readBodies } from './body-parsers.ts';

export interface CallBodiesOptions {
  readonly config: Pick<ServerConfig, 'bodyTimeoutMs'>;
  /** The largest body, in bytes. */
  readonly maxBytes: number;
}

/** Makes a context parse these bodies and nothing else. */
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
