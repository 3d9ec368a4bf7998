/**
 * The cookie that keeps a person signed in to the dashboard: the refresh token of the session. No other route reads it, so
 * no request to the API can be forged by another site. Over https it is a `__Host-` cookie, which no other host can set
 * (RFC 6265bis section 4.1.3); over http, as in development, browsers would refuse that prefix. Pure.
 */

const NAME = 'millrace';
/** As long as a session lives without use, in seconds. */
const MAX_AGE_S = 30 * 24 * 3_600;

/** @param secure whether browsers reach this server over https */
export function sessionCookie(token: string, secure: boolean): string {
  return `${nameOf(secure)}=${token}; Max-Age=${MAX_AGE_S}; ${attributes(secure)}`;
}

/** The cookie that removes the one above. */
export function endedCookie(secure: boolean): string {
  return `${nameOf(secure)}=; Max-Age=0; ${attributes(secure)}`;
}

/** The refresh token in the header `Cookie`; null when there is none. */
export function tokenOf(cookies: string | undefined, secure: boolean): string | null {
  const beginning = `${nameOf(secure)}=`;
  const pairs = (cookies ?? '').split(';').map((pair) => pair.trim());
  return pairs.find((pair) => pair.startsWith(beginning))?.slice(beginning.length) ?? null;
}

function nameOf(secure: boolean): string {
  return secure ? `__Host-${NAME}` : NAME;
}

function attributes(secure: boolean): string {
  return `Path=/; HttpOnly; SameSite=Strict${secure ? '; Secure' : ''}`;
}
