/**
 * `npm run openid-provider`: a real OpenID provider on this machine, with its own pages for sign-in and consent, to try sign-in
 * without an account at Google or elsewhere (docs/providers.md). Any password is right, so it is for this machine only. The
 * tests use the same provider (test/helpers/providers/openid-provider.ts).
 */
import { createServer, type RequestListener } from 'node:http';
import { parseArgs } from 'node:util';
import { exportJWK, generateKeyPair, type JWK } from 'jose';
import Provider, { type Configuration } from 'oidc-provider';

export interface OpenIdClient {
  readonly id: string;
  readonly secret: string;
  readonly redirects: readonly string[];
  /** Where the browser may be sent after a log-out. */
  readonly afterLogOut: readonly string[];
}

/** Claims of a user besides `sub`. */
export type Person = Readonly<Record<string, unknown>>;

interface ProviderPlan {
  readonly issuer: string;
  readonly client: OpenIdClient;
  /** Signs with the first one, and publishes all. */
  readonly keys: readonly JWK[];
  /** Users by what they type as their login, which is their subject too. */
  readonly people: ReadonlyMap<string, Person>;
  readonly more?: Configuration;
}

/** The claims that each scope gives. Groups and tenants stand for those of Google, Entra, Okta and Keycloak. */
const CLAIMS = {
  openid: ['sub', 'hd', 'tid', 'groups'],
  email: ['email', 'email_verified'],
  profile: ['name', 'given_name', 'family_name', 'picture', 'locale'],
};
const HOUR_S = 3_600;

/**
 * What it has granted is kept by the module `oidc-provider`, not here: another one with other keys knows the users and codes
 * of the one before.
 */
export function openIdProvider({ issuer, client, keys, people, more = {} }: ProviderPlan): RequestListener {
  const provider = quietly(
    () =>
      new Provider(issuer, {
        clients: [
          {
            client_id: client.id,
            client_secret: client.secret,
            redirect_uris: [...client.redirects],
            post_logout_redirect_uris: [...client.afterLogOut],
            response_types: ['code'],
            grant_types: ['authorization_code', 'refresh_token'],
          },
        ],
        jwks: { keys: [...keys] },
        cookies: { keys: ['only for this machine'] },
        claims: CLAIMS,
        // As Google does: e-mail and name stand in the id token.
        conformIdTokenClaims: false,
        pkce: { required: () => true },
        rotateRefreshToken: true,
        ttl: {
          Session: HOUR_S,
          Interaction: HOUR_S,
          Grant: HOUR_S,
          AccessToken: HOUR_S,
          IdToken: HOUR_S,
          RefreshToken: HOUR_S,
        },
        renderError: (context, told) => {
          context.type = 'json';
          context.body = told;
        },
        findAccount: async (_, id) => {
          const person = people.get(id);
          return person === undefined ? undefined : { accountId: id, claims: async () => ({ ...person, sub: id }) };
        },
        ...more,
      }),
  );
  return provider.callback();
}

export async function signingKey(): Promise<JWK> {
  const { privateKey } = await generateKeyPair('RS256', { extractable: true });
  return { ...(await exportJWK(privateKey)), alg: 'RS256', use: 'sig', kid: crypto.randomUUID() };
}

/** Its warnings that these settings are not for production are right, and known. */
function quietly<T>(make: () => T): T {
  const { info, warn } = console;
  Object.assign(console, { info: () => undefined, warn: () => undefined });
  try {
    return make();
  } finally {
    Object.assign(console, { info, warn });
  }
}

/** What docs/providers.md leads through. */
export const TRIAL = {
  port: 4_000,
  client: { id: 'millrace', secret: 'only-for-this-machine' },
  redirect: 'http://localhost:3000/auth/local/callback',
  people: new Map<string, Person>([
    ['ada', { email: 'ada@example.org', email_verified: true, name: 'Ada Lovelace', groups: [] }],
    ['grace', { email: 'grace@example.org', email_verified: true, name: 'Grace Hopper', groups: ['editors'] }],
  ]),
};

if (import.meta.main) {
  const { values } = parseArgs({
    options: {
      port: { type: 'string', default: String(TRIAL.port) },
      redirect: { type: 'string', multiple: true, default: [TRIAL.redirect] },
    },
  });
  const issuer = `http://localhost:${values.port}`;
  const client = { ...TRIAL.client, redirects: values.redirect, afterLogOut: [] };
  const listener = openIdProvider({ issuer, client, keys: [await signingKey()], people: TRIAL.people });
  createServer(listener).listen(Number(values.port), '127.0.0.1', () => {
    process.stdout.write(`An OpenID provider for this machine; Ctrl-C ends it.

  issuer          ${issuer}
  client id       ${client.id}
  client secret   ${client.secret}
  redirect        ${client.redirects.join('\n                  ')}
  people          ${[...TRIAL.people.keys()].join(', ')}; any password is right
`);
  });
}
