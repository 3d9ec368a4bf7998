/** The prefix and the path of a cookie of this server: they decide who may set it and which requests carry it. */

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

/**
 * At the root of its origin a cookie is a `__Host-` one, which no other host can set (RFC 6265bis, 4.1.3.2). That prefix requires
 * `Path=/`; below a path the cookie is a `__Secure-` one and stays there, because other programs may share the origin. Over http
 * browsers refuse both prefixes.
 * @param stem the name without a prefix
 */
export function cookieName(stem: string, { secure, path }: CookieScope): string {
  if (!secure) return stem;
  return `${path === '/' ? '__Host-' : '__Secure-'}${stem}`;
}
