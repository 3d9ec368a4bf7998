/**
 * Sets `request.principal` from the credential on the request, once, before anything of the request is parsed. A
 * credential that is present but bad is refused, never read as anonymous. Not here: what the principal may do.
 */
import type { FastifyRequest } from 'fastify';
import fp from 'fastify-plugin';
import type { Authenticator } from '../../auth/authenticator.ts';
import { ANONYMOUS, type ClientPrincipal } from '../../auth/identity/principal.ts';
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
        enter(request, known);
        done();
        return;
      }
      badCredentials
        .look(request.ip, () => authenticator.authenticate(authorization ?? ''))
        .then((principal) => {
          enter(request, principal);
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
      enter(request, ANONYMOUS);
      done();
    });
  },
  { name: 'authentication' },
);

/** Sets who asks; whose answer it gets may be changed later (looking-as.ts). */
export function enter(request: FastifyRequest, principal: ClientPrincipal): void {
  request.principal = principal;
  request.asker = principal;
  request.as = null;
}
