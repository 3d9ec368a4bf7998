/**
 * Routes of passkeys: of the caller's own user, registered where credentials are checked, and of a sign-in with one,
 * registered where they are not.
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
import { pathParameter } from '../../openapi/parameters.ts';
import { namedSchema } from '../../openapi/schema.ts';
import { stampFromPrincipal } from '../identity/principal.ts';
import type { PasskeySignIn } from '../passkeys/passkey-sign-in.ts';
import type { Passkeys } from '../passkeys/passkeys.ts';
import type { Reauthentication } from '../sign-in/reauthentication.ts';
import type { Users } from '../users/users.ts';
import { rejectAllQueryParameters, requireUser, sessionOriginOf } from './request-helpers.ts';
import {
  PASSKEY_ASSERTION_SCHEMA,
  PASSKEY_NAME,
  PASSKEY_REGISTRATION_SCHEMA,
  TOKEN_STRING_SCHEMA,
} from './request-schemas.ts';
import { SIGN_IN_RESULT_SHAPE } from './response-schemas.ts';

const tag = 'auth';
const closed = { additionalProperties: false };

export const PASSKEY_CHALLENGE_BODY = Type.Object({ ticket: Type.Optional(TOKEN_STRING_SCHEMA) }, closed);
export const PASSKEY_LOGIN_BODY = Type.Object({ credential: PASSKEY_ASSERTION_SCHEMA }, closed);
const ADD_PASSKEY_BODY = Type.Object(
  { name: Type.Optional(PASSKEY_NAME), credential: PASSKEY_REGISTRATION_SCHEMA },
  closed,
);
const RENAME_PASSKEY_BODY = Type.Object({ name: PASSKEY_NAME }, closed);

const REQUEST_OPTIONS = Type.Object(
  {
    challenge: Type.String({ description: 'Works once, for five minutes.' }),
    rpId: Type.String(),
    timeout: Type.Integer({ description: 'Milliseconds.' }),
    allowCredentials: Type.Array(Type.Object({})),
    userVerification: Type.String(),
  },
  { description: 'For `PublicKeyCredential.parseRequestOptionsFromJSON` and `navigator.credentials.get`.' },
);

const CREATION_OPTIONS = Type.Object(
  {
    challenge: Type.String({ description: 'Works once, for five minutes, in this session.' }),
    rp: Type.Object({ id: Type.String(), name: Type.String() }),
    user: Type.Object({ id: Type.String(), name: Type.String(), displayName: Type.String() }),
    pubKeyCredParams: Type.Array(Type.Object({ type: Type.String(), alg: Type.Integer() })),
    timeout: Type.Integer({ description: 'Milliseconds.' }),
    attestation: Type.String(),
    excludeCredentials: Type.Array(Type.Object({ type: Type.String(), id: Type.String() })),
    authenticatorSelection: Type.Object({
      residentKey: Type.String(),
      requireResidentKey: Type.Boolean(),
      userVerification: Type.String(),
    }),
  },
  { description: 'For `PublicKeyCredential.parseCreationOptionsFromJSON` and `navigator.credentials.create`.' },
);

const PASSKEY = namedSchema(
  'Passkey',
  Type.Object(
    {
      id: Type.String({ description: 'Id of the credential.' }),
      name: Type.String(),
      createdAt: Type.String(),
      lastUsedAt: Type.Union([Type.String(), Type.Null()]),
      synced: Type.Boolean({ description: 'Whether several devices of its holder store it.' }),
    },
    { description: 'A passkey of a user.' },
  ),
);

/** The passkeys of a user, for the user and for administrators. */
export const PASSKEYS_SHAPE = Type.Object({ passkeys: Type.Array(PASSKEY) });

const ID = [pathParameter('id', 'Id of the passkey.', { type: 'string', minLength: 1, maxLength: 512 }, 'passkeyId')];

export const PASSKEY_OPERATIONS = {
  list: declareOperation({
    id: 'listPasskeys',
    tag,
    summary: 'List your passkeys',
    responses: jsonResponse('The passkeys, oldest first.', PASSKEYS_SHAPE),
    errors: QUERY_PARAMETER_ERRORS,
  }),
  begin: declareOperation({
    id: 'createPasskeyRegistrationOptions',
    tag,
    summary: 'Get the options to register a passkey',
    responses: jsonResponse('What the browser needs.', CREATION_OPTIONS),
    errors: [
      ...QUERY_PARAMETER_ERRORS,
      'reauthentication-required',
      'too-many-passkeys',
      'passkeys-unavailable',
      'user-not-found',
    ],
  }),
  add: declareOperation({
    id: 'registerPasskey',
    tag,
    summary: 'Add the passkey that the browser created',
    body: jsonBody(ADD_PASSKEY_BODY),
    responses: jsonResponse('Added.', PASSKEY, 201),
    errors: [
      ...VALIDATION_ERRORS,
      'invalid-passkey',
      'passkey-exists',
      'too-many-passkeys',
      'passkeys-unavailable',
      'user-not-found',
    ],
  }),
  rename: declareOperation({
    id: 'updatePasskey',
    tag,
    summary: 'Rename a passkey',
    parameters: ID,
    body: jsonBody(RENAME_PASSKEY_BODY),
    responses: jsonResponse('Renamed.', PASSKEY),
    errors: [...VALIDATION_ERRORS, 'passkey-not-found'],
  }),
  remove: declareOperation({
    id: 'deletePasskey',
    tag,
    summary: 'Remove a passkey',
    parameters: ID,
    responses: NO_CONTENT_RESPONSE,
    errors: [...QUERY_PARAMETER_ERRORS, 'reauthentication-required', 'user-not-found', 'passkey-not-found'],
  }),
  challenge: declareOperation({
    id: 'createPasskeyAuthenticationOptions',
    tag,
    summary: 'Get the options to sign in with a passkey',
    description: 'With a ticket of `mfa-required` the passkey is the second factor of that sign-in.',
    body: jsonBody(PASSKEY_CHALLENGE_BODY),
    responses: jsonResponse('What the browser needs.', REQUEST_OPTIONS),
    errors: [...VALIDATION_ERRORS, 'passkeys-unavailable'],
  }),
  login: declareOperation({
    id: 'loginWithPasskey',
    tag,
    summary: 'Sign in with a passkey',
    description:
      'A passkey that verifies the user with a PIN or a fingerprint counts as both factors; administrators need such a one. With another one, a user with a second factor must also prove that.',
    body: jsonBody(PASSKEY_LOGIN_BODY),
    responses: jsonResponse('Signed in.', SIGN_IN_RESULT_SHAPE),
    errors: [...VALIDATION_ERRORS, 'invalid-credentials', 'mfa-required'],
  }),
};

/** The name of a passkey until its user renames it. */
const FIRST_NAME = 'Passkey';

export interface PasskeyRoutesOptions {
  readonly passkeys: Passkeys;
  readonly users: Users;
  readonly reauthentication: Reauthentication;
}

type OnPasskey = { Params: { id: string } };

export async function passkeyRoutes(
  app: FastifyInstance,
  { passkeys, users, reauthentication }: PasskeyRoutesOptions,
): Promise<void> {
  rejectAllQueryParameters(app);

  app.get('/auth/passkeys', { config: PASSKEY_OPERATIONS.list }, async (request) => ({
    passkeys: await passkeys.list(requireUser(request.principal).id),
  }));

  app.post('/auth/passkeys/registration-options', { config: PASSKEY_OPERATIONS.begin }, async (request) => {
    const { id, session } = requireUser(request.principal);
    await reauthentication.require(request.principal);
    return passkeys.begin(await users.get(id), session);
  });

  app.post('/auth/passkeys', { config: PASSKEY_OPERATIONS.add }, async (request, reply) => {
    const { id, session } = requireUser(request.principal);
    const { name = FIRST_NAME, credential } = validateBody(ADD_PASSKEY_BODY, request.body);
    const stamp = stampFromPrincipal(request, request.id);
    return reply.code(201).send(await passkeys.add(await users.get(id), session, { name, credential }, stamp));
  });

  app.patch<OnPasskey>('/auth/passkeys/:id', { config: PASSKEY_OPERATIONS.rename }, async (request) => {
    const { id } = requireUser(request.principal);
    return passkeys.rename(id, request.params.id, validateBody(RENAME_PASSKEY_BODY, request.body).name);
  });

  app.delete<OnPasskey>('/auth/passkeys/:id', { config: PASSKEY_OPERATIONS.remove }, async (request, reply) => {
    const { id } = requireUser(request.principal);
    await reauthentication.require(request.principal);
    await passkeys.remove(id, request.params.id, stampFromPrincipal(request, request.id));
    return reply.code(204).send();
  });
}

interface PasskeyLoginRoutesOptions {
  readonly passkeys: Passkeys;
  readonly passkeySignIn: PasskeySignIn;
}

export async function passkeyLoginRoutes(
  app: FastifyInstance,
  { passkeys, passkeySignIn }: PasskeyLoginRoutesOptions,
): Promise<void> {
  app.addHook('onRequest', async (_request, reply) => {
    reply.header('cache-control', 'no-store');
  });
  rejectAllQueryParameters(app);

  app.post('/auth/passkeys/authentication-options', { config: PASSKEY_OPERATIONS.challenge }, async (request) =>
    passkeys.request(validateBody(PASSKEY_CHALLENGE_BODY, request.body).ticket ?? null),
  );

  app.post('/auth/passkeys/login', { config: PASSKEY_OPERATIONS.login }, async (request) =>
    passkeySignIn.signInWithPasskey(
      validateBody(PASSKEY_LOGIN_BODY, request.body).credential,
      sessionOriginOf(request),
    ),
  );
}
