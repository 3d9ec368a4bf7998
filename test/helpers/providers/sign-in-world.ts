/**
 * A Millrace that listens, an app that it sends its users back to, and what that app does to sign a user in by a provider:
 * its verifier, the address to begin at, the exchange of the code. Not here: the providers, and the browser.
 */
import { createHash, randomBytes } from 'node:crypto';
import type { FastifyInstance, LightMyRequestResponse } from 'fastify';
import type { Test } from 'tap';
import type { Parts } from '../../../src/parts.ts';
import { ask } from '../accounts.ts';
import { buildTestApp } from '../app.ts';
import type { TestMongo } from '../mongo.ts';
import { owner, speakingAs } from '../principals.ts';
import { type BrowserOptions, CookieBrowser, type Page } from './cookie-browser.ts';
import type { CookieJar } from './cookie-jar.ts';
import type { LyingProvider } from './lying-provider.ts';

export const APP = 'https://app.example';
export const REDIRECT = `${APP}/signed-in`;

/** What an app remembers of a sign-in that it begins. */
export interface Client {
  readonly verifier: string;
  readonly challenge: string;
  readonly state: string;
}

/** What the app is told in its address. */
export interface Told {
  readonly code?: string;
  readonly error?: string;
  readonly error_description?: string;
  readonly state?: string;
}

export interface SignInWorld {
  readonly app: FastifyInstance;
  readonly parts: Parts;
  /** Where people reach it. */
  readonly url: string;
  /** Makes or replaces a provider, as an owner does. */
  provide(provider: Readonly<Record<string, unknown>>): Promise<void>;
  /** Where an app sends the browser; parameters can be added, replaced, and removed by null. */
  beginning(name: string, client: Client, change?: Readonly<Record<string, string | null>>): string;
  exchange(code: string | undefined, verifier: string): Promise<LightMyRequestResponse>;
  /** Goes through a flow of a provider that asks its users nothing; what the app is told. */
  outcome(name: string, client?: Client, browser?: CookieBrowser): Promise<Told>;
  /** Signs in by such a provider; the answer to the exchange. */
  enter(name: string, browser?: CookieBrowser): Promise<LightMyRequestResponse>;
}

export async function signInWorld(
  t: Test,
  settings: Readonly<Record<string, string>> = {},
  place?: TestMongo,
): Promise<SignInWorld> {
  const { app, parts } = await buildTestApp(t, { MILLRACE_REDIRECTS: REDIRECT, ...settings }, place);
  const url = await app.listen({ host: '127.0.0.1', port: 0 });
  const boss = { headers: { authorization: '', ...speakingAs(parts)(owner()) } };
  const world: SignInWorld = {
    app,
    parts,
    url,
    provide: async (provider) => {
      const name = String(provider['name']);
      const exists = parts.providers.get(name) !== undefined;
      const answer = await (exists
        ? ask(app, `PUT /admin/providers/${name}`, provider, boss)
        : ask(app, 'POST /admin/providers', provider, boss));
      if (answer.statusCode >= 300) throw new Error(`${answer.statusCode}: ${answer.body}`);
    },
    beginning: (name, client, change = {}) => beginningAt(url, name, client, change),
    exchange: (code, codeVerifier) => ask(app, 'POST /auth/exchange', { code, codeVerifier }),
    outcome: async (name, client = newClient(), browser = newBrowser()) =>
      outcomeOf(await browser.goto(world.beginning(name, client))),
    enter: async (name, browser) => {
      const client = newClient();
      const { code } = await world.outcome(name, client, browser);
      return world.exchange(code, client.verifier);
    },
  };
  return world;
}

export function beginningAt(
  url: string,
  name: string,
  { challenge, state }: Client,
  change: Readonly<Record<string, string | null>> = {},
): string {
  const address = new URL(`/auth/${name}`, url === '' ? 'http://localhost' : url);
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

/** A browser of its own network, which no failure of another one slows down. */
export function newBrowser(options: BrowserOptions = {}, jar?: CookieJar): CookieBrowser {
  browsers += 1;
  const address = `127.1.${browsers >> 8}.${browsers & 255}`;
  return new CookieBrowser({ apps: [APP], address, ...options }, jar);
}

/** The members of a provider that lead to an OpenID provider of the tests. */
export function leadingTo(
  name: string,
  { issuer, clientId, clientSecret }: Readonly<Record<'issuer' | 'clientId' | 'clientSecret', string>>,
  more: object = {},
): Readonly<Record<string, unknown>> {
  return { name, kind: 'oidc', issuer, clientId, clientSecret, ...more };
}

/** @throws Error when the browser is not at the app */
export function outcomeOf({ url, status, html }: Page): Told {
  if (url.origin !== APP) throw new Error(`The browser is at ${url}: ${status} ${html}`);
  return Object.fromEntries(url.searchParams);
}

/** Makes somebody else sign in at a provider. */
export function person(provider: LyingProvider, sub: string, claims: object = {}): void {
  provider.claims = { sub, email: `${sub}@provider.example`, email_verified: true, name: sub, ...claims };
}
