/** The session of the dashboard, as the contract describes it. */
import Type from 'typebox';
import { VERIFY_OTP_BODY } from '../auth/http/magic-link-routes.ts';
import { PASSKEY_LOGIN_BODY } from '../auth/http/passkey-routes.ts';
import {
  CODE_EXCHANGE_BODY,
  FACTOR_LOGIN_BODY,
  LOGIN_BODY,
  TOKEN_STRING_SCHEMA,
} from '../auth/http/request-schemas.ts';
import {
  declareOperation,
  jsonBody,
  jsonResponse,
  NO_CONTENT_RESPONSE,
  QUERY_PARAMETER_ERRORS,
  VALIDATION_ERRORS,
} from '../openapi/operation.ts';

const tag = 'admin';

/** By the link of a letter, with the secret that stood after `#`. */
const LINK_LOGIN = Type.Object({ linkToken: TOKEN_STRING_SCHEMA }, { additionalProperties: false });

/**
 * By a password, by a passkey, by the code with which a sign-in at a provider ended, by the link or the code of a letter, or by
 * the second factor after one of these.
 */
export const CREATE_SESSION_BODY = Type.Union([
  LOGIN_BODY,
  PASSKEY_LOGIN_BODY,
  CODE_EXCHANGE_BODY,
  LINK_LOGIN,
  VERIFY_OTP_BODY,
  FACTOR_LOGIN_BODY,
]);

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

export const DASHBOARD_SESSION_OPERATIONS = {
  get: declareOperation({
    id: 'getDashboardSession',
    tag,
    summary: 'What the dashboard shows first',
    responses: jsonResponse('How a person can go on.', STATE),
    errors: QUERY_PARAMETER_ERRORS,
  }),
  open: declareOperation({
    id: 'createDashboardSession',
    tag,
    summary: 'Sign in to the dashboard, by a cookie',
    description: 'Only pages of this server may ask. The cookie holds the refresh token; no other route reads it.',
    body: jsonBody(CREATE_SESSION_BODY),
    responses: jsonResponse('Signed in.', ACCESS),
    errors: [
      ...VALIDATION_ERRORS,
      'invalid-credentials',
      'mfa-required',
      'invalid-token',
      'link-expired',
      'magic-link-disabled',
      'forbidden',
    ],
  }),
  renew: declareOperation({
    id: 'renewDashboardSession',
    tag,
    summary: 'Renew the tokens of the session in the cookie',
    responses: jsonResponse('A fresh access token.', ACCESS),
    errors: [...QUERY_PARAMETER_ERRORS, 'invalid-token', 'forbidden'],
  }),
  end: declareOperation({
    id: 'deleteDashboardSession',
    tag,
    summary: 'End the session in the cookie',
    responses: NO_CONTENT_RESPONSE,
    errors: [...QUERY_PARAMETER_ERRORS, 'forbidden'],
  }),
};
