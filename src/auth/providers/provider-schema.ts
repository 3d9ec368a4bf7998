/**
 * The schema of an identity provider as an administrator writes it, and as responses show it. provider.ts checks rules
 * between fields; presets.ts has the standard endpoints and scopes of each kind.
 */
import Type, { type Static } from 'typebox';
import { ROLES_SCHEMA } from '../identity/role-names.ts';

const PROVIDER_KINDS = ['google', 'facebook', 'apple', 'github', 'oidc', 'saml'] as const;

const closed = { additionalProperties: false } as const;

const name = Type.String({
  pattern: '^[a-z][a-z0-9-]{0,31}$',
  description: 'Its part of the path: `/auth/providers/<name>`. Lowercase letters, digits and `-`.',
});
const url = (description: string) => Type.String({ minLength: 8, maxLength: 2_048, description });
/** A secret is never shown. This object replaces it; a PUT may send it back to keep the secret. */
const SET = Type.Object(
  { set: Type.Literal(true) },
  { ...closed, description: 'A secret that is stored and not shown.' },
);
const secret = (description: string, maxLength: number) =>
  Type.Union([Type.String({ minLength: 1, maxLength, description }), SET], {
    description: `${description} Never shown: responses have \`{"set":true}\`, and a PUT that has this or nothing keeps it.`,
  });

/** Where a claim is: its name, or a JSON Pointer (RFC 6901) to a claim within another one. */
const CLAIM = Type.String({ minLength: 1, maxLength: 256, description: 'Name of a claim, or a JSON Pointer to one.' });
const fromClaims = (description: string) =>
  Type.Record(Type.String({ pattern: '^[A-Za-z][A-Za-z0-9_-]{0,63}$' }), CLAIM, {
    ...closed,
    maxProperties: 16,
    description,
  });

const MAPPING = Type.Object(
  {
    profile: Type.Optional(fromClaims('Fields of the profile, and the claim of each.')),
    claims: Type.Optional(fromClaims("Fields of the user's claims (`$user.claims`), and the source of each.")),
    roles: Type.Optional(
      Type.Object(
        {
          claim: CLAIM,
          values: Type.Record(Type.String({ minLength: 1, maxLength: 256 }), ROLES_SCHEMA, {
            // The pattern that a record creates of its names matches no name with a line break: that one could have any
            // value.
            ...closed,
            maxProperties: 200,
            description: 'The roles that each value of the claim grants. Other values grant none.',
          }),
        },
        { ...closed, description: 'Roles from a claim, such as groups.' },
      ),
    ),
    when: Type.Optional(
      Type.Unsafe<'first' | 'each' | 'renewal'>({
        type: 'string',
        enum: ['first', 'each', 'renewal'],
        default: 'first',
        description:
          'Whether the mapping is applied at the first sign-in only, at each, or also when a session is renewed; ' +
          '`renewal` needs `storeTokens`.',
      }),
    ),
  },
  { ...closed, description: 'What is taken from the claims of the provider.' },
);

const REQUESTED = Type.Union([Type.String({ maxLength: 256 }), Type.Number(), Type.Boolean()]);

const ENDPOINTS = Type.Object(
  {
    authorization: Type.Optional(url('Where the browser is sent.')),
    token: Type.Optional(url('Where the code is exchanged.')),
    userinfo: Type.Optional(url('Where the claims of the user are read.')),
    jwks: Type.Optional(url('The keys that sign id tokens.')),
    emails: Type.Optional(url('The list of e-mail addresses, of GitHub only.')),
  },
  { ...closed, description: 'Replace the standard or discovered endpoints.' },
);

const CERTIFICATE = Type.String({ minLength: 64, maxLength: 16_384 });

const SAML = Type.Object(
  {
    metadata: Type.Optional(
      Type.String({ minLength: 1, maxLength: 262_144, description: 'The metadata of the provider, as XML.' }),
    ),
    metadataUrl: Type.Optional(url('URL of the metadata of the provider, which is read every 15 minutes.')),
    issuer: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 1_024,
        description: 'Entity id of the provider; needed without metadata.',
      }),
    ),
    entryPoint: Type.Optional(url('URL where sign-ins start; needed without metadata.')),
    logoutUrl: Type.Optional(url('URL where sessions at the provider end, by the redirect binding.')),
    binding: Type.Optional(
      Type.Unsafe<'redirect' | 'post'>({
        type: 'string',
        enum: ['redirect', 'post'],
        description: 'How the browser sends the request. Default: redirect, where the metadata has it.',
      }),
    ),
    certificates: Type.Optional(
      Type.Array(CERTIFICATE, {
        minItems: 1,
        maxItems: 8,
        description: 'Certificates of the signing keys of the provider, as PEM; needed without metadata.',
      }),
    ),
    certificate: Type.Optional({
      ...CERTIFICATE,
      description: 'Our own certificate, of `privateKey`, as PEM. Our metadata contains it.',
    }),
    wantResponseSigned: Type.Optional(
      Type.Boolean({ default: false, description: 'Whether a signature of the assertion alone is not enough.' }),
    ),
    allowIdpInitiated: Type.Optional(
      Type.Boolean({ default: false, description: 'Whether a sign-in may start at the provider.' }),
    ),
    nameIdFormat: Type.Optional(
      Type.String({ minLength: 1, maxLength: 256, description: 'The requested format of NameID.' }),
    ),
    subject: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 256,
        description: 'The attribute with a permanent id of the user. Default: the NameID.',
      }),
    ),
  },
  { ...closed, description: 'SAML only: how to reach and verify the provider.' },
);

/** The body of `POST` and `PUT`. */
export const PROVIDER_BODY = Type.Object(
  {
    name,
    kind: Type.Unsafe<(typeof PROVIDER_KINDS)[number]>({ type: 'string', enum: [...PROVIDER_KINDS] }),
    clientId: Type.String({
      minLength: 1,
      maxLength: 512,
      description: 'Issued by the provider. With SAML: our own entity id.',
    }),
    clientSecret: Type.Optional(secret('Issued by the provider. Not for Apple and SAML.', 4_096)),
    teamId: Type.Optional(Type.String({ pattern: '^[A-Z0-9]{10}$', description: 'Apple only.' })),
    keyId: Type.Optional(Type.String({ pattern: '^[A-Z0-9]{10}$', description: 'Apple only: id of the private key.' })),
    privateKey: Type.Optional(
      secret('Apple: the private key (P-256). SAML: our own (RSA), which signs and decrypts. As PEM.', 8_192),
    ),
    saml: Type.Optional(SAML),
    issuer: Type.Optional(url('The issuer of id tokens; `/.well-known/openid-configuration` below it is read.')),
    scopes: Type.Optional(
      Type.Array(Type.String({ pattern: '^[\\x21\\x23-\\x5B\\x5D-\\x7E]{1,256}$' }), {
        minItems: 1,
        maxItems: 32,
        uniqueItems: true,
        description: 'Instead of the standard scopes of the kind.',
      }),
    ),
    endpoints: Type.Optional(ENDPOINTS),
    mapping: Type.Optional(MAPPING),
    require: Type.Optional(
      Type.Record(
        Type.String({ minLength: 1, maxLength: 256 }),
        Type.Union([REQUESTED, Type.Array(REQUESTED, { minItems: 1, maxItems: 100 })]),
        {
          ...closed,
          maxProperties: 16,
          description: 'Claims that a user must have to be admitted: a value, or a list of which one is enough.',
        },
      ),
    ),
    roles: Type.Optional({ ...ROLES_SCHEMA, description: 'Roles of each user that is created here.' }),
    register: Type.Optional(
      Type.Boolean({ description: 'Whether a first sign-in creates a user. Default: as registration is set.' }),
    ),
    storeTokens: Type.Optional(
      Type.Boolean({ default: false, description: "Whether the provider's tokens are stored, encrypted." }),
    ),
    nonce: Type.Optional(
      Type.Unsafe<'required' | 'optional'>({
        type: 'string',
        enum: ['required', 'optional'],
        default: 'required',
        description:
          'OpenID Connect: `optional` accepts an id token without a nonce, as LinkedIn sends it. Then a stolen id token of ' +
          'another sign-in is not recognized.',
      }),
    ),
    pkce: Type.Optional(
      Type.Boolean({
        default: true,
        description:
          'Whether PKCE binds codes to the sign-in; `false` is for providers that reject it. Then a code that was ' +
          'stolen on its way can be used in another sign-in.',
      }),
    ),
    enabled: Type.Optional(Type.Boolean({ default: true, description: 'Whether it is available for sign-in.' })),
  },
  { ...closed, description: 'An identity provider.' },
);

/** A provider as it is written. */
export type ProviderBody = Static<typeof PROVIDER_BODY>;
