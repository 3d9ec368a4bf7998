/**
 * `npm run openid-provider`: a real OpenID provider on this machine, with its own pages for sign-in and consent, to
 * test sign-in without a user at Google or elsewhere (docs/providers.md). It accepts any password, so it is for this
 * machine only. The tests use the same provider (test/helpers/providers/openid-provider.ts).
 */
import { createServer, type RequestListener } from 'node:http';
import { parseArgs } from 'node:util';
import { exportJWK, generateKeyPair, type JWK } from 'jose';
import Provider, { type Configuration } from 'oidc-provider';

export interface OpenIdClient {
  readonly id: string;
  readonly secret: string;
  readonly redirects: readonly string[];
  /** Where the browser may be redirected after a sign-out. */
  readonly afterLogOut: readonly string[];
}

/** Claims of a user besides `sub`. */
export type Person = Readonly<Record<string, unknown>>;

interface ProviderPlan {
  readonly issuer: string;
  readonly client: OpenIdClient;
  /** Signs with the first one, and publishes all. */
  readonly keys: readonly JWK[];
  /** Users by the login that they type, which is also their subject. */
  readonly people: ReadonlyMap<string, Person>;
  readonly more?: Configuration;
}

/** The claims of each scope. Groups and tenants represent those of Google, Entra, Okta and Keycloak. */
const CLAIMS = {
  openid: ['sub', 'hd', 'tid', 'groups'],
  email: ['email', 'email_verified'],
  profile: ['name', 'given_name', 'family_name', 'picture', 'locale'],
};
const HOUR_S = 3_600;

/**
 * The module `oidc-provider` stores its grants, not this object: another provider with other keys knows the users and
 * codes of the previous one.
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
        // As Google does: e-mail and name are in the id token.
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
        renderError: (context, reported) => {
          context.type = 'json';
          context.body = reported;
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

/** Its warnings that these settings are not for production are correct, and known. */
function quietly<T>(make: () => T): T {
  const { info, warn } = console;
  Object.assign(console, { info: () => undefined, warn: () => undefined });
  try {
    return make();
  } finally {
    Object.assign(console, { info, warn });
  }
}

/** The provider of docs/providers.md. */
export const SIMULATION = {
  port: 4_000,
  client: { id: 'millrace', secret: 'only-for-this-machine' },
  redirect: 'http://localhost:3000/auth/providers/local/callback',
  people: new Map<string, Person>([
    ['ada', { email: 'ada@example.org', email_verified: true, name: 'Ada Lovelace', groups: [] }],
    ['grace', { email: 'grace@example.org', email_verified: true, name: 'Grace Hopper', groups: ['editors'] }],
  ]),
};

if (import.meta.main) {
  const { values } = parseArgs({
    options: {
      port: { type: 'string', default: String(SIMULATION.port) },
      redirect: { type: 'string', multiple: true, default: [SIMULATION.redirect] },
    },
  });
  const issuer = `http://localhost:${values.port}`;
  const client = { ...SIMULATION.client, redirects: values.redirect, afterLogOut: [] };
  const listener = openIdProvider({ issuer, client, keys: [await signingKey()], people: SIMULATION.people });
  createServer(listener).listen(Number(values.port), '127.0.0.1', () => {
    process.stdout.write(`An OpenID provider for this machine; press Ctrl-C to stop.

  issuer          ${issuer}
  client id       ${client.id}
  client secret   ${client.secret}
  redirect        ${client.redirects.join('\n                  ')}
  people          ${[...SIMULATION.people.keys()].join(', ')}; any password is right
`);
  });
}
