/** Bodies of function calls: JSON, texts and forms, each as the received bytes. */
import fp from 'fastify-plugin';
import type { ServerConfig } from '../../config/config.ts';
import { registerBodyParser } from './body-parsers.ts';

export interface FunctionCallBodiesOptions {
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
