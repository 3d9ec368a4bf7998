/**
 * The header fields of an endpoint's own, such as `authorization`: which names and values are possible. Pure. Not here: where
 * their values are kept (endpoint-store.ts).
 */

/** A token (RFC 9110 section 5.6.2). */
const NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,64}$/;
/** Visible characters of ASCII, with blanks between them (RFC 9110 section 5.5): no line break can begin another field. */
const VALUE = /^[\x21-\x7e](?:[\t\x20-\x7e]*[\x21-\x7e])?$/;
/** Names and values together: many servers take no more than 8 or 16 KiB of headers. */
const MAX_BYTES = 8_192;

/** Fields that belong to the call itself or to its connection (RFC 9110 section 7.6.1). */
const TAKEN: ReadonlySet<string> = new Set([
  'accept-encoding',
  'connection',
  'date',
  'expect',
  'host',
  'http2-settings',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'user-agent',
  'via',
]);

/** What is wrong with header fields, each with the name of the field, or with null for all of them together. */
export interface HeaderFault {
  readonly name: string | null;
  /** A sentence without its subject. It shows no value. */
  readonly detail: string;
}

export function headerFaults(headers: Readonly<Record<string, string>>): readonly HeaderFault[] {
  const seen = new Set<string>();
  const faults = Object.entries(headers).flatMap(([name, value]): HeaderFault[] => {
    const lower = name.toLowerCase();
    const detail = seen.has(lower) ? 'is given twice: case does not count in names' : faultOf(lower, value);
    seen.add(lower);
    return detail === null ? [] : [{ name, detail }];
  });
  const bytes = Object.entries(headers).reduce((sum, [name, value]) => sum + name.length + value.length, 0);
  return bytes > MAX_BYTES ? [...faults, { name: null, detail: `must hold at most ${MAX_BYTES} bytes` }] : faults;
}

function faultOf(name: string, value: string): string | null {
  if (!NAME.test(name)) return 'is not the name of a header field';
  if (TAKEN.has(name) || name.startsWith('webhook-') || name.startsWith('content-')) {
    return 'is set by Millrace itself, or belongs to the connection';
  }
  return VALUE.test(value) ? null : 'must have visible ASCII characters as its value, with blanks only between them';
}
