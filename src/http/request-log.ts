/**
 * One log line per request, written after its response has been sent. Queries and bodies are left out: they may contain
 * secrets. In development the line has the query, without its secrets, and the message of an error or a hint.
 */
import type { FastifyReply, FastifyRequest } from 'fastify';
import fp from 'fastify-plugin';
import type { Logger } from 'pino';
import type { ServerConfig } from '../config/config.ts';
import { queryString } from '../lib/request.ts';

/** Characters of a query in a line. */
const MAX_QUERY = 300;
/** Parameters that work as a credential. */
const SECRET = /(^|&)(ticket|signature)=[^&]*/g;
/**
 * Queries of these paths are left out: the parameters of a sign-in, such as a provider's code, work as a credential.
 */
const SIGN_IN = /^\/auth\//;

export interface RequestLogOptions {
  readonly config: Pick<ServerConfig, 'mode'>;
  readonly log: Pick<Logger, 'info' | 'isLevelEnabled'>;
}

/** Replaces Fastify's own two lines a request. */
export const requestLog = fp<RequestLogOptions>(
  async (app, { config, log }) => {
    const reported = config.mode === 'development' ? forDevelopers : () => ({});
    app.addHook('onResponse', (request, reply, done) => {
      // Building a line costs as much when it is not written.
      if (!log.isLevelEnabled('info')) {
        done();
        return;
      }
      log.info(
        {
          request: request.id,
          method: request.method,
          path: request.url.split('?', 1)[0],
          status: reply.statusCode,
          ms: Math.round(reply.elapsedTime * 10) / 10,
          ...reported(request, reply),
        },
        'request',
      );
      done();
    });
  },
  { name: 'request-log' },
);

function forDevelopers({ url, refusal }: FastifyRequest, reply: FastifyReply): object {
  const query = SIGN_IN.test(url) ? '' : queryString({ url }).replaceAll(SECRET, '$1$2=…');
  return {
    ...(query === '' ? {} : { query: query.slice(0, MAX_QUERY) }),
    ...(refusal === null
      ? { hint: reply.getHeader('millrace-hint') }
      : { code: refusal.code, detail: refusal.message, hint: refusal.hint }),
  };
}
