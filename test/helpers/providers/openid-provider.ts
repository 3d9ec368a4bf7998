/**
 * A real OpenID provider (`oidc-provider`) in the process of the test, with users, keys that can be replaced, and its own
 * pages for sign-in and consent. Stands for Google, Entra, Okta, Keycloak and Auth0. It does not lie: lying-provider.ts.
 */
import { createServer, type RequestListener } from 'node:http';
import { exportJWK, generateKeyPair, type JWK } from 'jose';
import Provider, { type Configuration } from 'oidc-provider';
import type { Test } from 'tap';
import type { CookieBrowser, Page } from './cookie-browser.ts';
import { listenAsSite } from './site.ts';

export interface OpenIdOptions {
  readonly clientId?: string;
  readonly clientSecret?: string;
  readonly redirectUris: readonly string[];
  readonly postLogoutRedirectUris?: readonly string[];
  readonly config?: Configuration;
}

/** Claims of one user besides `sub`; `email`, `name`, `picture`, `groups`, `hd`, `tid` are told to clients. */
export type Person = Readonly<Record<string, unknown>>;

export interface OpenIdProvider {
  readonly issuer: string;
  readonly clientId: string;
  readonly clientSecret: string;
  /** Users by their login, which is their subject too. An unknown one cannot sign in. */
  readonly people: Map<string, Person>;
  /** Signs with a new key from now on. @param keepOld whether the old key is still published */
  rotateKeys(keepOld?: boolean): Promise<void>;
  /** Does what a user does at the pages of the provider, until the browser has left it. */
  signIn(browser: CookieBrowser, page: Page, login: string): Promise<Page>;
}

const CLAIMS = {
  openid: ['sub', 'hd', 'tid', 'groups'],
  email: ['email', 'email_verified'],
  profile: ['name', 'given_name', 'family_name', 'picture', 'locale'],
};

export async function startOpenIdProvider(t: Test, options: OpenIdOptions): Promise<OpenIdProvider> {
  const { clientId = 'millrace', clientSecret = 'a-secret-of-the-tests-0123456789' } = options;
  const people = new Map<string, Person>();
  let answer: RequestListener = (_, response) => response.writeHead(503).end();
  const issuer = await listenAsSite(
    t,
    createServer((request, response) => answer(request, response)),
  );
  let keys: JWK[] = [];

  async function rotateKeys(keepOld = true): Promise<void> {
    keys = [await signingKey(), ...(keepOld ? keys : [])];
    // What it has stored is kept by the module, so that a second instance knows the users and codes of the first one.
    const provider = new Provider(issuer, {
      clients: [
        {
          client_id: clientId,
          client_secret: clientSecret,
          redirect_uris: [...options.redirectUris],
          post_logout_redirect_uris: [...(options.postLogoutRedirectUris ?? [])],
          response_types: ['code'],
          grant_types: ['authorization_code', 'refresh_token'],
        },
      ],
      jwks: { keys },
      cookies: { keys: ['cookies of the tests'] },
      claims: CLAIMS,
      // As Google does: e-mail and name stand in the id token.
      conformIdTokenClaims: false,
      pkce: { required: () => true },
      rotateRefreshToken: true,
      // It keeps users signed in with a token for each of 14 days; all that is over with the test.
      ttl: { Session: 3_600, Interaction: 600, Grant: 3_600, AccessToken: 600, IdToken: 600, RefreshToken: 3_600 },
      renderError: (context, told) => {
        context.type = 'json';
        context.body = told;
      },
      findAccount: async (_, id) => {
        const person = people.get(id);
        return person === undefined ? undefined : { accountId: id, claims: async () => ({ ...person, sub: id }) };
      },
      ...options.config,
    });
    answer = provider.callback();
  }

  await quietly(() => rotateKeys());
  return {
    issuer,
    clientId,
    clientSecret,
    people,
    rotateKeys: (keepOld) => quietly(() => rotateKeys(keepOld)),
    signIn,
  };

  async function signIn(browser: CookieBrowser, first: Page, login: string): Promise<Page> {
    let page = first;
    for (let step = 0; page.url.origin === issuer && step < 4; step++) {
      if (page.forms.length === 0) throw new Error(`The provider shows no form: ${page.status} ${page.html}`);
      const asksWho = 'login' in (page.forms[0]?.fields ?? {});
      page = await browser.submit(page, asksWho ? { login, password: 'any' } : {});
    }
    return page;
  }
}

async function signingKey(): Promise<JWK> {
  const { privateKey } = await generateKeyPair('RS256', { extractable: true });
  return { ...(await exportJWK(privateKey)), alg: 'RS256', use: 'sig', kid: crypto.randomUUID() };
}

/** Its warnings about settings for development only are right, and would stand between the lines of the tests. */
async function quietly(task: () => Promise<void>): Promise<void> {
  const { info, warn } = console;
  Object.assign(console, { info: () => undefined, warn: () => undefined });
  try {
    await task();
  } finally {
    Object.assign(console, { info, warn });
  }
}
