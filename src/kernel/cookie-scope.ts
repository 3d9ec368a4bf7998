/**
 * The name and the attributes that decide who gets a cookie of this server. Over https at the root of its origin it is a
 * `__Host-` cookie, which no other host can set (RFC 6265bis, 4.1.3.2). That prefix demands `Path=/`: below a path the cookie is
 * a `__Secure-` one and stays below it, because other programs may answer on the same origin. Over http browsers would refuse
 * both prefixes. Pure.
 */

export interface CookieScope {
  /** Whether browsers reach this server over https. */
  readonly secure: boolean;
  /** The path below which they reach it: `/`, or such as `/backend`. */
  readonly path: string;
}

/** @param base the URL under which the browser reaches this server */
export function cookieScopeOf(base: string): CookieScope {
  return { secure: base.startsWith('https:'), path: new URL(base).pathname };
}

/** @param stem the name without a prefix */
export function cookieName(stem: string, { secure, path }: CookieScope): string {
  if (!secure) return stem;
  return `${path === '/' ? '__Host-' : '__Secure-'}${stem}`;
}
