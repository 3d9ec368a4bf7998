/** Limits every HTTP request to its client's rate (auth/request-rate.ts). */
import fp from 'fastify-plugin';
import { clientLimitKey } from '../../auth/identity/principal.ts';
import type { RequestRateLimiter } from '../../auth/request-rate.ts';

export interface RateLimitOptions {
  readonly requestRate: RequestRateLimiter;
}

/** Register it after authentication. */
export const rateLimit = fp<RateLimitOptions>(
  async (app, { requestRate }) => {
    app.addHook('onRequest', (request, _reply, done) => {
      try {
        requestRate.takeRequest(request.asker, clientLimitKey(request.asker, request.ip));
      } catch (error) {
        done(error instanceof Error ? error : new Error(String(error)));
        return;
      }
      done();
    });
  },
  { name: 'rate-limit', dependencies: ['authentication'] },
);
