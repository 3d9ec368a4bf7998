/**
 * The cookie that keeps a person signed in to the dashboard: the refresh token of the session. No other route reads it, so
 * no request to the API can be forged by another site. Pure.
 */
import { type CookieScope, cookieName } from '../lib/cookie-scope.ts';

const NAME = 'millrace';
/** As long as a session lives without use, in seconds. */
const MAX_AGE_S = 30 * 24 * 3_600;

export function serializeSessionCookie(token: string, scope: CookieScope): string {
  return `${cookieName(NAME, scope)}=${token}; Max-Age=${MAX_AGE_S}; ${attributes(scope)}`;
}

/** The cookie that removes the one above. */
export function clearedSessionCookie(scope: CookieScope): string {
  return `${cookieName(NAME, scope)}=; Max-Age=0; ${attributes(scope)}`;
}

/** The refresh token in the header `Cookie`; null when there is none. */
export function readRefreshToken(cookies: string | undefined, scope: CookieScope): string | null {
  const beginning = `${cookieName(NAME, scope)}=`;
  const pairs = (cookies ?? '').split(';').map((pair) => pair.trim());
  return pairs.find((pair) => pair.startsWith(beginning))?.slice(beginning.length) ?? null;
}

function attributes({ secure, path }: CookieScope): string {
  return `Path=${path}; HttpOnly; SameSite=Strict${secure ? '; Secure' : ''}`;
}
