/** The session of the dashboard, as the contract describes it. Not here: the routes (session-routes.ts). */
import Type from 'typebox';
import { PASSKEY_LOGIN } from '../auth/http/factors/passkey-operations.ts';
import { ENTER_BY_CODE } from '../auth/http/links/link-operations.ts';
import { EXCHANGE, FACTOR_LOGIN, LOGIN, TOKEN } from '../auth/http/schema.ts';
import { ASKED_ERRORS, answer, CHECKED_ERRORS, DONE, jsonBody, operation } from '../contract/operation.ts';

const tag = 'Sign-in';

/** By the link of a letter, with the secret that stood after `#`. */
const LINK_LOGIN = Type.Object({ linkToken: TOKEN }, { additionalProperties: false });

/**
 * By a password, by a passkey, by the code with which a sign-in at a provider ended, by the link or the code of a letter, or by
 * the second factor after one of these.
 */
export const OPEN_SESSION = Type.Union([LOGIN, PASSKEY_LOGIN, EXCHANGE, LINK_LOGIN, ENTER_BY_CODE, FACTOR_LOGIN]);

const ACCESS = Type.Object(
  {
    accessToken: Type.String({ description: 'For `Authorization: Bearer`.' }),
    expiresIn: Type.Integer({ description: 'Seconds.' }),
  },
  { description: 'What the page keeps in memory; the refresh token is in the cookie.' },
);

const STATE = Type.Object({
  signedIn: Type.Boolean({ description: 'Whether the browser sent a cookie of a session, which may have ended.' }),
  open: Type.Boolean({ description: 'Whether the pages can be used without an account, as development mode begins.' }),
  needsOwner: Type.Boolean({ description: 'Whether the set-up link has to be used first.' }),
  mode: Type.Unsafe<'development' | 'production'>({ type: 'string', enum: ['development', 'production'] }),
  version: Type.String(),
});

export const DASHBOARD_SESSION = {
  look: operation({
    id: 'dashboard.session',
    tag,
    summary: 'What the dashboard shows first',
    answers: answer('How a person can go on.', STATE),
    errors: ASKED_ERRORS,
  }),
  open: operation({
    id: 'dashboard.signIn',
    tag,
    summary: 'Sign in to the dashboard, by a cookie',
    description: 'Only pages of this server may ask. The cookie holds the refresh token; no other route reads it.',
    body: jsonBody(OPEN_SESSION),
    answers: answer('Signed in.', ACCESS),
    errors: [
      ...CHECKED_ERRORS,
      'sign-in-failed',
      'mfa-required',
      'invalid-credential',
      'link-unusable',
      'sign-in-link-off',
      'forbidden',
    ],
  }),
  renew: operation({
    id: 'dashboard.renew',
    tag,
    summary: 'Renew the tokens of the session in the cookie',
    answers: answer('A fresh access token.', ACCESS),
    errors: [...ASKED_ERRORS, 'invalid-credential', 'forbidden'],
  }),
  end: operation({
    id: 'dashboard.signOut',
    tag,
    summary: 'End the session in the cookie',
    answers: DONE,
    errors: [...ASKED_ERRORS, 'forbidden'],
  }),
};
