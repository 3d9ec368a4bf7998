/**
 * Lets an owner without a second factor only set one up, where the installation wants one of every owner
 * (`MILLRACE_OWNER_MFA`). Such an owner has no role (auth/authenticator.ts), so that also what does not pass here is refused.
 * Not here: setting it up (auth/http/factors).
 */
import fp from 'fastify-plugin';
import { MillraceError } from '../../kernel/errors.ts';

/** What an owner needs to set one up, and to leave. */
const OPEN: ReadonlySet<string> = new Set([
  'GET /auth/me',
  'GET /auth/mfa',
  'POST /auth/mfa/totp',
  'POST /auth/mfa/totp/confirm',
  'POST /auth/fresh',
  'POST /auth/logout',
]);

/** Register it after authentication. */
export const ownerFactor = fp(
  async (app) => {
    app.addHook('onRequest', (request, _reply, done) => {
      const { principal, method, routeOptions } = request;
      const lacks = principal.kind === 'owner' && principal.lacksFactor === true;
      if (!lacks || OPEN.has(`${method} ${routeOptions.url}`)) done();
      else {
        const words = 'Owners of this installation need a second factor, and this account has none';
        const hint = 'Set it up: POST /auth/mfa/totp, then POST /auth/mfa/totp/confirm with a code of the app';
        done(new MillraceError('factor-required', words, { hint }));
      }
    });
  },
  { name: 'owner-factor', dependencies: ['authentication'] },
);
