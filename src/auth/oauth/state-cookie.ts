/**
 * The cookie that binds a sign-in to the browser that started it: without it, an attacker could let another person's
 * browser end a sign-in that the attacker started. Each sign-in has a cookie of its own name, so that several may run
 * in one browser. Pure.
 */
import { type CookieScope, cookieName } from '../../lib/cookie-scope.ts';
import type { Provider } from '../providers/provider.ts';
import { sha256Base64url } from './pending-provider-sign-in.ts';

const STEM = 'millrace-flow-';
const MAX_AGE_S = 600;
/** Concurrent sign-ins of one browser. Cookies of more would fill the headers of each request. */
const MAX_FLOWS = 8;

export interface StateCookieOptions extends CookieScope {
  /**
   * Whether the sign-in ends with a POST from a page of the provider: browsers send only `SameSite=None` cookies with
   * it.
   */
  readonly posted: boolean;
}

/**
 * Whether the browser posts the response of a provider as a form: so for SAML, and for Apple if the request includes a
 * name or an e-mail address.
 */
export function usesFormPost({ kind, scopes }: Pick<Provider, 'kind' | 'scopes'>): boolean {
  return kind === 'saml' || (kind === 'apple' && scopes.length > 0);
}

/** The `Set-Cookie` headers at the start of a sign-in; they remove those of the oldest ones when there are too many. */
export function setStateCookies(
  state: string,
  secret: string,
  sent: string | undefined,
  options: StateCookieOptions,
): string[] {
  const older = [...readCookies(sent).keys()].filter((name) => name.startsWith(cookieName(STEM, options)));
  const surplus = older.slice(0, Math.max(0, older.length - MAX_FLOWS + 1));
  return [
    `${nameOf(state, options)}=${secret}; Path=${options.path}; Max-Age=${MAX_AGE_S}; HttpOnly; ${flags(options)}`,
    ...surplus.map((name) => endOf(name, options)),
  ];
}

/** The secret in the cookie of a sign-in; null when the browser sent none. */
export function readStateCookie(state: string, sent: string | undefined, options: StateCookieOptions): string | null {
  return readCookies(sent).get(nameOf(state, options)) ?? null;
}

/** The `Set-Cookie` header that removes the cookie of a sign-in. */
export function clearStateCookie(state: string, options: StateCookieOptions): string {
  return endOf(nameOf(state, options), options);
}

function endOf(name: string, options: StateCookieOptions): string {
  return `${name}=; Path=${options.path}; Max-Age=0; HttpOnly; ${flags(options)}`;
}

function nameOf(state: string, options: StateCookieOptions): string {
  return cookieName(`${STEM}${sha256Base64url(state).slice(0, 16)}`, options);
}

/** `SameSite=None` needs `Secure`, which browsers accept from this machine over http too (W3C Secure Contexts). */
function flags({ secure, posted }: StateCookieOptions): string {
  return `SameSite=${posted ? 'None' : 'Lax'}${secure || posted ? '; Secure' : ''}`;
}

function readCookies(sent: string | undefined): Map<string, string> {
  const pairs = (sent ?? '').split(';').map((pair) => pair.trim().split(/=(.*)/, 2));
  return new Map(pairs.flatMap(([name = '', value]) => (value === undefined ? [] : [[name, value] as const])));
}
