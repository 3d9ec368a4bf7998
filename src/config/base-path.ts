/** The path below which clients reach this server: that of MILLRACE_PUBLIC_URL, or MILLRACE_BASE_PATH. */

/**
 * First segments of the server's own routes: a base path that begins with one would make requests ambiguous, because a
 * proxy may have removed it or not. A test compares them with the routes.
 */
export const RESERVED_PATH_SEGMENTS: ReadonlySet<string> = new Set([
  '.well-known',
  'admin',
  'api',
  'auth',
  'batch',
  'client',
  'dashboard',
  'docs',
  'events',
  'examples',
  'files',
  'fn',
  'healthz',
  'hooks',
  'open-app',
  'openapi.json',
  'readyz',
  'realtime',
  'reset',
  'setup',
  'signin',
  'verify',
  'webhooks',
]);

/**
 * Segments of letters, digits, `-`, `.`, `_` and `~`: such a path has one spelling only (RFC 3986, 2.3 and 6.2.2.3).
 */
export const BASE_PATH_PATTERN = '(?:/(?!\\.{1,2}(?:/|$))[A-Za-z0-9._~-]+)';

/** Where clients reach the server, by the two settings. */
export interface PublicLocation {
  /** Without a trailing slash; undefined if MILLRACE_PUBLIC_URL is not set. */
  readonly publicUrl: string | undefined;
  /** Such as `/backend`; empty for none. */
  readonly basePath: string;
}

/**
 * Combines MILLRACE_PUBLIC_URL and MILLRACE_BASE_PATH, either of which may contain the path.
 * @returns the result, or a sentence that says what is wrong
 */
export function resolvePublicLocation(
  publicUrl: string | undefined,
  setting: string | undefined,
): PublicLocation | string {
  const named = (setting ?? '').replace(/\/$/, '');
  const ofUrl = publicUrl === undefined ? '' : new URL(publicUrl).pathname.replace(/\/$/, '');
  if (named !== '' && ofUrl !== '' && named !== ofUrl) {
    return `MILLRACE_BASE_PATH=${named}: MILLRACE_PUBLIC_URL has the path ${ofUrl}; use the same path, or omit one of them`;
  }
  const basePath = ofUrl === '' ? named : ofUrl;
  const [, first = ''] = basePath.split('/');
  if (RESERVED_PATH_SEGMENTS.has(first)) {
    const name = ofUrl === '' ? 'MILLRACE_BASE_PATH' : 'MILLRACE_PUBLIC_URL';
    return `${name}: the path ${basePath} starts like a route of this server, /${first}; choose another first segment`;
  }
  if (publicUrl === undefined || ofUrl !== '' || basePath === '') return { publicUrl, basePath };
  return { publicUrl: `${publicUrl}${basePath}`, basePath };
}
