/**
 * Restricts an administrator without a second factor to enrolling one, where the instance requires one of every
 * administrator (`MILLRACE_ADMIN_MFA`). Such an administrator has no role (auth/authenticator.ts), so that anything
 * that passes here is rejected, too.
 */
import fp from 'fastify-plugin';
import { MillraceError } from '../../lib/errors.ts';

/** Routes that an administrator needs to enroll one, and to sign out. */
const OPEN: ReadonlySet<string> = new Set([
  'GET /auth/me',
  'GET /auth/mfa',
  'POST /auth/mfa/totp',
  'POST /auth/mfa/totp/confirm',
  'POST /auth/reauthenticate',
  'POST /auth/logout',
]);

/** Register it after authentication. */
export const requireAdminMfa = fp(
  async (app) => {
    app.addHook('onRequest', (request, _reply, done) => {
      const { principal, method, routeOptions } = request;
      const lacks = principal.kind === 'admin' && principal.needsMfaEnrollment === true;
      if (!lacks || OPEN.has(`${method} ${routeOptions.url}`)) done();
      else {
        const words = 'Administrators of this instance need a second factor, and this one has none';
        const hint = 'Set it up: POST /auth/mfa/totp, then POST /auth/mfa/totp/confirm with a code of the app';
        done(new MillraceError('mfa-enrollment-required', words, { hint }));
      }
    });
  },
  { name: 'admin-mfa', dependencies: ['authentication'] },
);
