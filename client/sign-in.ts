/**
 * Sign-in with an identity provider or a magic link, for a page: the requests, and the handling of the returning browser. The
 * verifier of a sign-in (RFC 7636) stays in a store of the page, so an intercepted code or link is useless elsewhere.
 */
import { MillraceError } from './problem.ts';

/** Where a page stores the state for the returning browser: `sessionStorage` fits. */
export interface SignInStore {
  getItem(key: string): string | null;
  setItem(key: string, value: string): void;
  removeItem(key: string): void;
}

const PREFIX = 'millrace-sign-in-';
const KEY = 'millrace-letter';
const SECRET = /^#([\w-]{43})$/;

/**
 * Prepares a sign-in.
 * @param redirect where the browser returns to; an administrator of the server lists it
 * @returns the URL to open
 */
export async function createSignInUrl(
  base: string,
  provider: string,
  redirect: string,
  store: SignInStore,
): Promise<string> {
  const [verifier, state] = [newVerifier(), newVerifier()];
  store.setItem(PREFIX + state, verifier);
  const parameters = new URLSearchParams({
    redirect,
    code_challenge: await hashedVerifier(verifier),
    code_challenge_method: 'S256',
    state,
  });
  return `${base}/auth/providers/${encodeURIComponent(provider)}?${parameters}`;
}

/**
 * Reads what the browser came back with, once.
 * @returns null for an address that is the end of no sign-in
 * @throws MillraceError that the sign-in was refused, or began elsewhere
 */
export function readSignInCallback(address: string, store: SignInStore): { code: string; codeVerifier: string } | null {
  const reported = new URL(address).searchParams;
  const [code, error] = [reported.get('code'), reported.get('error')];
  if (code === null && error === null) return null;
  const key = PREFIX + reported.get('state');
  const codeVerifier = store.getItem(key);
  store.removeItem(key);
  const title = 'The sign-in failed';
  if (error !== null)
    throw new MillraceError({ status: 401, code: error, title, detail: reported.get('error_description') ?? error });
  if (code === null || codeVerifier === null) {
    throw new MillraceError({
      status: 401,
      code: 'sign-in-expired',
      title,
      detail: 'This page did not begin the sign-in',
    });
  }
  return { code, codeVerifier };
}

/** The body of `POST /auth/magic-link`, for a link to this page. */
export async function magicLinkRequest(
  email: string,
  redirect: string,
  store: SignInStore,
): Promise<{ readonly email: string; readonly redirect: string; readonly codeChallenge: string }> {
  // The verifier of an earlier e-mail is kept: a server that has just sent that e-mail sends no other.
  const verifier = store.getItem(KEY) ?? newVerifier();
  store.setItem(KEY, verifier);
  return { email, redirect, codeChallenge: await hashedVerifier(verifier) };
}

/**
 * The body of `POST /auth/magic-link/verify`.
 * @param address URL of the page that the link has opened
 * @returns null for a URL without a secret
 */
export function readMagicLink(
  address: string,
  store: SignInStore,
): { readonly token: string; readonly codeVerifier?: string } | null {
  const token = SECRET.exec(new URL(address).hash)?.[1];
  if (token === undefined) return null;
  const codeVerifier = store.getItem(KEY);
  return codeVerifier === null ? { token } : { token, codeVerifier };
}

/** The challenge of a verifier: its SHA-256, base64url. */
async function hashedVerifier(verifier: string): Promise<string> {
  const hashed = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(verifier));
  return base64url(new Uint8Array(hashed));
}

/** A new verifier, or any other unguessable text. */
function newVerifier(): string {
  return base64url(crypto.getRandomValues(new Uint8Array(32)));
}

function base64url(bytes: Uint8Array): string {
  return btoa(String.fromCharCode(...bytes))
    .replace(/\+/g, '-')
    .replace(/\//g, '_')
    .replace(/=/g, '');
}
