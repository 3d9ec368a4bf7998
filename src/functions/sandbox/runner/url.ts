/**
 * Parses URLs for `URL` inside isolates, exchanging text. Runs in the runner. Never throws: an error of the host would reveal its
 * paths.
 */

/** Maximum length of a URL. */
const MAX_ADDRESS = 16_384;
const FIELDS = [
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
 * @param text a URL, relative to `base` unless that is empty
 * @param field a property to set to `value` afterwards; none if empty
 * @returns its parts as JSON; empty for an invalid URL
 */
export function parseUrlParts(text: unknown, base: unknown, field: unknown, value: unknown): string {
  if (typeof text !== 'string' || typeof base !== 'string' || typeof value !== 'string') return '';
  if (text.length > MAX_ADDRESS || base.length > MAX_ADDRESS || value.length > MAX_ADDRESS) return '';
  try {
    const url = base === '' ? new URL(text) : new URL(text, base);
    const known = FIELDS.find((each) => each === field);
    if (known !== undefined) url[known] = value;
    const { href, origin, protocol, username, password, host, hostname, port, pathname, search, hash } = url;
    return JSON.stringify({
      ...{ href, origin, protocol, username, password, host, hostname, port, pathname, search, hash },
    });
  } catch {
    return '';
  }
}
