/** OpenAPI operations of magic links, with their request schemas. */
import Type from 'typebox';
import { declareOperation, jsonBody, jsonResponse, VALIDATION_ERRORS } from '../../openapi/operation.ts';
import { EMAIL_SCHEMA, TOKEN_SCHEMA } from './request-schemas.ts';
import { SIGN_IN_RESULT_SHAPE } from './response-schemas.ts';

const tag = 'auth';
const closed = { additionalProperties: false } as const;

export const MAGIC_LINK_REQUEST_BODY = Type.Object(
  {
    email: EMAIL_SCHEMA,
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

export const VERIFY_OTP_BODY = Type.Object({ email: EMAIL_SCHEMA, code: EMAIL_CODE }, closed);

export const CONFIRM_MAGIC_LINK_BODY = Type.Union([
  Type.Object(
    {
      token: TOKEN_SCHEMA,
      codeVerifier: Type.Optional(Type.String({ minLength: 43, maxLength: 128, pattern: '^[A-Za-z0-9._~-]+$' })),
    },
    closed,
  ),
  VERIFY_OTP_BODY,
]);

export const MAGIC_LINK_OPERATIONS = {
  request: declareOperation({
    id: 'sendMagicLink',
    tag,
    summary: 'Request an e-mail with a magic link and a code',
    description:
      'The response is the same whether or not a user has the e-mail address. A newer e-mail invalidates the older one.',
    body: jsonBody(MAGIC_LINK_REQUEST_BODY),
    responses: { 202: { description: 'If there is such a user, an e-mail is on its way.' } },
    errors: [...VALIDATION_ERRORS, 'redirect-not-allowed', 'magic-link-disabled', 'overloaded'],
  }),
  confirm: declareOperation({
    id: 'verifyMagicLink',
    tag,
    summary: 'Sign in with the secret or the code from an e-mail',
    description: 'The secret works in the browser that requested it, the code in any; each once.',
    body: jsonBody(CONFIRM_MAGIC_LINK_BODY),
    responses: jsonResponse('Signed in.', SIGN_IN_RESULT_SHAPE),
    errors: [...VALIDATION_ERRORS, 'link-expired', 'invalid-credentials', 'mfa-required', 'magic-link-disabled'],
  }),
};
