/** Operations that need no credential, as the contract describes them. Not here: the routes (sign-in-routes.ts). */
import { ASKED_ERRORS, answer, CHECKED_ERRORS, DONE, jsonBody, operation } from '../../contract/operation.ts';
import { NAMING_ERRORS, SIGNED_IN_SHAPE } from './account-contract.ts';
import { JWKS, LOGIN, PROVIDERS, REFRESH, REGISTER, RESET, RESET_CONFIRM, SET_UP, SETUP, VERIFY } from './schema.ts';

const tag = 'Sign-in';

export const SIGN_IN = {
  register: operation({
    id: 'auth.register',
    tag,
    summary: 'Make an account',
    body: jsonBody(REGISTER),
    answers: answer('The account, made and signed in.', SIGNED_IN_SHAPE, 201),
    errors: [...CHECKED_ERRORS, ...NAMING_ERRORS, 'registration-closed'],
  }),
  login: operation({
    id: 'auth.login',
    tag,
    summary: 'Sign in',
    description:
      'If the account has a second factor, a request without `code` is refused with `mfa-required` and a ticket.',
    body: jsonBody(LOGIN),
    answers: answer('Signed in.', SIGNED_IN_SHAPE),
    errors: [...CHECKED_ERRORS, 'sign-in-failed', 'mfa-required'],
  }),
  refresh: operation({
    id: 'auth.refresh',
    tag,
    summary: 'Renew the tokens of a session',
    description: 'A refresh token works once; for 10 seconds it answers with the same successor.',
    body: jsonBody(REFRESH),
    answers: answer('Fresh tokens, and the user as now stored.', SIGNED_IN_SHAPE),
    errors: CHECKED_ERRORS,
  }),
  verify: operation({
    id: 'auth.verify',
    tag,
    summary: 'Confirm an e-mail address',
    description:
      'With `password`, or with the access token of a session of the account, everything stays as it is. With `token` alone, ' +
      'or with `newPassword`, the address of an account that registered itself is confirmed, and what was registered before ' +
      'ends: password, sessions, passkeys, second factor, providers. An account whose address was confirmed before does not ' +
      'get another address that way.',
    body: jsonBody(VERIFY),
    answers: DONE,
    errors: [
      ...CHECKED_ERRORS,
      'link-unusable',
      'unique-violation',
      'not-authenticated',
      'invalid-credential',
      'sign-in-failed',
      'password-refused',
      'document-not-found',
    ],
  }),
  reset: operation({
    id: 'auth.reset',
    tag,
    summary: 'Request a letter with a link that sets a new password',
    body: jsonBody(RESET),
    answers: { 202: { description: 'If there is such an account, a letter is on its way.' } },
    errors: CHECKED_ERRORS,
  }),
  resetConfirm: operation({
    id: 'auth.resetConfirm',
    tag,
    summary: 'Set a new password with the secret from the letter',
    body: jsonBody(RESET_CONFIRM),
    answers: DONE,
    errors: [...CHECKED_ERRORS, 'link-unusable', 'password-refused', 'document-not-found'],
  }),
  setUp: operation({
    id: 'setup',
    tag,
    summary: 'Become the first owner by a set-up link',
    body: jsonBody(SETUP),
    answers: answer('The owner, signed in.', SET_UP, 201),
    errors: [...CHECKED_ERRORS, ...NAMING_ERRORS, 'link-unusable'],
  }),
  providers: operation({
    id: 'auth.providers',
    tag,
    summary: 'List the ways to sign in',
    answers: answer('The configured ways.', PROVIDERS),
    errors: ASKED_ERRORS,
  }),
  publicKeys: operation({
    id: 'auth.publicKeys',
    tag,
    summary: 'The public keys of access tokens',
    answers: answer('A JSON Web Key Set.', JWKS),
    errors: ASKED_ERRORS,
  }),
};
