/** The operations that sign in by a letter as the contract describes them, with their bodies. Not here: the routes (link-routes.ts). */
import Type from 'typebox';
import { answer, CHECKED_ERRORS, jsonBody, operation } from '../../../contract/operation.ts';
import { SIGNED_IN_SHAPE } from '../account-contract.ts';
import { EMAIL, TOKEN } from '../schema.ts';

const tag = 'Sign-in';
const closed = { additionalProperties: false } as const;

export const ASK_LINK = Type.Object(
  {
    email: EMAIL,
    redirect: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 2_048,
        description:
          'The page that the link opens, with the secret after `#`: an address that is listed, with `codeChallenge`. ' +
          'By default the page `/signin` of this server.',
      }),
    ),
    codeChallenge: Type.Optional(
      Type.String({
        pattern: '^[A-Za-z0-9_-]{43}$',
        description:
          'SHA-256 of a verifier that the client keeps, in base64url (RFC 7636). It binds the link to the client; ' +
          'without it a cookie does.',
      }),
    ),
  },
  closed,
);

/** Digits as the letter shows them, or without the blank. */
const LETTER_CODE = Type.String({ minLength: 8, maxLength: 12, pattern: '^[0-9 -]+$', description: 'Eight digits.' });

export const ENTER_BY_CODE = Type.Object({ email: EMAIL, code: LETTER_CODE }, closed);

export const CONFIRM_LINK = Type.Union([
  Type.Object(
    {
      token: TOKEN,
      codeVerifier: Type.Optional(Type.String({ minLength: 43, maxLength: 128, pattern: '^[A-Za-z0-9._~-]+$' })),
    },
    closed,
  ),
  ENTER_BY_CODE,
]);

export const LINKS = {
  ask: operation({
    id: 'auth.link',
    tag,
    summary: 'Request a letter with a link and a code that sign in',
    description:
      'The answer is the same whether an account has the address. A newer letter makes the older one useless.',
    body: jsonBody(ASK_LINK),
    answers: { 202: { description: 'If there is such an account, a letter is on its way.' } },
    errors: [...CHECKED_ERRORS, 'redirect-not-allowed', 'sign-in-link-off', 'overloaded'],
  }),
  confirm: operation({
    id: 'auth.linkConfirm',
    tag,
    summary: 'Sign in with the secret or the code from a letter',
    description: 'The secret works in the browser that asked for it, the code wherever it is typed; each once.',
    body: jsonBody(CONFIRM_LINK),
    answers: answer('Signed in.', SIGNED_IN_SHAPE),
    errors: [...CHECKED_ERRORS, 'link-unusable', 'sign-in-failed', 'mfa-required', 'sign-in-link-off'],
  }),
};
