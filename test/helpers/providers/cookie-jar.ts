/**
 * Cookies as browsers keep and send them (RFC 6265bis): by host and path, with `Secure`, `SameSite`, `HttpOnly`, expiry and
 * the prefixes of names. A site is a scheme and a host here: there is no list of public suffixes.
 */

interface Cookie {
  readonly name: string;
  readonly value: string;
  readonly host: string;
  readonly path: string;
  readonly secure: boolean;
  readonly sameSite: 'strict' | 'lax' | 'none';
  /** Milliseconds since 1970; infinite for a cookie of the session. */
  readonly expires: number;
}

export interface Navigation {
  readonly url: URL;
  readonly method: string;
  /** The page that caused it; null when the user entered the URL. */
  readonly initiator: URL | null;
}

export class CookieJar {
  #cookies: Cookie[] = [];

  /**
   * Stores the cookies of a response like a browser.
   * @returns the cookies that a browser would reject, and why
   */
  keep(url: URL, lines: readonly string[]): readonly string[] {
    const refused: string[] = [];
    for (const line of lines) {
      const cookie = parse(url, line);
      if (typeof cookie === 'string') {
        refused.push(`${cookie}: ${line}`);
        continue;
      }
      const { name, host, path, expires } = cookie;
      this.#cookies = this.#cookies.filter((it) => it.name !== name || it.host !== host || it.path !== path);
      if (expires > Date.now()) this.#cookies.push(cookie);
    }
    return refused;
  }

  /** The header `Cookie` of a navigation of the whole page; undefined for none. */
  header({ url, method, initiator }: Navigation): string | undefined {
    const sameSite = initiator === null || siteOf(initiator) === siteOf(url);
    const isSafe = method === 'GET' || method === 'HEAD';
    const sent = this.of(url).filter((cookie) => {
      if (sameSite || cookie.sameSite === 'none') return true;
      return cookie.sameSite === 'lax' && isSafe;
    });
    return sent.length === 0 ? undefined : sent.map(({ name, value }) => `${name}=${value}`).join('; ');
  }

  /** The stored cookies for a URL. */
  of(url: URL): readonly Cookie[] {
    return this.#cookies.filter(
      ({ host, path, secure, expires }) =>
        host === url.hostname &&
        (url.pathname === path || url.pathname.startsWith(path.endsWith('/') ? path : `${path}/`)) &&
        (!secure || isTrustworthy(url)) &&
        expires > Date.now(),
    );
  }

  /** A second browser with the same cookies, as after a theft of them. */
  copy(): CookieJar {
    const jar = new CookieJar();
    jar.#cookies = [...this.#cookies];
    return jar;
  }

  clear(): void {
    this.#cookies = [];
  }
}

function siteOf({ protocol, hostname }: URL): string {
  return `${protocol}//${hostname}`;
}

/** Browsers count this machine as secure (W3C Secure Contexts). */
function isTrustworthy({ protocol, hostname }: URL): boolean {
  return protocol === 'https:' || hostname === 'localhost' || hostname.startsWith('127.');
}

function parse(url: URL, line: string): Cookie | string {
  const [pair = '', ...parts] = line.split(';');
  const cut = pair.indexOf('=');
  const name = pair.slice(0, cut).trim();
  const attributes = new Map(
    parts.map((part) => {
      const [key = '', ...value] = part.trim().split('=');
      return [key.toLowerCase(), value.join('=')];
    }),
  );
  const secure = attributes.has('secure');
  const given = attributes.get('path') ?? '';
  const path = given.startsWith('/') ? given : url.pathname.replace(/\/[^/]*$/, '') || '/';
  const sameSite = sameSiteOf(attributes.get('samesite'));
  if (secure && !isTrustworthy(url)) return 'Secure needs https';
  if (attributes.has('domain') && attributes.get('domain') !== url.hostname) return 'The domain is another one';
  if (sameSite === 'none' && !secure) return 'SameSite=None needs Secure';
  if (name.startsWith('__Secure-') && !secure) return '__Secure- needs Secure';
  if (name.startsWith('__Host-') && (!secure || given !== '/' || attributes.has('domain'))) {
    return '__Host- needs Secure, Path=/ and no Domain';
  }
  const maxAge = attributes.get('max-age');
  const until = attributes.get('expires');
  const expires =
    maxAge !== undefined
      ? Date.now() + Number(maxAge) * 1_000
      : until !== undefined
        ? Date.parse(until)
        : Number.POSITIVE_INFINITY;
  return { name, value: pair.slice(cut + 1).trim(), host: url.hostname, path, secure, sameSite, expires };
}

function sameSiteOf(text = 'lax'): Cookie['sameSite'] {
  const value = text.toLowerCase();
  return value === 'strict' || value === 'none' ? value : 'lax';
}
