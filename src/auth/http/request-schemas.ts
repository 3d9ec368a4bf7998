/** Request and response schemas of sign-in and users: each is the check, the type and the OpenAPI schema. */
import Type, { type TSchema } from 'typebox';
import { RESOURCE_ACTIONS } from '../identity/principal.ts';
import { ROLES_SCHEMA } from '../identity/role-names.ts';

const nullable = <T extends TSchema>(schema: T) => Type.Union([schema, Type.Null()]);
const closed = { additionalProperties: false } as const;

/**
 * Letters, digits and `. _ -`: no user name can be mistaken for an e-mail address. Look-alikes:
 * users/look-alikes.ts.
 */
const USERNAME = Type.String({ minLength: 1, maxLength: 64, pattern: '^[\\p{L}\\p{N}][\\p{L}\\p{N}._-]*$' });
export const EMAIL_SCHEMA = Type.String({ minLength: 3, maxLength: 254, pattern: '^[^\\s@<>,;:"]+@[^\\s@<>,;:"]+$' });
/** Longer than any accepted password, so that a password that is too long gets a clear error. */
const PASSWORD = Type.String({ minLength: 1, maxLength: 4_096, description: '8 to 256 characters.' });
export const TOKEN_STRING_SCHEMA = Type.String({ minLength: 1, maxLength: 200 });
/** An object that is stored as it is; its size is checked by {@link MAX_METADATA_BYTES}. */
const KEPT = Type.Record(Type.String(), Type.Unknown(), { maxProperties: 64 });

/** Largest profile or set of claims, as JSON. */
export const MAX_METADATA_BYTES = 8_192;

export const REGISTER_BODY = Type.Object(
  { username: USERNAME, password: PASSWORD, email: Type.Optional(EMAIL_SCHEMA), profile: Type.Optional(KEPT) },
  closed,
);
/** A code of an authenticator app as displayed, or a recovery code. */
export const FACTOR_CODE = Type.String({
  minLength: 6,
  maxLength: 40,
  description: 'Six digits of the authenticator app, or a recovery code.',
});
const base64url = (maxLength: number) => Type.String({ minLength: 1, maxLength, pattern: '^[A-Za-z0-9_-]*$' });
const credential = <T extends Readonly<Record<string, TSchema>>>(response: T) =>
  Type.Object({
    id: base64url(512),
    rawId: base64url(512),
    type: Type.Literal('public-key'),
    response: Type.Object({ clientDataJSON: base64url(8_192), ...response }),
    clientExtensionResults: Type.Object({}),
  });
/** `PublicKeyCredential.toJSON()` of WebAuthn Level 3, for registration and authentication. */
export const PASSKEY_REGISTRATION_SCHEMA = credential({ attestationObject: base64url(65_536) });
export const PASSKEY_ASSERTION_SCHEMA = credential({
  authenticatorData: base64url(8_192),
  signature: base64url(4_096),
  userHandle: Type.Optional(base64url(128)),
});
export const PASSKEY_NAME = Type.String({ minLength: 1, maxLength: 80 });
export const FACTOR_LOGIN_BODY = Type.Union([
  Type.Object({ ticket: TOKEN_STRING_SCHEMA, code: FACTOR_CODE }, closed),
  Type.Object({ ticket: TOKEN_STRING_SCHEMA, credential: PASSKEY_ASSERTION_SCHEMA }, closed),
]);
export const LOGIN_BODY = Type.Object(
  {
    username: Type.String({ minLength: 1, maxLength: 254, description: 'User name or e-mail address.' }),
    password: PASSWORD,
    code: Type.Optional(FACTOR_CODE),
  },
  closed,
);
export const REFRESH_BODY = Type.Object({ refreshToken: TOKEN_STRING_SCHEMA }, closed);
export const VERIFY_EMAIL_BODY = Type.Object(
  {
    token: TOKEN_STRING_SCHEMA,
    password: Type.Optional({
      ...PASSWORD,
      description: 'The password of the user: then everything stays as it is.',
    }),
    newPassword: Type.Optional({
      ...PASSWORD,
      description: '8 to 256 characters. It becomes the password, and everything that was registered before ends.',
    }),
  },
  closed,
);
export const REQUEST_PASSWORD_RESET_BODY = Type.Object({ email: EMAIL_SCHEMA }, closed);
export const CONFIRM_PASSWORD_RESET_BODY = Type.Object({ token: TOKEN_STRING_SCHEMA, password: PASSWORD }, closed);
export const SETUP_BODY = Type.Object({ token: TOKEN_STRING_SCHEMA, email: EMAIL_SCHEMA, password: PASSWORD }, closed);
export const CODE_EXCHANGE_BODY = Type.Object(
  {
    code: TOKEN_STRING_SCHEMA,
    codeVerifier: Type.String({ minLength: 43, maxLength: 128, pattern: '^[A-Za-z0-9._~-]+$' }),
  },
  closed,
);
export const LINK_IDENTITY_BODY = Type.Object(
  {
    redirect: Type.String({ minLength: 1, maxLength: 2_048, description: 'Where it ends: a listed redirect URL.' }),
    codeChallenge: Type.String({
      pattern: '^[A-Za-z0-9_-]{43}$',
      description: 'SHA-256 of the verifier that the client stores, in base64url (RFC 7636).',
    }),
    state: Type.Optional(Type.String({ maxLength: 512, description: 'Returned with the code.' })),
  },
  closed,
);
export const PROVIDER_LOGOUT_BODY = Type.Object(
  {
    redirect: Type.String({
      minLength: 1,
      maxLength: 2_048,
      description: 'Where the provider sends the browser: a redirect URL that is listed here and registered there.',
    }),
    state: Type.Optional(Type.String({ maxLength: 512, description: 'Returned with the browser.' })),
  },
  closed,
);
export const CHANGE_PASSWORD_BODY = Type.Object({ current: PASSWORD, password: PASSWORD }, closed);
export const REAUTHENTICATE_BODY = Type.Union([
  Type.Object({ password: PASSWORD }, closed),
  Type.Object({ code: FACTOR_CODE }, closed),
]);
export const UPDATE_CURRENT_USER_BODY = Type.Object(
  {
    username: Type.Optional(USERNAME),
    profile: Type.Optional(KEPT),
    email: Type.Optional(EMAIL_SCHEMA),
    password: Type.Optional({ ...PASSWORD, description: 'The current password; needed to change the e-mail address.' }),
  },
  { ...closed, minProperties: 1 },
);

export const CREATE_USER_BODY = Type.Object(
  {
    kind: Type.Optional(Type.Unsafe<'user' | 'admin'>({ type: 'string', enum: ['user', 'admin'], default: 'user' })),
    username: Type.Optional(USERNAME),
    email: Type.Optional(EMAIL_SCHEMA),
    password: Type.Optional(PASSWORD),
    roles: Type.Optional(ROLES_SCHEMA),
    claims: Type.Optional(KEPT),
    profile: Type.Optional(KEPT),
  },
  closed,
);
export const UPDATE_USER_BODY = Type.Object(
  { roles: Type.Optional(ROLES_SCHEMA), disabled: Type.Optional(Type.Boolean()), claims: Type.Optional(KEPT) },
  { ...closed, minProperties: 1 },
);
export const CREATE_API_KEY_BODY = Type.Object(
  {
    name: Type.String({ minLength: 1, maxLength: 100 }),
    roles: Type.Optional(ROLES_SCHEMA),
    resources: Type.Optional(nullable(Type.Array(Type.String({ minLength: 1, maxLength: 64 }), { maxItems: 100 }))),
    actions: Type.Optional(
      nullable(
        Type.Array(Type.Unsafe<string>({ type: 'string', enum: [...RESOURCE_ACTIONS] }), {
          minItems: 1,
          uniqueItems: true,
        }),
      ),
    ),
    expiresAt: Type.Optional(nullable(Type.String({ pattern: '^\\d{4}-\\d\\d-\\d\\dT[0-9:.]+Z$' }))),
  },
  closed,
);

export const USER_SCHEMA = Type.Object(
  {
    id: Type.String(),
    kind: Type.Unsafe<string>({ type: 'string', enum: ['user', 'admin'] }),
    username: nullable(Type.String()),
    email: nullable(Type.String()),
    emailVerified: Type.Boolean(),
    roles: Type.Array(Type.String()),
    claims: KEPT,
    profile: KEPT,
    disabled: Type.Boolean(),
    secondFactor: Type.Boolean({ description: 'Whether sign-in also requires a second factor.' }),
    createdAt: Type.String(),
  },
  { description: 'A user.' },
);
const TOKENS = {
  accessToken: Type.String({ description: 'For `Authorization: Bearer`.' }),
  expiresIn: Type.Integer({ description: 'Seconds.' }),
  refreshToken: Type.String({ description: 'For `POST /auth/refresh`; works once.' }),
};
export const SIGN_IN_RESULT = Type.Object({ ...TOKENS, user: USER_SCHEMA }, { description: 'A session.' });
export const SETUP_RESULT = Type.Object(
  {
    ...SIGN_IN_RESULT.properties,
    note: Type.Optional(
      Type.String({ description: 'What was created in development mode and is active from now on.' }),
    ),
  },
  { description: "The first administrator's session." },
);
export const SESSION_VIEW_SCHEMA = Type.Object(
  {
    id: Type.String(),
    createdAt: Type.String(),
    lastUsedAt: nullable(Type.String()),
    ip: Type.String(),
    userAgent: nullable(Type.String()),
    current: Type.Boolean(),
  },
  { description: 'One sign-in.' },
);
export const API_KEY_SCHEMA = Type.Object(
  {
    id: Type.String(),
    name: Type.String(),
    prefix: Type.String({ description: 'The first characters of the key.' }),
    roles: Type.Array(Type.String()),
    resources: nullable(Type.Array(Type.String())),
    actions: nullable(Type.Array(Type.String())),
    expiresAt: nullable(Type.String()),
    createdAt: Type.String(),
    createdBy: nullable(Type.String()),
    lastUsedAt: nullable(Type.String()),
    key: Type.Optional(Type.String({ description: 'The key itself, only in the response that creates it.' })),
  },
  { description: 'An API key.' },
);
export const CURRENT_API_KEY_SCHEMA = Type.Object(
  {
    kind: Type.Literal('key'),
    id: Type.String(),
    name: nullable(
      Type.String({ description: 'The name that its administrator chose; null when the key has just ended.' }),
    ),
    roles: Type.Array(Type.String()),
    resources: nullable(Type.Array(Type.String())),
    actions: nullable(Type.Array(Type.String())),
    expiresAt: nullable(Type.String()),
  },
  { description: 'What an API key may know of itself.' },
);
export const TICKET_SCHEMA = Type.Object(
  { ticket: Type.String(), expiresIn: Type.Integer({ description: 'Seconds.' }) },
  { description: 'For `?ticket=`; works once.' },
);
export const SIGN_IN_METHODS = Type.Object(
  {
    password: Type.Boolean(),
    magicLink: Type.Boolean({
      description: 'Whether a link or a code in an e-mail signs in (`POST /auth/magic-link`).',
    }),
    registration: Type.Unsafe<string>({ type: 'string', enum: ['open', 'closed'] }),
    providers: Type.Array(
      Type.Object({
        name: Type.String(),
        kind: Type.String(),
        title: Type.String({ description: 'The display name.' }),
        url: Type.String({ description: 'Where a browser starts the sign-in.' }),
      }),
    ),
  },
  { description: 'The ways to sign in.' },
);
export const IDENTITY_SCHEMA = Type.Object(
  {
    provider: Type.String(),
    subject: Type.String({ description: 'The id of the user at the provider.' }),
    linkedAt: Type.String(),
  },
  { description: 'An account at a provider that signs in to a user here.' },
);
export const LINK_IDENTITY_RESULT = Type.Object(
  { url: Type.String() },
  { description: 'Works once, for five minutes.' },
);
export const PROVIDER_LOGOUT_RESULT_SCHEMA = Type.Object(
  { url: nullable(Type.String()) },
  { description: 'A URL of the provider.' },
);
export const JWKS = Type.Object(
  { keys: Type.Array(Type.Record(Type.String(), Type.String())) },
  { description: 'RFC 7517.' },
);
