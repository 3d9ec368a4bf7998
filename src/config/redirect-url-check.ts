/**
 * The allowlist of redirect URLs of a sign-in. A URL is compared as text with a list of URLs in normal form, so that
 * nothing depends on the interpretation of a URL (RFC 9700 section 2.1). Only the port of an app on the user's own
 * machine is free (RFC 8252 section 7.3).
 */
import { isAppScheme } from './addresses.ts';
import { isLoopback } from './loopback.ts';
import type { Settings } from './settings.ts';

const MAX_LENGTH = 2_048;
/** IP addresses, not the name `localhost`, which another machine could own (RFC 8252 section 8.3). */
const LOOPBACK = /^http:\/\/(?:127\.0\.0\.1|\[::1\])(?::([1-9]\d{0,4}))?(?=\/)/;
const MAX_PORT = 65_535;

/**
 * Whether a sign-in may redirect to this URL: it is in the list, character by character, or differs from an `http` URL
 * at 127.0.0.1 or [::1] in the port only. There is no match by host, prefix or pattern, and no query.
 * @param allowed valid URLs ({@link redirectIssue})
 */
export function isAllowedRedirect(address: string, allowed: readonly string[]): boolean {
  if (allowed.includes(address)) return true;
  const anyPort = withoutLoopbackPort(address);
  return anyPort !== null && allowed.some((one) => withoutLoopbackPort(one) === anyPort);
}

/** Whether a URL opens a native app by a custom scheme. @param address a valid URL */
export function isCustomSchemeUrl(address: string): boolean {
  return !/^https?:/.test(address);
}

/**
 * What is wrong with a URL for the list: a sentence; null if valid.
 * @param mode in production, http is for loopback addresses only (apps on the user's own machine, RFC 8252 section 7.3)
 */
export function redirectIssue(address: string, mode: Settings['MILLRACE_MODE']): string | null {
  if (address.length > MAX_LENGTH) return `A URL has at most ${MAX_LENGTH} characters`;
  const [, scheme] = /^([a-z][a-z0-9+.-]*):/i.exec(address) ?? [];
  const isWeb = scheme !== undefined && /^https?$/i.test(scheme);
  if (scheme === undefined || (isWeb && !/^https?:\/\//.test(address)) || !URL.canParse(address)) {
    return 'It must be an absolute URL that starts with https://, or with the scheme of an app, such as com.example.app:/signed-in';
  }
  const url = new URL(address);
  const issue = isWeb ? null : appIssue(url.protocol.slice(0, -1), address);
  if (issue !== null) return issue;
  if (url.username !== '' || url.password !== '' || address.includes('@')) return 'It must have no user name';
  if (address.includes('#')) return 'It must have no fragment';
  if (address.includes('?')) return 'It must have no query: the code is added as one';
  if (address.includes('*')) return 'There are no wildcards: list each URL';
  if (url.hostname.endsWith('.')) return 'Its host must not end with a dot';
  if (/%2f|%5c|%2e/i.test(`${url.host}${url.pathname}`)) return 'It must not contain an encoded slash or dot';
  if (url.protocol === 'http:' && mode === 'production' && !isLoopback(url.hostname)) {
    return 'In production it must start with https://, except on this machine';
  }
  if (url.href !== address) return `It must be spelled as browsers do: ${url.href}`;
  return null;
}

/**
 * What is wrong with the URL of a native app. A scheme with a dot is the reversed name of a domain, as RFC 8252 section
 * 7.1 requires; a shorter one is accepted if `//` follows, as in `myapp://signed-in` and `exp://`.
 */
function appIssue(scheme: string, address: string): string | null {
  if (!isAppScheme(scheme)) return `'${scheme}:' is not the scheme of an app`;
  const rest = address.slice(scheme.length + 1);
  if (!rest.startsWith('//') && !(scheme.includes('.') && rest.startsWith('/'))) {
    return `The scheme of an app must be followed by a path: com.example.app:/signed-in, or myapp://signed-in`;
  }
  if (/[^\x21-\x7e]|[\\"<>^`{|}]/.test(address))
    return 'It must contain only characters that are allowed in a URL (RFC 3986)';
  return null;
}

/** An `http` URL at a loopback address without its port; null for any other. */
function withoutLoopbackPort(address: string): string | null {
  const [found, port = '80'] = LOOPBACK.exec(address) ?? [];
  if (found === undefined || Number(port) > MAX_PORT) return null;
  return `${found.replace(/:[1-9]\d*$/, '')}${address.slice(found.length)}`;
}
