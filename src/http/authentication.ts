/**
 * Sets `request.principal` from the credential on the request, once, before anything of the request is parsed. A
 * credential that is present but bad is refused, never read as anonymous. Not here: what the principal may do.
 */
import fp from 'fastify-plugin';
import { ANONYMOUS } from '../auth/principal.ts';
import { MillraceError } from '../kernel/errors.ts';

/** For contexts whose routes ask for a Scope. */
export const authentication = fp(
  async (app) => {
    app.addHook('onRequest', (request, _reply, done) => {
      if (request.headers.authorization === undefined) {
        request.principal = ANONYMOUS;
        done();
        return;
      }
      // No credential can be valid yet: there are neither accounts nor keys.
      done(
        new MillraceError('invalid-credential', 'The credential is not valid', {
          headers: { 'www-authenticate': 'Bearer realm="millrace", error="invalid_token"' },
        }),
      );
    });
  },
  { name: 'authentication' },
);
