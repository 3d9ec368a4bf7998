/**
 * The operations on second factors as the contract describes them, with their bodies. Not here: the routes
 * (factor-routes.ts, factor-login-routes.ts).
 */
import Type from 'typebox';
import { ASKED_ERRORS, answer, CHECKED_ERRORS, DONE, jsonBody, operation } from '../../../contract/operation.ts';
import { shape } from '../../../contract/schema.ts';
import { SIGNED_IN_SHAPE } from '../account-contract.ts';
import { FACTOR_CODE, FACTOR_LOGIN } from '../schema.ts';

const tag = 'Sign-in';

export const CONFIRM_FACTOR = Type.Object({ code: FACTOR_CODE }, { additionalProperties: false });

const BEGUN = Type.Object(
  {
    uri: Type.String({ description: 'For an authenticator app: `otpauth://totp/…`.' }),
    secret: Type.String({ description: 'The secret in it, as base32, for typing.' }),
    qr: Type.String({ description: 'The address as a QR code, SVG.' }),
  },
  { description: 'A second factor that waits for its confirmation.' },
);

const RECOVERY_CODES = Type.Object(
  { recoveryCodes: Type.Array(Type.String()) },
  { description: 'Shown this once. Each works once, in the place of a code of the authenticator.' },
);

/** What an account has, for its holder and for owners. */
export const FACTOR_SHAPE = shape(
  'SecondFactor',
  Type.Object(
    {
      since: Type.Union([Type.String(), Type.Null()], { description: 'Since when it is in force; null for none.' }),
      recoveryCodes: Type.Integer({ description: 'How many recovery codes are left.' }),
    },
    { description: 'The second factor of an account.' },
  ),
);

export const FACTORS = {
  shown: operation({
    id: 'auth.mfa',
    tag,
    summary: 'Get what second factor your account has',
    answers: answer('The factor.', FACTOR_SHAPE),
    errors: ASKED_ERRORS,
  }),
  begin: operation({
    id: 'auth.mfa.begin',
    tag,
    summary: 'Begin to set up an authenticator app',
    description: 'The secret is shown once. It is in force when a code of it has confirmed it, within 30 minutes.',
    answers: answer('What the app needs.', BEGUN, 201),
    errors: [...ASKED_ERRORS, 'fresh-sign-in-required', 'factor-exists', 'document-not-found'],
  }),
  confirm: operation({
    id: 'auth.mfa.confirm',
    tag,
    summary: 'Put the authenticator app in force by a code of it',
    description: 'Your other sessions end. If the answer does not arrive, make new recovery codes.',
    body: jsonBody(CONFIRM_FACTOR),
    answers: answer('In force.', RECOVERY_CODES),
    errors: [...CHECKED_ERRORS, 'factor-exists', 'factor-not-begun', 'sign-in-failed', 'document-not-found'],
  }),
  remove: operation({
    id: 'auth.mfa.remove',
    tag,
    summary: 'Remove the authenticator app and the recovery codes',
    answers: DONE,
    errors: [...ASKED_ERRORS, 'fresh-sign-in-required', 'document-not-found'],
  }),
  renewCodes: operation({
    id: 'auth.mfa.renewCodes',
    tag,
    summary: 'Get new recovery codes, in the place of those before',
    answers: answer('Made.', RECOVERY_CODES),
    errors: [...ASKED_ERRORS, 'fresh-sign-in-required', 'document-not-found'],
  }),
  login: operation({
    id: 'auth.mfa.login',
    tag,
    summary: 'Go on with a sign-in that asked for the second factor',
    description:
      'The ticket is in the refusal `mfa-required`. It works once, for five minutes, also after a wrong code; not after a change of the password.',
    body: jsonBody(FACTOR_LOGIN),
    answers: answer('Signed in.', SIGNED_IN_SHAPE),
    errors: [...CHECKED_ERRORS, 'sign-in-failed'],
  }),
};
