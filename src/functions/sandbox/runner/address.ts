/**
 * Parses addresses for `URL` inside isolates, text against text. Runs in the runner. It never throws: an error of the host would carry
 * its paths inside.
 */

/** An address that is longer is none. */
const MAX_ADDRESS = 16_384;
const MEMBERS = [
  'href',
  'protocol',
  'username',
  'password',
  'host',
  'hostname',
  'port',
  'pathname',
  'search',
  'hash',
] as const;

/**
 * @param text an address, relative to `base` unless that is empty
 * @param member a member to set to `value` afterwards; none when empty
 * @returns its parts as JSON; empty for what is no address
 */
export function address(text: unknown, base: unknown, member: unknown, value: unknown): string {
  if (typeof text !== 'string' || typeof base !== 'string' || typeof value !== 'string') return '';
  if (text.length > MAX_ADDRESS || base.length > MAX_ADDRESS || value.length > MAX_ADDRESS) return '';
  try {
    const url = base === '' ? new URL(text) : new URL(text, base);
    const known = MEMBERS.find((each) => each === member);
    if (known !== undefined) url[known] = value;
    const { href, origin, protocol, username, password, host, hostname, port, pathname, search, hash } = url;
    return JSON.stringify({
      ...{ href, origin, protocol, username, password, host, hostname, port, pathname, search, hash },
    });
  } catch {
    return '';
  }
}
