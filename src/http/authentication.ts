/**
 * Sets `request.principal` from the credential on the request, once, before anything of the request is parsed. A
 * credential that is present but bad is refused, never read as anonymous. Not here: what the principal may do.
 */
import fp from 'fastify-plugin';
import type { Authenticator } from '../auth/authenticator.ts';
import { ANONYMOUS } from '../auth/principal.ts';

export interface AuthenticationOptions {
  readonly authenticator: Pick<Authenticator, 'authenticate'>;
}

/** For contexts whose routes ask who it is. */
export const authentication = fp<AuthenticationOptions>(
  async (app, { authenticator }) => {
    app.addHook('onRequest', (request, _reply, done) => {
      const { authorization } = request.headers;
      if (authorization === undefined) {
        request.principal = ANONYMOUS;
        done();
        return;
      }
      try {
        const found = authenticator.authenticate(authorization);
        if (found instanceof Promise) {
          found.then((principal) => {
            request.principal = principal;
            done();
          }, done);
          return;
        }
        request.principal = found;
      } catch (error) {
        done(error instanceof Error ? error : new Error('Authentication failed', { cause: error }));
        return;
      }
      done();
    });
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
