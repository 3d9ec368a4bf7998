/**
 * The operations on passkeys as the contract describes them, with their bodies. Not here: the routes (passkey-routes.ts,
 * passkey-login-routes.ts).
 */
import Type from 'typebox';
import { ASKED_ERRORS, answer, CHECKED_ERRORS, DONE, jsonBody, operation } from '../../../contract/operation.ts';
import { pathParameter } from '../../../contract/parameters.ts';
import { shape } from '../../../contract/schema.ts';
import { SIGNED_IN_SHAPE } from '../account-contract.ts';
import { CREDENTIAL, NEW_CREDENTIAL, PASSKEY_NAME, TOKEN } from '../schema.ts';

const tag = 'Sign-in';
const closed = { additionalProperties: false };

export const ASK_PASSKEY = Type.Object({ ticket: Type.Optional(TOKEN) }, closed);
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
      usedAt: Type.Union([Type.String(), Type.Null()]),
      synced: Type.Boolean({ description: 'Whether it is kept in several devices of its holder.' }),
    },
    { description: 'A passkey of an account.' },
  ),
);

/** Those of an account, for its holder and for owners. */
export const PASSKEYS_SHAPE = Type.Object({ passkeys: Type.Array(PASSKEY) });

const ID = [pathParameter('id', 'Id of the passkey.', { type: 'string', minLength: 1, maxLength: 512 })];

export const PASSKEYS = {
  list: operation({
    id: 'auth.passkeys',
    tag,
    summary: 'List the passkeys of your account',
    answers: answer('The passkeys, the oldest first.', PASSKEYS_SHAPE),
    errors: ASKED_ERRORS,
  }),
  begin: operation({
    id: 'auth.passkeys.begin',
    tag,
    summary: 'Begin to add a passkey',
    answers: answer('What the browser needs.', CREATION_OPTIONS),
    errors: [
      ...ASKED_ERRORS,
      'fresh-sign-in-required',
      'too-many-passkeys',
      'passkeys-unavailable',
      'document-not-found',
    ],
  }),
  add: operation({
    id: 'auth.passkeys.add',
    tag,
    summary: 'Add the passkey that the browser made',
    body: jsonBody(ADD_PASSKEY),
    answers: answer('Added.', PASSKEY, 201),
    errors: [
      ...CHECKED_ERRORS,
      'passkey-refused',
      'passkey-exists',
      'too-many-passkeys',
      'passkeys-unavailable',
      'document-not-found',
    ],
  }),
  rename: operation({
    id: 'auth.passkeys.rename',
    tag,
    summary: 'Give a passkey another name',
    parameters: ID,
    body: jsonBody(RENAME_PASSKEY),
    answers: answer('Renamed.', PASSKEY),
    errors: [...CHECKED_ERRORS, 'document-not-found'],
  }),
  remove: operation({
    id: 'auth.passkeys.remove',
    tag,
    summary: 'Remove a passkey',
    parameters: ID,
    answers: DONE,
    errors: [...ASKED_ERRORS, 'fresh-sign-in-required', 'document-not-found'],
  }),
  challenge: operation({
    id: 'auth.passkeys.challenge',
    tag,
    summary: 'Ask for a challenge, to sign in by a passkey',
    description: 'With a ticket of `mfa-required` the passkey is the second factor of that sign-in.',
    body: jsonBody(ASK_PASSKEY),
    answers: answer('What the browser needs.', REQUEST_OPTIONS),
    errors: [...CHECKED_ERRORS, 'passkeys-unavailable'],
  }),
  login: operation({
    id: 'auth.passkeys.login',
    tag,
    summary: 'Sign in by a passkey',
    description:
      'A passkey that asks for a PIN or a fingerprint stands for both factors. Owners need such a one. With another one, an account with a second factor is asked for it.',
    body: jsonBody(PASSKEY_LOGIN),
    answers: answer('Signed in.', SIGNED_IN_SHAPE),
    errors: [...CHECKED_ERRORS, 'sign-in-failed', 'mfa-required'],
  }),
};
