/** OpenAPI operations of passkeys, with their request schemas. */
import Type from 'typebox';
import { CHECKED_ERRORS, DONE, jsonBody, operation, REQUEST_ERRORS, response } from '../../openapi/operation.ts';
import { pathParameter } from '../../openapi/parameters.ts';
import { shape } from '../../openapi/schema.ts';
import { CREDENTIAL, NEW_CREDENTIAL, PASSKEY_NAME, TOKEN } from './request-schemas.ts';
import { SIGNED_IN_SHAPE } from './response-schemas.ts';

const tag = 'auth';
const closed = { additionalProperties: false };

export const REQUEST_PASSKEY = Type.Object({ ticket: Type.Optional(TOKEN) }, closed);
export const PASSKEY_LOGIN = Type.Object({ credential: CREDENTIAL }, closed);
export const ADD_PASSKEY = Type.Object({ name: Type.Optional(PASSKEY_NAME), credential: NEW_CREDENTIAL }, closed);
export const RENAME_PASSKEY = Type.Object({ name: PASSKEY_NAME }, closed);

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

const PASSKEY = shape(
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

export const PASSKEYS = {
  list: operation({
    id: 'listPasskeys',
    tag,
    summary: 'List your passkeys',
    responses: response('The passkeys, oldest first.', PASSKEYS_SHAPE),
    errors: REQUEST_ERRORS,
  }),
  begin: operation({
    id: 'createPasskeyRegistrationOptions',
    tag,
    summary: 'Get the options to register a passkey',
    responses: response('What the browser needs.', CREATION_OPTIONS),
    errors: [
      ...REQUEST_ERRORS,
      'reauthentication-required',
      'too-many-passkeys',
      'passkeys-unavailable',
      'user-not-found',
    ],
  }),
  add: operation({
    id: 'registerPasskey',
    tag,
    summary: 'Add the passkey that the browser created',
    body: jsonBody(ADD_PASSKEY),
    responses: response('Added.', PASSKEY, 201),
    errors: [
      ...CHECKED_ERRORS,
      'invalid-passkey',
      'passkey-exists',
      'too-many-passkeys',
      'passkeys-unavailable',
      'user-not-found',
    ],
  }),
  rename: operation({
    id: 'updatePasskey',
    tag,
    summary: 'Rename a passkey',
    parameters: ID,
    body: jsonBody(RENAME_PASSKEY),
    responses: response('Renamed.', PASSKEY),
    errors: [...CHECKED_ERRORS, 'passkey-not-found'],
  }),
  remove: operation({
    id: 'deletePasskey',
    tag,
    summary: 'Remove a passkey',
    parameters: ID,
    responses: DONE,
    errors: [...REQUEST_ERRORS, 'reauthentication-required', 'user-not-found', 'passkey-not-found'],
  }),
  challenge: operation({
    id: 'createPasskeyAuthenticationOptions',
    tag,
    summary: 'Get the options to sign in with a passkey',
    description: 'With a ticket of `mfa-required` the passkey is the second factor of that sign-in.',
    body: jsonBody(REQUEST_PASSKEY),
    responses: response('What the browser needs.', REQUEST_OPTIONS),
    errors: [...CHECKED_ERRORS, 'passkeys-unavailable'],
  }),
  login: operation({
    id: 'loginWithPasskey',
    tag,
    summary: 'Sign in with a passkey',
    description:
      'A passkey that verifies the user with a PIN or a fingerprint counts as both factors; administrators need such a one. With another one, a user with a second factor must also prove that.',
    body: jsonBody(PASSKEY_LOGIN),
    responses: response('Signed in.', SIGNED_IN_SHAPE),
    errors: [...CHECKED_ERRORS, 'invalid-credentials', 'mfa-required'],
  }),
};
