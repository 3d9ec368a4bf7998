/** Claims of a provider besides those of a verified id token, and whether those are sufficient. Pure. */
import { hash } from 'node:crypto';
import type { Claims } from '../providers/claims.ts';
import type { Provider } from '../providers/provider.ts';

/** The left half of the hash of an access token, by the algorithm of the id token (OpenID Connect Core 3.1.3.6). */
export function accessTokenHash(accessToken: string, idToken = ''): string {
  const header: unknown = JSON.parse(Buffer.from(idToken.split('.')[0] ?? '', 'base64url').toString());
  const algorithm = typeof header === 'object' && header !== null && 'alg' in header ? String(header.alg) : '';
  const bits = /\d{3}$/.exec(algorithm)?.[0] ?? '512';
  const hashed = hash(`sha${bits}`, accessToken, 'buffer');
  return hashed.subarray(0, hashed.length / 2).toString('base64url');
}

/** Whether the id token lacks claims that the user, the mapping or the restrictions need. */
export function idTokenLacksClaims({ scopes, mapping, require }: Provider, idToken: Claims): boolean {
  const requested = [...Object.values(mapping.profile), ...Object.values(mapping.claims), ...require.keys()];
  if (mapping.roles !== null) requested.push(mapping.roles.claim);
  if (scopes.includes('email')) requested.push('email');
  return requested.some((name) => !((name.startsWith('/') ? (name.split('/')[1] ?? '') : name) in idToken));
}

/** Apple sends the name only in the first response, in a field of the form, unsigned: it is for display only. */
export function appleName({ kind }: Provider, response: URLSearchParams): { name?: string } {
  const text = response.get('user');
  if (kind !== 'apple' || text === null) return {};
  try {
    const { name }: { name?: unknown } = JSON.parse(text);
    if (typeof name !== 'object' || name === null) return {};
    const parts = ['firstName', 'lastName'].flatMap((part) => {
      const value: unknown = Reflect.get(name, part);
      return typeof value === 'string' && value !== '' ? [value] : [];
    });
    return parts.length === 0 ? {} : { name: parts.join(' ') };
  } catch {
    return {};
  }
}
