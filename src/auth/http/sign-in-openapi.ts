/** OpenAPI operations that need no credential. */
import { CHECKED_ERRORS, DONE, jsonBody, operation, REQUEST_ERRORS, response } from '../../openapi/operation.ts';
import {
  JWKS,
  LOGIN,
  PROVIDERS,
  REFRESH,
  REGISTER,
  RESET,
  RESET_CONFIRM,
  SET_UP,
  SETUP,
  VERIFY,
} from './request-schemas.ts';
import { NAMING_ERRORS, SIGNED_IN_SHAPE } from './response-schemas.ts';

const tag = 'auth';

export const SIGN_IN = {
  register: operation({
    id: 'registerUser',
    tag,
    summary: 'Sign up',
    body: jsonBody(REGISTER),
    responses: response('The new user, signed in.', SIGNED_IN_SHAPE, 201),
    errors: [...CHECKED_ERRORS, ...NAMING_ERRORS, 'registration-closed'],
  }),
  login: operation({
    id: 'login',
    tag,
    summary: 'Sign in',
    description:
      'If the user has a second factor, a request without `code` is rejected with `mfa-required` and a ticket.',
    body: jsonBody(LOGIN),
    responses: response('Signed in.', SIGNED_IN_SHAPE),
    errors: [...CHECKED_ERRORS, 'invalid-credentials', 'mfa-required'],
  }),
  refresh: operation({
    id: 'refreshSession',
    tag,
    summary: 'Renew the tokens of a session',
    description: 'A refresh token works once; for 10 seconds it returns the same successor.',
    body: jsonBody(REFRESH),
    responses: response('Fresh tokens, and the user as now stored.', SIGNED_IN_SHAPE),
    errors: CHECKED_ERRORS,
  }),
  verify: operation({
    id: 'verifyEmail',
    tag,
    summary: 'Verify an e-mail address',
    description:
      'With `password`, or with the access token of a session of the user, everything stays as it is. With `token` alone, ' +
      'or with `newPassword`, the address of a user who signed up is verified, and what was registered before ' +
      'ends: password, sessions, passkeys, second factor, providers. A user whose address was verified before cannot ' +
      'get another address that way.',
    body: jsonBody(VERIFY),
    responses: DONE,
    errors: [
      ...CHECKED_ERRORS,
      'link-expired',
      'email-taken',
      'not-authenticated',
      'invalid-token',
      'invalid-credentials',
      'weak-password',
      'user-not-found',
    ],
  }),
  reset: operation({
    id: 'requestPasswordReset',
    tag,
    summary: 'Request an e-mail with a link that sets a new password',
    body: jsonBody(RESET),
    responses: { 202: { description: 'If there is such a user, an e-mail is on its way.' } },
    errors: CHECKED_ERRORS,
  }),
  resetConfirm: operation({
    id: 'resetPassword',
    tag,
    summary: 'Set a new password with the secret from the e-mail',
    body: jsonBody(RESET_CONFIRM),
    responses: DONE,
    errors: [...CHECKED_ERRORS, 'link-expired', 'weak-password', 'user-not-found'],
  }),
  setUp: operation({
    id: 'createFirstAdmin',
    tag: 'admin',
    summary: 'Create the first administrator with a setup link',
    body: jsonBody(SETUP),
    responses: response('The administrator, signed in.', SET_UP, 201),
    errors: [...CHECKED_ERRORS, ...NAMING_ERRORS, 'link-expired'],
  }),
  providers: operation({
    id: 'listSignInProviders',
    tag,
    summary: 'List the ways to sign in',
    responses: response('The configured ways.', PROVIDERS),
    errors: REQUEST_ERRORS,
  }),
  publicKeys: operation({
    id: 'getPublicKeys',
    tag,
    summary: 'The public keys of access tokens',
    responses: response('A JSON Web Key Set.', JWKS),
    errors: REQUEST_ERRORS,
  }),
};
