/**
 * The cookie that binds a magic link to the browser that requested it: without it, anyone who gets hold of the e-mail
 * could use the link, and an attacker could sign another person's browser in to the attacker's user. Pure.
 */
import { type CookieScope, cookieName } from '../../lib/cookie-scope.ts';

const NAME = 'millrace-link';
/** As long as a link is valid, in seconds. */
const MAX_AGE_S = 15 * 60;
const SECRET = /^[A-Za-z0-9_-]{43}$/;

export function createMagicLinkCookie(secret: string, scope: CookieScope): string {
  const { secure, path } = scope;
  const flags = `Path=${path}; Max-Age=${MAX_AGE_S}; HttpOnly; SameSite=Strict${secure ? '; Secure' : ''}`;
  return `${cookieName(NAME, scope)}=${secret}; ${flags}`;
}

/** The secret of a browser in the header `Cookie`; null when there is none. */
export function readMagicLinkCookie(cookies: string | undefined, scope: CookieScope): string | null {
  const beginning = `${cookieName(NAME, scope)}=`;
  const pair = (cookies ?? '').split(';').find((one) => one.trim().startsWith(beginning));
  const secret = pair?.trim().slice(beginning.length) ?? '';
  return SECRET.test(secret) ? secret : null;
}
