/**
 * An OpenID provider that can falsify: each endpoint, and each id token. Without a falsification it is honest, needs no
 * interaction and signs in the user that `claims` describes. Falsified tokens: token-lies.ts.
 */
import { createHash } from 'node:crypto';
import { exportJWK, generateKeyPair, SignJWT } from 'jose';
import type { Test } from 'tap';
import { Codes, clientOf, type Granted } from './codes.ts';
import {
  type Received,
  type Reply,
  type Responding,
  RUDE,
  type Rudely,
  redirectTo,
  type Site,
  startSite,
} from './site.ts';
import type { Keys, TokenDeps, TokenLie } from './token-lies.ts';

type Endpoint = 'discovery' | 'jwks' | 'authorization' | 'token' | 'userinfo';

export interface Lies {
  /** Creates the id token. */
  readonly idToken?: TokenLie;
  /** Responds instead of an endpoint. */
  readonly at?: Partial<Readonly<Record<Endpoint, keyof typeof RUDE | Responding>>>;
  /** Fields of the discovery document that are replaced; undefined removes one. */
  readonly discovery?: Readonly<Record<string, unknown>>;
  /** Claims of user info that are replaced. */
  readonly userinfo?: Readonly<Record<string, unknown>>;
  /** Parameters of the redirect back that are replaced; null removes one. */
  readonly redirect?: Readonly<Record<string, string | null>>;
}

export interface LyingProvider extends Site {
  readonly issuer: string;
  readonly clientId: string;
  readonly clientSecret: string;
  /** Claims of the user, in the id token and in user info. */
  claims: Record<string, unknown>;
  /** Claims that are in user info and not in the id token. */
  thin: readonly string[];
  lies: Lies;
  /** Signs with a new key from now on, and publishes it alone. */
  rotateKeys(): Promise<void>;
}

export async function startLyingProvider(
  t: Test,
  { clientId = 'millrace', clientSecret = 'a-secret-of-the-tests-0123456789' } = {},
): Promise<LyingProvider> {
  const codes = new Codes();
  const tokens = new Map<string, Granted>();
  firstKeys ??= makeKeys();
  let keys = await firstKeys;

  const site: Site = await startSite(t, async (request) => {
    const endpoint = positionOf(request.url.pathname);
    if (endpoint === null) return null;
    const lie = provider.lies.at?.[endpoint];
    if (typeof lie === 'string') return RUDE[lie];
    if (lie !== undefined) return await lie(request);
    return await HONEST[endpoint](request);
  });

  const provider: LyingProvider = {
    ...site,
    issuer: site.origin,
    clientId,
    clientSecret,
    claims: { sub: 'subject-1', email: 'ada@provider.example', email_verified: true, name: 'Ada Lovelace' },
    thin: [],
    lies: {},
    rotateKeys: async () => {
      keys = await makeKeys();
    },
  };

  const HONEST: Readonly<Record<Endpoint, (request: Received) => Promise<Reply | Rudely> | Reply | Rudely>> = {
    discovery: () => ({ body: { ...discovery(provider.issuer), ...provider.lies.discovery } }),
    jwks: () => ({ body: { keys: [keys.publicJwk] } }),
    authorization: ({ url: { searchParams: requested } }) => {
      const back = new URL(requested.get('redirect_uri') ?? '');
      const parameters = { code: codes.grant(requested, 'user'), state: requested.get('state'), iss: provider.issuer };
      for (const [name, value] of Object.entries({ ...parameters, ...provider.lies.redirect })) {
        if (value !== null) back.searchParams.set(name, value);
      }
      return redirectTo(back);
    },
    token: async ({ form, headers }) => {
      const client = clientOf(form, headers.authorization);
      if (client.id !== clientId || client.secret !== clientSecret) return failure(401, 'invalid_client');
      const granted = codes.redeem(form, client.id);
      if (typeof granted === 'string') return failure(400, 'invalid_grant', granted);
      const accessToken = crypto.randomUUID();
      tokens.set(accessToken, granted);
      const deps: TokenDeps = { claims: idTokenClaims(granted, accessToken), keys };
      return {
        body: {
          access_token: accessToken,
          token_type: 'Bearer',
          expires_in: 600,
          id_token: await (provider.lies.idToken ?? honestToken)(deps),
        },
      };
    },
    userinfo: ({ headers }) => {
      if (!tokens.has((headers.authorization ?? '').replace(/^Bearer /i, ''))) return failure(401, 'invalid_token');
      return { body: { ...provider.claims, ...provider.lies.userinfo } };
    },
  };

  function idTokenClaims({ nonce }: Granted, accessToken: string): TokenDeps['claims'] {
    const now = Math.floor(Date.now() / 1_000);
    const reported = Object.entries(provider.claims).filter(([name]) => !provider.thin.includes(name));
    return {
      iss: provider.issuer,
      aud: clientId,
      iat: now,
      exp: now + 600,
      ...(nonce === null ? {} : { nonce }),
      at_hash: createHash('sha256').update(accessToken).digest().subarray(0, 16).toString('base64url'),
      ...Object.fromEntries(reported),
    };
  }

  return provider;
}

function positionOf(path: string): Endpoint | null {
  if (path === '/.well-known/openid-configuration') return 'discovery';
  const name = path.slice(1);
  return name === 'jwks' || name === 'authorization' || name === 'token' || name === 'userinfo' ? name : null;
}

function discovery(issuer: string): Readonly<Record<string, unknown>> {
  return {
    issuer,
    authorization_endpoint: `${issuer}/authorization`,
    token_endpoint: `${issuer}/token`,
    userinfo_endpoint: `${issuer}/userinfo`,
    jwks_uri: `${issuer}/jwks`,
    response_types_supported: ['code'],
    subject_types_supported: ['public'],
    id_token_signing_alg_values_supported: ['RS256'],
    token_endpoint_auth_methods_supported: ['client_secret_basic', 'client_secret_post'],
    code_challenge_methods_supported: ['S256'],
    authorization_response_iss_parameter_supported: true,
  };
}

function failure(status: number, error: string, error_description?: string): Reply {
  return { status, body: { error, error_description } };
}

/** The first keys of all providers of this process: generating a pair takes a sixth of a second of CPU. */
let firstKeys: Promise<Keys> | undefined;

async function makeKeys(): Promise<Keys> {
  const { privateKey, publicKey } = await generateKeyPair('RS256', { extractable: true });
  const kid = crypto.randomUUID();
  return { privateKey, publicKey, publicJwk: { ...(await exportJWK(publicKey)), kid, alg: 'RS256', use: 'sig' }, kid };
}

function honestToken({ claims, keys: { privateKey, kid } }: TokenDeps): Promise<string> {
  return new SignJWT(claims).setProtectedHeader({ alg: 'RS256', kid }).sign(privateKey);
}
