/**
 * A Millrace that listens, an app to which it redirects its users, and what that app does to sign a user in by a
 * provider: its verifier, the start URL, the exchange of the code.
 */
import { createHash, randomBytes } from 'node:crypto';
import type { FastifyInstance, LightMyRequestResponse } from 'fastify';
import type { Test } from 'tap';
import type { Services } from '../../../src/services.ts';
import { buildTestApp } from '../app.ts';
import type { TestMongo } from '../mongo.ts';
import { owner, speakingAs } from '../principals.ts';
import { ask } from '../users.ts';
import { type BrowserOptions, CookieBrowser, type Page } from './cookie-browser.ts';
import type { CookieJar } from './cookie-jar.ts';
import type { LyingProvider } from './lying-provider.ts';

export const APP = 'https://app.example';
export const REDIRECT = `${APP}/signed-in`;

/** What an app stores of a sign-in that it starts. */
export interface Client {
  readonly verifier: string;
  readonly challenge: string;
  readonly state: string;
}

/** What the app gets in its URL. */
export interface Reported {
  readonly code?: string;
  readonly error?: string;
  readonly error_description?: string;
  readonly state?: string;
}

export interface SignInFixture {
  readonly app: FastifyInstance;
  readonly services: Services;
  /** Its public URL. */
  readonly url: string;
  /** Creates or replaces a provider, as an administrator does. */
  provide(provider: Readonly<Record<string, unknown>>): Promise<void>;
  /** The URL to which an app sends the browser; parameters can be added, replaced, and removed by null. */
  beginning(name: string, client: Client, change?: Readonly<Record<string, string | null>>): string;
  exchange(code: string | undefined, verifier: string): Promise<LightMyRequestResponse>;
  /** Goes through a flow of a provider without interaction; returns what the app gets. */
  outcome(name: string, client?: Client, browser?: CookieBrowser): Promise<Reported>;
  /** Signs in by such a provider; returns the response to the exchange. */
  enter(name: string, browser?: CookieBrowser): Promise<LightMyRequestResponse>;
}

export async function signInFixture(
  t: Test,
  settings: Readonly<Record<string, string>> = {},
  testDatabase?: TestMongo,
): Promise<SignInFixture> {
  const { app, services } = await buildTestApp(t, { MILLRACE_REDIRECT_URLS: REDIRECT, ...settings }, testDatabase);
  const url = await app.listen({ host: '127.0.0.1', port: 0 });
  const boss = { headers: { authorization: '', ...speakingAs(services)(owner()) } };
  const fixture: SignInFixture = {
    app,
    services,
    url,
    provide: async (provider) => {
      const name = String(provider['name']);
      const exists = services.oauth.providers.get(name) !== undefined;
      const response = await (exists
        ? ask(app, `PUT /admin/providers/${name}`, provider, boss)
        : ask(app, 'POST /admin/providers', provider, boss));
      if (response.statusCode >= 300) throw new Error(`${response.statusCode}: ${response.body}`);
    },
    beginning: (name, client, change = {}) => beginningAt(url, name, client, change),
    exchange: (code, codeVerifier) => ask(app, 'POST /auth/exchange', { code, codeVerifier }),
    outcome: async (name, client = newClient(), browser = newBrowser()) =>
      outcomeOf(await browser.goto(fixture.beginning(name, client))),
    enter: async (name, browser) => {
      const client = newClient();
      const { code } = await fixture.outcome(name, client, browser);
      return fixture.exchange(code, client.verifier);
    },
  };
  return fixture;
}

export function beginningAt(
  url: string,
  name: string,
  { challenge, state }: Client,
  change: Readonly<Record<string, string | null>> = {},
): string {
  const address = new URL(`/auth/providers/${name}`, url === '' ? 'http://localhost' : url);
  const usual = { redirect: REDIRECT, code_challenge: challenge, code_challenge_method: 'S256', state };
  for (const [key, value] of Object.entries({ ...usual, ...change })) {
    if (value !== null) address.searchParams.set(key, value);
  }
  return url === '' ? `${address.pathname}${address.search}` : address.href;
}

export function newClient(): Client {
  const verifier = randomBytes(32).toString('base64url');
  const challenge = createHash('sha256').update(verifier).digest('base64url');
  return { verifier, challenge, state: randomBytes(8).toString('hex') };
}

let browsers = 0;

/** A browser of its own network, which failures of others do not slow down. */
export function newBrowser(options: BrowserOptions = {}, jar?: CookieJar): CookieBrowser {
  browsers += 1;
  const address = `127.1.${browsers >> 8}.${browsers & 255}`;
  return new CookieBrowser({ apps: [APP], address, ...options }, jar);
}

/** The fields of a provider that uses an OpenID provider of the tests. */
export function leadingTo(
  name: string,
  { issuer, clientId, clientSecret }: Readonly<Record<'issuer' | 'clientId' | 'clientSecret', string>>,
  more: object = {},
): Readonly<Record<string, unknown>> {
  return { name, kind: 'oidc', issuer, clientId, clientSecret, ...more };
}

/** @throws Error when the browser is not at the app */
export function outcomeOf({ url, status, html }: Page): Reported {
  if (url.origin !== APP) throw new Error(`The browser is at ${url}: ${status} ${html}`);
  return Object.fromEntries(url.searchParams);
}

/** Makes another user sign in at a provider. */
export function person(provider: LyingProvider, sub: string, claims: object = {}): void {
  provider.claims = { sub, email: `${sub}@provider.example`, email_verified: true, name: sub, ...claims };
}
