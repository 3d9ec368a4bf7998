/**
 * The cookie that binds a link in a letter to the browser that asked for it: without it, whoever gets hold of the letter could
 * use the link, and a stranger could let another person's browser sign in to the stranger's account. Over https it is a
 * `__Host-` cookie, which no other host can set (RFC 6265bis section 4.1.3); over http, as in development, browsers would
 * refuse that prefix. Pure.
 */

const NAME = 'millrace-link';
/** As long as a link works, in seconds. */
const MAX_AGE_S = 15 * 60;
const SECRET = /^[A-Za-z0-9_-]{43}$/;

/** @param secure whether browsers reach this server over https */
export function linkCookie(secret: string, secure: boolean): string {
  const flags = `Path=/; Max-Age=${MAX_AGE_S}; HttpOnly; SameSite=Strict${secure ? '; Secure' : ''}`;
  return `${nameOf(secure)}=${secret}; ${flags}`;
}

/** The secret of a browser in the header `Cookie`; null when there is none. */
export function browserSecret(cookies: string | undefined, secure: boolean): string | null {
  const beginning = `${nameOf(secure)}=`;
  const pair = (cookies ?? '').split(';').find((one) => one.trim().startsWith(beginning));
  const secret = pair?.trim().slice(beginning.length) ?? '';
  return SECRET.test(secret) ? secret : null;
}

function nameOf(secure: boolean): string {
  return secure ? `__Host-${NAME}` : NAME;
}
