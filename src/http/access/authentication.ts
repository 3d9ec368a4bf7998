/**
 * Sets `request.principal` from the credential of the request, once, before anything of the request is parsed. An
 * invalid credential is rejected, never treated as anonymous.
 */

import type { FastifyRequest } from 'fastify';
import fp from 'fastify-plugin';
import type { Authenticator } from '../../auth/authenticator.ts';
import { ANONYMOUS, type RequestPrincipal } from '../../auth/identity/principal.ts';
import { MillraceError } from '../../lib/errors.ts';
import type { BadCredentialThrottle } from './rate-limit.ts';

export interface AuthenticationOptions {
  readonly authenticator: Pick<Authenticator, 'getCached' | 'authenticate'>;
  readonly badCredentials: BadCredentialThrottle;
  /**
   * Whether the header is for the code that handles the request, and not for this server: then the request is
   * anonymous.
   */
  readonly isForeign?: (request: FastifyRequest) => boolean;
}

/** For contexts whose routes need the principal. */
export const authentication = fp<AuthenticationOptions>(
  async (app, { authenticator, badCredentials, isForeign }) => {
    app.addHook('onRequest', (request, _reply, done) => {
      const { authorization } = request.headers;
      if (authorization !== undefined && isForeign?.(request)) {
        withoutOwn(request, authorization, authenticator).then(() => {
          setPrincipal(request, ANONYMOUS);
          done();
        }, done);
        return;
      }
      const known = authorization === undefined ? ANONYMOUS : authenticator.getCached(authorization);
      if (known !== undefined) {
        setPrincipal(request, known);
        done();
        return;
      }
      badCredentials
        .verifyThrottled(request.ip, () => authenticator.authenticate(authorization ?? ''))
        .then((principal) => {
          setPrincipal(request, principal);
          done();
        }, done);
    });
  },
  { name: 'authentication' },
);

/** Removes a credential of this server from a request whose header is for code, which must not receive it. */
async function withoutOwn(
  { headers }: FastifyRequest,
  authorization: string,
  authenticator: Pick<Authenticator, 'authenticate'>,
): Promise<void> {
  try {
    await authenticator.authenticate(authorization);
    delete headers.authorization;
  } catch (error) {
    if (!(error instanceof MillraceError) || error.code !== 'invalid-token') throw error;
  }
}

/** For contexts without credentials: every request is anonymous. */
export const skipAuthentication = fp(
  async (app) => {
    app.addHook('onRequest', (request, _reply, done) => {
      setPrincipal(request, ANONYMOUS);
      done();
    });
  },
  { name: 'authentication' },
);

/** Sets the authenticated principal; impersonation may replace it later (impersonation.ts). */
export function setPrincipal(request: FastifyRequest, principal: RequestPrincipal): void {
  request.principal = principal;
  request.asker = principal;
  request.as = null;
}

const SAFE_METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS']);

/**
 * Rejects read-only API keys on every route that could change something, whatever the route itself requires of the
 * policies. Register it after authentication.
 */
export const readOnlyKeyGuard = fp(
  async (app) => {
    app.addHook('onRequest', (request, _reply, done) => {
      const { principal, method, routeOptions } = request;
      const only = principal.kind === 'key' && principal.actions !== null && principal.actions.every(isReading);
      if (!only || SAFE_METHODS.has(method) || routeOptions.config?.reads === true) done();
      else done(new MillraceError('forbidden', 'This key can only read'));
    });
  },
  { name: 'read-only-keys', dependencies: ['authentication'] },
);

const isReading = (action: string): boolean => action === 'read' || action === 'subscribe';

const PRIVATE_HEADERS = Object.freeze({
  'cache-control': 'private, no-cache',
  vary: 'Authorization, Accept, Origin, Millrace-As',
});

/**
 * For contexts whose responses depend on the policies of the reader: no shared cache stores them, and each use is
 * revalidated.
 */
export const cacheHeaders = fp(
  async (app) => {
    app.addHook('onRequest', (_request, reply, done) => {
      reply.headers(PRIVATE_HEADERS);
      done();
    });
  },
  { name: 'own-answers' },
);
