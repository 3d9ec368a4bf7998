/** OpenAPI operations of second factors, with their request schemas. */
import Type from 'typebox';
import { CHECKED_ERRORS, DONE, jsonBody, operation, REQUEST_ERRORS, response } from '../../openapi/operation.ts';
import { shape } from '../../openapi/schema.ts';
import { FACTOR_CODE, FACTOR_LOGIN } from './request-schemas.ts';
import { SIGNED_IN_SHAPE } from './response-schemas.ts';

const tag = 'auth';

export const CONFIRM_FACTOR = Type.Object({ code: FACTOR_CODE }, { additionalProperties: false });

const BEGUN = Type.Object(
  {
    uri: Type.String({ description: 'For an authenticator app: `otpauth://totp/…`.' }),
    secret: Type.String({ description: 'The secret in it, as base32, for typing.' }),
    qr: Type.String({ description: 'The URL as a QR code, SVG.' }),
  },
  { description: 'A second factor that waits for its confirmation.' },
);

const RECOVERY_CODES = Type.Object(
  { recoveryCodes: Type.Array(Type.String()) },
  { description: 'Shown only once. Each works once, instead of a code of the authenticator.' },
);

/** What a user has, for the user and for administrators. */
export const FACTOR_SHAPE = shape(
  'MfaStatus',
  Type.Object(
    {
      since: Type.Union([Type.String(), Type.Null()], { description: 'Since when it is active; null for none.' }),
      recoveryCodes: Type.Integer({ description: 'How many recovery codes are left.' }),
    },
    { description: 'The second factor of a user.' },
  ),
);

export const FACTORS = {
  shown: operation({
    id: 'getMfaStatus',
    tag,
    summary: 'Get your second factor',
    responses: response('The factor.', FACTOR_SHAPE),
    errors: REQUEST_ERRORS,
  }),
  begin: operation({
    id: 'startTotpEnrollment',
    tag,
    summary: 'Start the enrollment of an authenticator app',
    description: 'The secret is shown once. It is active when one of its codes has confirmed it, within 30 minutes.',
    responses: response('What the app needs.', BEGUN, 201),
    errors: [...REQUEST_ERRORS, 'reauthentication-required', 'mfa-already-enrolled', 'user-not-found'],
  }),
  confirm: operation({
    id: 'confirmTotpEnrollment',
    tag,
    summary: 'Activate the authenticator app with one of its codes',
    description: 'Your other sessions end. If the response does not arrive, generate new recovery codes.',
    body: jsonBody(CONFIRM_FACTOR),
    responses: response('Active.', RECOVERY_CODES),
    errors: [
      ...CHECKED_ERRORS,
      'mfa-already-enrolled',
      'mfa-enrollment-not-started',
      'invalid-credentials',
      'user-not-found',
    ],
  }),
  remove: operation({
    id: 'deleteTotp',
    tag,
    summary: 'Remove the authenticator app and the recovery codes',
    responses: DONE,
    errors: [...REQUEST_ERRORS, 'reauthentication-required', 'user-not-found', 'mfa-not-enrolled'],
  }),
  renewCodes: operation({
    id: 'regenerateRecoveryCodes',
    tag,
    summary: 'Generate new recovery codes, which replace the old ones',
    responses: response('Made.', RECOVERY_CODES),
    errors: [...REQUEST_ERRORS, 'reauthentication-required', 'user-not-found', 'mfa-not-enrolled'],
  }),
  login: operation({
    id: 'completeMfaLogin',
    tag,
    summary: 'Complete a sign-in that requires the second factor',
    description:
      'The ticket is in the error `mfa-required`. It is valid for five minutes and one sign-in. A wrong code does not use it up; a change of the password invalidates it.',
    body: jsonBody(FACTOR_LOGIN),
    responses: response('Signed in.', SIGNED_IN_SHAPE),
    errors: [...CHECKED_ERRORS, 'invalid-credentials'],
  }),
};
