/** OpenAPI operations that need no credential. */
import {
  declareOperation,
  jsonBody,
  jsonResponse,
  NO_CONTENT_RESPONSE,
  QUERY_PARAMETER_ERRORS,
  VALIDATION_ERRORS,
} from '../../openapi/operation.ts';
import {
  CONFIRM_PASSWORD_RESET_BODY,
  JWKS,
  LOGIN_BODY,
  PASSWORD_RESET_BODY,
  REFRESH_BODY,
  REGISTER_BODY,
  SETUP_BODY,
  SETUP_RESULT,
  SIGN_IN_METHODS,
  VERIFY_EMAIL_BODY,
} from './request-schemas.ts';
import { SIGN_IN_RESULT_SHAPE, USER_INPUT_ERRORS } from './response-schemas.ts';

const tag = 'auth';

export const SIGN_IN_OPERATIONS = {
  register: declareOperation({
    id: 'registerUser',
    tag,
    summary: 'Sign up',
    body: jsonBody(REGISTER_BODY),
    responses: jsonResponse('The new user, signed in.', SIGN_IN_RESULT_SHAPE, 201),
    errors: [...VALIDATION_ERRORS, ...USER_INPUT_ERRORS, 'registration-closed'],
  }),
  login: declareOperation({
    id: 'login',
    tag,
    summary: 'Sign in',
    description:
      'If the user has a second factor, a request without `code` is rejected with `mfa-required` and a ticket.',
    body: jsonBody(LOGIN_BODY),
    responses: jsonResponse('Signed in.', SIGN_IN_RESULT_SHAPE),
    errors: [...VALIDATION_ERRORS, 'invalid-credentials', 'mfa-required'],
  }),
  refresh: declareOperation({
    id: 'refreshSession',
    tag,
    summary: 'Renew the tokens of a session',
    description: 'A refresh token works once; for 10 seconds it returns the same successor.',
    body: jsonBody(REFRESH_BODY),
    responses: jsonResponse('Fresh tokens, and the user as now stored.', SIGN_IN_RESULT_SHAPE),
    errors: VALIDATION_ERRORS,
  }),
  verify: declareOperation({
    id: 'verifyEmail',
    tag,
    summary: 'Verify an e-mail address',
    description:
      'With `password`, or with the access token of a session of the user, everything stays as it is. With `token` alone, ' +
      'or with `newPassword`, the address of a user who signed up is verified, and what was registered before ' +
      'ends: password, sessions, passkeys, second factor, providers. A user whose address was verified before cannot ' +
      'get another address that way.',
    body: jsonBody(VERIFY_EMAIL_BODY),
    responses: NO_CONTENT_RESPONSE,
    errors: [
      ...VALIDATION_ERRORS,
      'link-expired',
      'email-taken',
      'not-authenticated',
      'invalid-token',
      'invalid-credentials',
      'weak-password',
      'user-not-found',
    ],
  }),
  reset: declareOperation({
    id: 'requestPasswordReset',
    tag,
    summary: 'Request an e-mail with a link that sets a new password',
    body: jsonBody(PASSWORD_RESET_BODY),
    responses: { 202: { description: 'If there is such a user, an e-mail is on its way.' } },
    errors: VALIDATION_ERRORS,
  }),
  resetConfirm: declareOperation({
    id: 'resetPassword',
    tag,
    summary: 'Set a new password with the secret from the e-mail',
    body: jsonBody(CONFIRM_PASSWORD_RESET_BODY),
    responses: NO_CONTENT_RESPONSE,
    errors: [...VALIDATION_ERRORS, 'link-expired', 'weak-password', 'user-not-found'],
  }),
  setUp: declareOperation({
    id: 'createFirstAdmin',
    tag: 'admin',
    summary: 'Create the first administrator with a setup link',
    body: jsonBody(SETUP_BODY),
    responses: jsonResponse('The administrator, signed in.', SETUP_RESULT, 201),
    errors: [...VALIDATION_ERRORS, ...USER_INPUT_ERRORS, 'link-expired'],
  }),
  providers: declareOperation({
    id: 'listSignInProviders',
    tag,
    summary: 'List the ways to sign in',
    responses: jsonResponse('The configured ways.', SIGN_IN_METHODS),
    errors: QUERY_PARAMETER_ERRORS,
  }),
  publicKeys: declareOperation({
    id: 'getPublicKeys',
    tag,
    summary: 'The public keys of access tokens',
    responses: jsonResponse('A JSON Web Key Set.', JWKS),
    errors: QUERY_PARAMETER_ERRORS,
  }),
};
