/**
 * Sets `request.principal` from the credential on the request, once, before anything of the request is parsed. A
 * credential that is present but bad is refused, never read as anonymous. Not here: what the principal may do.
 */
import type { FastifyRequest } from 'fastify';
import fp from 'fastify-plugin';
import { isReadOnly } from '../auth/api-key.ts';
import type { Authenticator } from '../auth/authenticator.ts';
import { ANONYMOUS, type Principal } from '../auth/principal.ts';
import { MillraceError } from '../kernel/errors.ts';

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
          found.then((principal) => enter(request, principal)).then(() => done(), done);
          return;
        }
        enter(request, found);
      } catch (error) {
        done(error instanceof Error ? error : new Error('Authentication failed', { cause: error }));
        return;
      }
      done();
    });
  },
  { name: 'authentication' },
);

const SAFE: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS']);

/** A key that may only read reaches no route that could do anything else, whatever that route asks of policies. */
function enter(request: FastifyRequest, principal: Principal): void {
  request.principal = principal;
  if (principal.kind !== 'key' || SAFE.has(request.method) || request.routeOptions.config.reads) return;
  if (isReadOnly(principal)) throw new MillraceError('forbidden', 'This key may only read');
}

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
