/** The `Prefer` request header (RFC 7240), reduced to the preferences that Millrace supports. Pure. */

export interface Preferences {
  /** What the response to a write contains. */
  readonly return: 'minimal' | 'representation' | undefined;
  /** How many documents a write by filter may affect. */
  readonly maxAffected: number | undefined;
}

/** Parses the header; unknown preferences are ignored (RFC 7240 section 2). */
export function parsePrefer(header: string | readonly string[] | undefined): Preferences {
  if (header === undefined) return { return: undefined, maxAffected: undefined };
  const text = typeof header === 'string' ? header : header.join(',');
  const requested = new Map<string, string>();
  for (const preference of text.split(',')) {
    const [name = '', value = ''] = (preference.split(';')[0] ?? '').split('=');
    const key = name.trim().toLowerCase();
    // RFC 7240 section 2: of a repeated preference only the first counts.
    if (!requested.has(key)) requested.set(key, value.trim().replace(/^"(.*)"$/, '$1'));
  }
  const form = requested.get('return');
  const affected = requested.get('max-affected') ?? '';
  return {
    return: form === 'minimal' || form === 'representation' ? form : undefined,
    maxAffected: /^\d{1,9}$/.test(affected) ? Number(affected) : undefined,
  };
}
