/** The prefix and the path of this server's cookies, which decide who may set them and which requests contain them. */

export interface CookieScope {
  /** Whether browsers reach this server over https. */
  readonly secure: boolean;
  /** The path below which they reach it: `/`, or for example `/backend`. */
  readonly path: string;
}

/** @param base the URL under which the browser reaches this server */
export function cookieScopeOf(base: string): CookieScope {
  return { secure: base.startsWith('https:'), path: new URL(base).pathname };
}

/**
 * At the root of its origin a cookie gets the prefix `__Host-`, which no other host can set (RFC 6265bis, 4.1.3.2).
 * That prefix requires `Path=/`; below a path the cookie gets `__Secure-` and stays there, because other programs may
 * share the origin. Over http browsers reject both prefixes.
 * @param stem the name without a prefix
 */
export function cookieName(stem: string, { secure, path }: CookieScope): string {
  if (!secure) return stem;
  return `${path === '/' ? '__Host-' : '__Secure-'}${stem}`;
}
