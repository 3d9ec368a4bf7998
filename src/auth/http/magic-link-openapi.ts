/** OpenAPI operations of magic links, with their request schemas. */
import Type from 'typebox';
import { CHECKED_ERRORS, jsonBody, operation, response } from '../../openapi/operation.ts';
import { EMAIL, TOKEN } from './request-schemas.ts';
import { SIGNED_IN_SHAPE } from './response-schemas.ts';

const tag = 'auth';
const closed = { additionalProperties: false } as const;

export const REQUEST_LINK = Type.Object(
  {
    email: EMAIL,
    redirect: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 2_048,
        description:
          'The page that the link opens, with the secret after `#`: a listed URL, with `codeChallenge`. ' +
          'By default the page `/signin` of this server.',
      }),
    ),
    codeChallenge: Type.Optional(
      Type.String({
        pattern: '^[A-Za-z0-9_-]{43}$',
        description:
          'SHA-256 of a verifier that the client stores, in base64url (RFC 7636). It binds the link to the client; ' +
          'without it a cookie does.',
      }),
    ),
  },
  closed,
);

/** Digits as the e-mail shows them, or without the space. */
const EMAIL_CODE = Type.String({ minLength: 8, maxLength: 12, pattern: '^[0-9 -]+$', description: 'Eight digits.' });

export const VERIFY_OTP = Type.Object({ email: EMAIL, code: EMAIL_CODE }, closed);

export const CONFIRM_LINK = Type.Union([
  Type.Object(
    {
      token: TOKEN,
      codeVerifier: Type.Optional(Type.String({ minLength: 43, maxLength: 128, pattern: '^[A-Za-z0-9._~-]+$' })),
    },
    closed,
  ),
  VERIFY_OTP,
]);

export const LINKS = {
  request: operation({
    id: 'sendMagicLink',
    tag,
    summary: 'Request an e-mail with a magic link and a code',
    description:
      'The response is the same whether or not a user has the e-mail address. A newer e-mail invalidates the older one.',
    body: jsonBody(REQUEST_LINK),
    responses: { 202: { description: 'If there is such a user, an e-mail is on its way.' } },
    errors: [...CHECKED_ERRORS, 'redirect-not-allowed', 'magic-link-disabled', 'overloaded'],
  }),
  confirm: operation({
    id: 'verifyMagicLink',
    tag,
    summary: 'Sign in with the secret or the code from an e-mail',
    description: 'The secret works in the browser that requested it, the code in any; each once.',
    body: jsonBody(CONFIRM_LINK),
    responses: response('Signed in.', SIGNED_IN_SHAPE),
    errors: [...CHECKED_ERRORS, 'link-expired', 'invalid-credentials', 'mfa-required', 'magic-link-disabled'],
  }),
};
