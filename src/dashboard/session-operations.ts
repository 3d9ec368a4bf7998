/** The session of the dashboard, as the contract describes it. */
import Type from 'typebox';
import { VERIFY_OTP } from '../auth/http/magic-link-openapi.ts';
import { PASSKEY_LOGIN } from '../auth/http/passkey-openapi.ts';
import { EXCHANGE, FACTOR_LOGIN, LOGIN, TOKEN } from '../auth/http/request-schemas.ts';
import { CHECKED_ERRORS, DONE, jsonBody, operation, REQUEST_ERRORS, response } from '../openapi/operation.ts';

const tag = 'admin';

/** By the link of a letter, with the secret that stood after `#`. */
const LINK_LOGIN = Type.Object({ linkToken: TOKEN }, { additionalProperties: false });

/**
 * By a password, by a passkey, by the code with which a sign-in at a provider ended, by the link or the code of a letter, or by
 * the second factor after one of these.
 */
export const OPEN_SESSION = Type.Union([LOGIN, PASSKEY_LOGIN, EXCHANGE, LINK_LOGIN, VERIFY_OTP, FACTOR_LOGIN]);

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
  needsAdmin: Type.Boolean({ description: 'Whether the setup link has to be used first.' }),
  mode: Type.Unsafe<'development' | 'production'>({ type: 'string', enum: ['development', 'production'] }),
  version: Type.String(),
});

export const DASHBOARD_SESSION = {
  look: operation({
    id: 'getDashboardSession',
    tag,
    summary: 'What the dashboard shows first',
    responses: response('How a person can go on.', STATE),
    errors: REQUEST_ERRORS,
  }),
  open: operation({
    id: 'createDashboardSession',
    tag,
    summary: 'Sign in to the dashboard, by a cookie',
    description: 'Only pages of this server may ask. The cookie holds the refresh token; no other route reads it.',
    body: jsonBody(OPEN_SESSION),
    responses: response('Signed in.', ACCESS),
    errors: [
      ...CHECKED_ERRORS,
      'invalid-credentials',
      'mfa-required',
      'invalid-token',
      'link-expired',
      'magic-link-disabled',
      'forbidden',
    ],
  }),
  renew: operation({
    id: 'renewDashboardSession',
    tag,
    summary: 'Renew the tokens of the session in the cookie',
    responses: response('A fresh access token.', ACCESS),
    errors: [...REQUEST_ERRORS, 'invalid-token', 'forbidden'],
  }),
  end: operation({
    id: 'deleteDashboardSession',
    tag,
    summary: 'End the session in the cookie',
    responses: DONE,
    errors: [...REQUEST_ERRORS, 'forbidden'],
  }),
};
