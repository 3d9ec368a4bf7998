/**
 * The cookie that binds a flow to the browser that began it: without it, a stranger could let another person's browser end
 * a flow that the stranger began. Each flow has a cookie of its own name, so that several may run in one browser. Pure.
 */
import { type CookieScope, cookieName } from '../../kernel/cookie-scope.ts';
import type { Provider } from '../providers/provider.ts';
import { hashOf } from './flow.ts';

const STEM = 'millrace-flow-';
const MAX_AGE_S = 600;
/** Flows of one browser at a time. Cookies of more would fill the headers of each request. */
const MAX_FLOWS = 8;

export interface CookieTerms extends CookieScope {
  /** Whether the flow ends with a POST from a page of the provider: browsers send only `SameSite=None` cookies with it. */
  readonly posted: boolean;
}

/**
 * Whether a provider answers by a form that the browser posts: SAML does, and Apple when it is asked for a name or an
 * address.
 */
export function isPosted({ kind, scopes }: Pick<Provider, 'kind' | 'scopes'>): boolean {
  return kind === 'saml' || (kind === 'apple' && scopes.length > 0);
}

/** The `Set-Cookie` headers of a flow that begins; the ones of older flows go when there are too many. */
export function beginCookies(state: string, secret: string, sent: string | undefined, terms: CookieTerms): string[] {
  const older = [...readCookies(sent).keys()].filter((name) => name.startsWith(cookieName(STEM, terms)));
  const surplus = older.slice(0, Math.max(0, older.length - MAX_FLOWS + 1));
  return [
    `${nameOf(state, terms)}=${secret}; Path=${terms.path}; Max-Age=${MAX_AGE_S}; HttpOnly; ${flags(terms)}`,
    ...surplus.map((name) => endOf(name, terms)),
  ];
}

/** The secret in the cookie of a flow; null when the browser sent none. */
export function flowSecret(state: string, sent: string | undefined, terms: CookieTerms): string | null {
  return readCookies(sent).get(nameOf(state, terms)) ?? null;
}

/** The `Set-Cookie` header that removes the cookie of a flow. */
export function endCookie(state: string, terms: CookieTerms): string {
  return endOf(nameOf(state, terms), terms);
}

function endOf(name: string, terms: CookieTerms): string {
  return `${name}=; Path=${terms.path}; Max-Age=0; HttpOnly; ${flags(terms)}`;
}

function nameOf(state: string, terms: CookieTerms): string {
  return cookieName(`${STEM}${hashOf(state).slice(0, 16)}`, terms);
}

/** `SameSite=None` needs `Secure`, which browsers take over http too from this machine (W3C Secure Contexts). */
function flags({ secure, posted }: CookieTerms): string {
  return `SameSite=${posted ? 'None' : 'Lax'}${secure || posted ? '; Secure' : ''}`;
}

function readCookies(sent: string | undefined): Map<string, string> {
  const pairs = (sent ?? '').split(';').map((pair) => pair.trim().split(/=(.*)/, 2));
  return new Map(pairs.flatMap(([name = '', value]) => (value === undefined ? [] : [[name, value] as const])));
}
