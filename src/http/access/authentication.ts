/**
 * Sets `request.principal` from the credential on the request, once, before anything of the request is parsed. A
 * credential that is present but bad is refused, never read as anonymous. Not here: what the principal may do.
 */
import fp from 'fastify-plugin';
import type { Authenticator } from '../../auth/authenticator.ts';
import { ANONYMOUS } from '../../auth/identity/principal.ts';
import type { BadCredentials } from './bad-credentials.ts';

export interface AuthenticationOptions {
  readonly authenticator: Pick<Authenticator, 'recall' | 'authenticate'>;
  readonly badCredentials: BadCredentials;
}

/** For contexts whose routes need to know the principal. */
export const authentication = fp<AuthenticationOptions>(
  async (app, { authenticator, badCredentials }) => {
    app.addHook('onRequest', (request, _reply, done) => {
      const { authorization } = request.headers;
      const known = authorization === undefined ? ANONYMOUS : authenticator.recall(authorization);
      if (known !== undefined) {
        request.principal = known;
        done();
        return;
      }
      badCredentials
        .look(request.ip, () => authenticator.authenticate(authorization ?? ''))
        .then((principal) => {
          request.principal = principal;
          done();
        }, done);
    });
  },
  { name: 'authentication' },
);

/** For contexts that look at no credential: every request is anonymous. */
export const strangers = fp(
  async (app) => {
    app.addHook('onRequest', (request, _reply, done) => {
      request.principal = ANONYMOUS;
      done();
    });
  },
  { name: 'authentication' },
);
