/**
 * The `Prefer` request header (RFC 7240), reduced to the preferences that Millrace honours. Pure.
 */

export interface Preferences {
  /** What the answer to a write carries. */
  readonly return: 'minimal' | 'representation' | undefined;
  /** How many documents a write by filter may touch. */
  readonly maxAffected: number | undefined;
}

/** Reads the header; as RFC 7240 section 2 asks, what is not understood is passed over. */
export function parsePrefer(header: string | readonly string[] | undefined): Preferences {
  if (header === undefined) return { return: undefined, maxAffected: undefined };
  const text = typeof header === 'string' ? header : header.join(',');
  const wanted = new Map<string, string>();
  for (const preference of text.split(',')) {
    const [name = '', value = ''] = (preference.split(';')[0] ?? '').split('=');
    const key = name.trim().toLowerCase();
    // RFC 7240 section 2: of a repeated preference only the first counts.
    if (!wanted.has(key)) wanted.set(key, value.trim().replace(/^"(.*)"$/, '$1'));
  }
  const form = wanted.get('return');
  const affected = wanted.get('max-affected') ?? '';
  return {
    return: form === 'minimal' || form === 'representation' ? form : undefined,
    maxAffected: /^\d{1,9}$/.test(affected) ? Number(affected) : undefined,
  };
}
