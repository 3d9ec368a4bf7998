/**
 * A real OpenID provider (`oidc-provider`) in the process of the test, with users, keys that can be replaced, and its
 * own pages for sign-in and consent. It represents Google, Entra, Okta, Keycloak and Auth0. It falsifies nothing: see
 * lying-provider.ts.
 */
import { createServer, type RequestListener } from 'node:http';
import type { JWK } from 'jose';
import type { Configuration } from 'oidc-provider';
import type { Test } from 'tap';
import { openIdProvider, type Person, signingKey } from '../../../scripts/openid-provider.ts';
import type { CookieBrowser, Page } from './cookie-browser.ts';
import { listenAsSite } from './site.ts';

export interface OpenIdOptions {
  readonly clientId?: string;
  readonly clientSecret?: string;
  readonly redirectUris: readonly string[];
  readonly postLogoutRedirectUris?: readonly string[];
  readonly config?: Configuration;
}

export interface OpenIdProvider {
  readonly issuer: string;
  readonly clientId: string;
  readonly clientSecret: string;
  /**
   * Users by their login, which is their subject too. Of their claims, `email`, `name`, `picture`, `groups`, `hd`,
   * `tid` are sent. An unknown one cannot sign in.
   */
  readonly people: Map<string, Person>;
  /** Signs with a new key from now on. @param keepOld whether the old key is still published */
  rotateKeys(keepOld?: boolean): Promise<void>;
  /** Does what a user does at the pages of the provider, until the browser has left it. */
  signIn(browser: CookieBrowser, page: Page, login: string): Promise<Page>;
}

export async function startOpenIdProvider(t: Test, options: OpenIdOptions): Promise<OpenIdProvider> {
  const { clientId = 'millrace', clientSecret = 'a-secret-of-the-tests-0123456789' } = options;
  const { redirectUris: redirects, postLogoutRedirectUris: afterLogOut = [] } = options;
  const people = new Map<string, Person>();
  let result: RequestListener = (_, response) => response.writeHead(503).end();
  const issuer = await listenAsSite(
    t,
    createServer((request, response) => result(request, response)),
  );
  let keys: readonly JWK[] = [];

  async function rotateKeys(keepOld = true): Promise<void> {
    keys = [await signingKey(), ...(keepOld ? keys : [])];
    const client = { id: clientId, secret: clientSecret, redirects, afterLogOut };
    result = openIdProvider({ issuer, client, keys, people, ...(options.config ? { more: options.config } : {}) });
  }

  await rotateKeys();
  return { issuer, clientId, clientSecret, people, rotateKeys, signIn: pressThrough };
}

/** Does what a user does at the pages of `oidc-provider`, until the browser has left them. */
export async function pressThrough(browser: CookieBrowser, first: Page, login: string): Promise<Page> {
  const { origin } = first.url;
  let page = first;
  for (let step = 0; page.url.origin === origin && step < 4; step++) {
    if (page.forms.length === 0) throw new Error(`The provider shows no form: ${page.status} ${page.html}`);
    const requestsWho = 'login' in (page.forms[0]?.fields ?? {});
    page = await browser.submit(page, requestsWho ? { login, password: 'any' } : {});
  }
  return page;
}
