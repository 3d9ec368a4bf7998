/** Validates an endpoint's custom header fields, such as `authorization`. */

/** A token (RFC 9110 section 5.6.2). */
const NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,64}$/;
/**
 * Visible ASCII characters with spaces between them (RFC 9110 section 5.5), so that no line break can start another
 * field.
 */
const VALUE = /^[\x21-\x7e](?:[\t\x20-\x7e]*[\x21-\x7e])?$/;
/** Limit of names and values together: many servers accept no more than 8 or 16 KiB of headers. */
const MAX_BYTES = 8_192;

/** Fields that belong to the request itself or to its connection (RFC 9110 section 7.6.1). */
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

/** An error in header fields, with the name of the field, or null for all of them together. */
export interface HeaderError {
  readonly name: string | null;
  /** A sentence without its subject. It never contains a value. */
  readonly detail: string;
}

export function headerIssues(headers: Readonly<Record<string, string>>): readonly HeaderError[] {
  const seen = new Set<string>();
  const issues = Object.entries(headers).flatMap(([name, value]): HeaderError[] => {
    const lower = name.toLowerCase();
    const detail = seen.has(lower) ? 'is given twice: names are case-insensitive' : issueOf(lower, value);
    seen.add(lower);
    return detail === null ? [] : [{ name, detail }];
  });
  const bytes = Object.entries(headers).reduce((sum, [name, value]) => sum + name.length + value.length, 0);
  return bytes > MAX_BYTES ? [...issues, { name: null, detail: `must have at most ${MAX_BYTES} bytes` }] : issues;
}

function issueOf(name: string, value: string): string | null {
  if (!NAME.test(name)) return 'is not a header name';
  if (TAKEN.has(name) || name.startsWith('webhook-') || name.startsWith('content-')) {
    return 'is set by Millrace, or belongs to the connection';
  }
  return VALUE.test(value) ? null : 'must consist of visible ASCII characters, with spaces only between them';
}
