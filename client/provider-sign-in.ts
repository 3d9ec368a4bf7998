/**
 * Signing in by an identity provider, for a page: the address to open, and what to do when the browser comes back. The
 * verifier of a sign-in (RFC 7636) stays in a store of the page, so a code that somebody else reads is of no use to them. Not
 * here: the session that it opens (session.ts).
 */
import { Problem } from './problem.ts';

/** Where a page keeps what it needs when the browser comes back: `sessionStorage` fits. */
export interface PendingStore {
  getItem(key: string): string | null;
  setItem(key: string, value: string): void;
  removeItem(key: string): void;
}

const PREFIX = 'millrace-sign-in-';

/**
 * Prepares a sign-in.
 * @param redirect where the browser comes back to; an owner of the server lists it
 * @returns the address to open
 */
export async function beginningOf(
  base: string,
  provider: string,
  redirect: string,
  store: PendingStore,
): Promise<string> {
  const [verifier, state] = [random(), random()];
  const hashed = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(verifier));
  store.setItem(PREFIX + state, verifier);
  const parameters = new URLSearchParams({
    redirect,
    code_challenge: base64url(new Uint8Array(hashed)),
    code_challenge_method: 'S256',
    state,
  });
  return `${base}/auth/${encodeURIComponent(provider)}?${parameters}`;
}

/**
 * Reads what the browser came back with, once.
 * @returns null for an address that is the end of no sign-in
 * @throws Problem that the sign-in was refused, or began elsewhere
 */
export function endingOf(address: string, store: PendingStore): { code: string; codeVerifier: string } | null {
  const told = new URL(address).searchParams;
  const [code, error] = [told.get('code'), told.get('error')];
  if (code === null && error === null) return null;
  const key = PREFIX + told.get('state');
  const codeVerifier = store.getItem(key);
  store.removeItem(key);
  const title = 'The sign-in failed';
  if (error !== null)
    throw new Problem({ status: 401, code: error, title, detail: told.get('error_description') ?? error });
  if (code === null || codeVerifier === null) {
    throw new Problem({ status: 401, code: 'flow-unusable', title, detail: 'This page did not begin the sign-in' });
  }
  return { code, codeVerifier };
}

function random(): string {
  return base64url(crypto.getRandomValues(new Uint8Array(32)));
}

function base64url(bytes: Uint8Array): string {
  return btoa(String.fromCharCode(...bytes))
    .replace(/\+/g, '-')
    .replace(/\//g, '_')
    .replace(/=/g, '');
}
