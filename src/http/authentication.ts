/**
 * Sets `request.principal` from the credential on the request, once, before anything of the request is parsed. A
 * credential that is present but bad is refused, never read as anonymous. Not here: what the principal may do.
 */
import fp from 'fastify-plugin';
import type { Authenticator } from '../auth/authenticator.ts';
import { ANONYMOUS, type Principal } from '../auth/principal.ts';
import type { ServerConfig } from '../kernel/config.ts';
import { MillraceError } from '../kernel/errors.ts';
import { RateLimiter, tooManyRequests } from './rate-limit.ts';

export interface AuthenticationOptions {
  readonly authenticator: Pick<Authenticator, 'recall' | 'authenticate'>;
  readonly config: Pick<ServerConfig, 'rate'>;
}

/** For contexts whose routes ask who it is. */
export const authentication = fp<AuthenticationOptions>(
  async (app, { authenticator, config }) => {
    const { anonymous } = config.rate;
    // Bad credentials of an address; the limits of good ones and of strangers come behind (rate-limit.ts).
    const failures = anonymous === null ? null : new RateLimiter(anonymous);
    app.addHook('onRequest', (request, _reply, done) => {
      const { authorization } = request.headers;
      const known = authorization === undefined ? ANONYMOUS : authenticator.recall(authorization);
      if (known !== undefined) {
        request.principal = known;
        done();
        return;
      }
      const waitSeconds = failures?.left(request.ip, performance.now()) ?? 0;
      if (waitSeconds > 0) {
        done(tooManyRequests(waitSeconds));
        return;
      }
      verify(authorization ?? '').then(
        (principal) => {
          request.principal = principal;
          done();
        },
        (error) => {
          if (error instanceof MillraceError && error.code === 'invalid-credential') {
            failures?.take(request.ip, performance.now());
          }
          done(error);
        },
      );
    });

    async function verify(authorization: string): Promise<Principal> {
      return authenticator.authenticate(authorization);
    }
  },
  { name: 'authentication' },
);

/** For contexts that look at no credential: whoever asks is a stranger. */
export const strangers = fp(
  async (app) => {
    app.addHook('onRequest', (request, _reply, done) => {
      request.principal = ANONYMOUS;
      done();
    });
  },
  { name: 'authentication' },
);
