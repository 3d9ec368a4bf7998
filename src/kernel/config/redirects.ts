/**
 * The addresses that a sign-in may end at. An address is compared as text with a list of addresses in their one normal
 * spelling, so that nothing is left to the interpretation of a URL (RFC 9700 section 2.1). Pure.
 */
import { isLoopback } from './loopback.ts';
import type { Settings } from './settings.ts';

const MAX_LENGTH = 2_048;

/**
 * Whether a sign-in may end at this address: it is one of the list, character by character. There is no match by host,
 * prefix or pattern, and no query.
 * @param allowed addresses without a fault ({@link redirectFault})
 */
export function isAllowedRedirect(address: string, allowed: readonly string[]): boolean {
  return allowed.includes(address);
}

/**
 * What is wrong with an address for the list: a sentence; null for nothing.
 * @param mode in production, http is for loopback addresses only (apps on the user's own machine, RFC 8252 section 7.3)
 */
export function redirectFault(address: string, mode: Settings['MILLRACE_MODE']): string | null {
  if (address.length > MAX_LENGTH) return `An address has at most ${MAX_LENGTH} characters`;
  if (!/^https?:\/\//.test(address) || !URL.canParse(address)) {
    return 'It must be a whole address that begins with https://';
  }
  const url = new URL(address);
  if (url.username !== '' || url.password !== '' || address.includes('@')) return 'It must have no user name';
  if (address.includes('#')) return 'It must have no fragment';
  if (address.includes('?')) return 'It must have no query: the code is added as one';
  if (address.includes('*')) return 'There are no wildcards: each address is listed by itself';
  if (url.hostname.endsWith('.')) return 'Its host must not end with a dot';
  if (/%2f|%5c|%2e/i.test(url.pathname)) return 'Its path must not hold an encoded slash or dot';
  if (url.protocol === 'http:' && mode === 'production' && !isLoopback(url.hostname)) {
    return 'In production it must begin with https://, except on this machine';
  }
  if (url.href !== address) return `It must be spelled as browsers do: ${url.href}`;
  return null;
}
