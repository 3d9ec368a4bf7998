/**
 * Sets `request.principal` from the credential on the request, once, before anything of the request is parsed. A
 * credential that is present but bad is refused, never read as anonymous. Not here: what the principal may do.
 */
import type { FastifyRequest } from 'fastify';
import fp from 'fastify-plugin';
import type { Authenticator } from '../../auth/authenticator.ts';
import { ANONYMOUS, type ClientPrincipal } from '../../auth/identity/principal.ts';
import { MillraceError } from '../../kernel/errors.ts';
import type { BadCredentials } from './bad-credentials.ts';

export interface AuthenticationOptions {
  readonly authenticator: Pick<Authenticator, 'recall' | 'authenticate'>;
  readonly badCredentials: BadCredentials;
  /** Whether the header is for what answers the request, and not for this server: then the request is anonymous. */
  readonly isForeign?: (request: FastifyRequest) => boolean;
}

/** For contexts whose routes need to know the principal. */
export const authentication = fp<AuthenticationOptions>(
  async (app, { authenticator, badCredentials, isForeign }) => {
    app.addHook('onRequest', (request, _reply, done) => {
      const { authorization } = request.headers;
      if (authorization !== undefined && isForeign?.(request)) {
        withoutOwn(request, authorization, authenticator).then(() => {
          enter(request, ANONYMOUS);
          done();
        }, done);
        return;
      }
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

/** Takes a credential of this server out of a request whose header is for code: it must not get into other hands. */
async function withoutOwn(
  { headers }: FastifyRequest,
  authorization: string,
  authenticator: Pick<Authenticator, 'authenticate'>,
): Promise<void> {
  try {
    await authenticator.authenticate(authorization);
    delete headers.authorization;
  } catch (error) {
    if (!(error instanceof MillraceError) || error.code !== 'invalid-credential') throw error;
  }
}

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
