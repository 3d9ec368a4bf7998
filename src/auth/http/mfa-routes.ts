/**
 * Routes of second factors: of the caller's own user, registered where credentials are checked, and of a sign-in by a
 * factor, registered where they are not.
 */

import type { FastifyInstance } from 'fastify';
import Type from 'typebox';
import { validateBody } from '../../lib/parse-body.ts';
import {
  declareOperation,
  jsonBody,
  jsonResponse,
  NO_CONTENT_RESPONSE,
  QUERY_PARAMETER_ERRORS,
  VALIDATION_ERRORS,
} from '../../openapi/operation.ts';
import { namedSchema } from '../../openapi/schema.ts';
import { stampFromPrincipal } from '../identity/principal.ts';
import type { FactorSignIn } from '../mfa/factor-sign-in.ts';
import type { Factors } from '../mfa/totp-factor.ts';
import type { Reauthentication } from '../sign-in/reauthentication.ts';
import type { Users } from '../users/users.ts';
import { rejectAllQueryParameters, requireUser, sessionOriginOf } from './request-helpers.ts';
import { FACTOR_CODE, FACTOR_LOGIN_BODY } from './request-schemas.ts';
import { SIGN_IN_RESULT_SHAPE } from './response-schemas.ts';

const tag = 'auth';

const CONFIRM_FACTOR_BODY = Type.Object({ code: FACTOR_CODE }, { additionalProperties: false });

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
const MFA_STATUS_SHAPE = namedSchema(
  'MfaStatus',
  Type.Object(
    {
      since: Type.Union([Type.String(), Type.Null()], { description: 'Since when it is active; null for none.' }),
      recoveryCodes: Type.Integer({ description: 'How many recovery codes are left.' }),
    },
    { description: 'The second factor of a user.' },
  ),
);

export const MFA_OPERATIONS = {
  shown: declareOperation({
    id: 'getMfaStatus',
    tag,
    summary: 'Get your second factor',
    responses: jsonResponse('The factor.', MFA_STATUS_SHAPE),
    errors: QUERY_PARAMETER_ERRORS,
  }),
  begin: declareOperation({
    id: 'startTotpEnrollment',
    tag,
    summary: 'Start the enrollment of an authenticator app',
    description: 'The secret is shown once. It is active when one of its codes has confirmed it, within 30 minutes.',
    responses: jsonResponse('What the app needs.', BEGUN, 201),
    errors: [...QUERY_PARAMETER_ERRORS, 'reauthentication-required', 'mfa-already-enrolled', 'user-not-found'],
  }),
  confirm: declareOperation({
    id: 'confirmTotpEnrollment',
    tag,
    summary: 'Activate the authenticator app with one of its codes',
    description: 'Your other sessions end. If the response does not arrive, generate new recovery codes.',
    body: jsonBody(CONFIRM_FACTOR_BODY),
    responses: jsonResponse('Active.', RECOVERY_CODES),
    errors: [
      ...VALIDATION_ERRORS,
      'mfa-already-enrolled',
      'mfa-enrollment-not-started',
      'invalid-credentials',
      'user-not-found',
    ],
  }),
  remove: declareOperation({
    id: 'deleteTotp',
    tag,
    summary: 'Remove the authenticator app and the recovery codes',
    responses: NO_CONTENT_RESPONSE,
    errors: [...QUERY_PARAMETER_ERRORS, 'reauthentication-required', 'user-not-found', 'mfa-not-enrolled'],
  }),
  renewCodes: declareOperation({
    id: 'regenerateRecoveryCodes',
    tag,
    summary: 'Generate new recovery codes, which replace the old ones',
    responses: jsonResponse('Made.', RECOVERY_CODES),
    errors: [...QUERY_PARAMETER_ERRORS, 'reauthentication-required', 'user-not-found', 'mfa-not-enrolled'],
  }),
  login: declareOperation({
    id: 'completeMfaLogin',
    tag,
    summary: 'Complete a sign-in that requires the second factor',
    description:
      'The ticket is in the error `mfa-required`. It is valid for five minutes and one sign-in. A wrong code does not use it up; a change of the password invalidates it.',
    body: jsonBody(FACTOR_LOGIN_BODY),
    responses: jsonResponse('Signed in.', SIGN_IN_RESULT_SHAPE),
    errors: [...VALIDATION_ERRORS, 'invalid-credentials'],
  }),
};

export interface FactorRoutesOptions {
  readonly factors: Factors;
  readonly users: Users;
  readonly reauthentication: Reauthentication;
}

export async function factorRoutes(
  app: FastifyInstance,
  { factors, users, reauthentication }: FactorRoutesOptions,
): Promise<void> {
  rejectAllQueryParameters(app);

  app.get('/auth/mfa', { config: MFA_OPERATIONS.shown }, async (request) =>
    factors.shown(requireUser(request.principal).id),
  );

  app.post('/auth/mfa/totp', { config: MFA_OPERATIONS.begin }, async (request, reply) => {
    const { id } = requireUser(request.principal);
    await reauthentication.require(request.principal);
    const user = await users.get(id);
    return reply.code(201).send(await factors.begin(user));
  });

  app.post('/auth/mfa/totp/confirm', { config: MFA_OPERATIONS.confirm }, async (request) => {
    const { id, session } = requireUser(request.principal);
    const { code } = validateBody(CONFIRM_FACTOR_BODY, request.body);
    const [user, origin, stamp] = [
      await users.get(id),
      sessionOriginOf(request),
      stampFromPrincipal(request, request.id),
    ];
    return { recoveryCodes: await factors.confirm(user, session, code, origin, stamp) };
  });

  app.delete('/auth/mfa/totp', { config: MFA_OPERATIONS.remove }, async (request, reply) => {
    const { id } = requireUser(request.principal);
    await reauthentication.require(request.principal);
    await factors.remove(id, stampFromPrincipal(request, request.id));
    return reply.code(204).send();
  });

  app.post('/auth/mfa/recovery-codes', { config: MFA_OPERATIONS.renewCodes }, async (request) => {
    const { id } = requireUser(request.principal);
    await reauthentication.require(request.principal);
    return { recoveryCodes: await factors.renewCodes(id, stampFromPrincipal(request, request.id)) };
  });
}

interface FactorLoginRoutesOptions {
  readonly factorSignIn: FactorSignIn;
}

export async function factorLoginRoutes(
  app: FastifyInstance,
  { factorSignIn }: FactorLoginRoutesOptions,
): Promise<void> {
  app.addHook('onRequest', async (_request, reply) => {
    reply.header('cache-control', 'no-store');
  });
  rejectAllQueryParameters(app);

  app.post('/auth/mfa/login', { config: MFA_OPERATIONS.login }, async (request) => {
    const { ticket, ...proof } = validateBody(FACTOR_LOGIN_BODY, request.body);
    return factorSignIn.complete(ticket, proof, sessionOriginOf(request));
  });
}
