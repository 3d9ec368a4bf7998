/**
 * What the answers of a provider tell besides the claims of a verified id token, and whether those are enough. Pure. Not
 * here: verifying id tokens (openid.ts).
 */
import { hash } from 'node:crypto';
import type { Claims } from '../providers/claims.ts';
import type { Provider } from '../providers/provider.ts';

/** The left half of the hash of an access token, by the algorithm of the id token (OpenID Connect Core 3.1.3.6). */
export function halfHash(accessToken: string, idToken = ''): string {
  const header: unknown = JSON.parse(Buffer.from(idToken.split('.')[0] ?? '', 'base64url').toString());
  const algorithm = typeof header === 'object' && header !== null && 'alg' in header ? String(header.alg) : '';
  const bits = /\d{3}$/.exec(algorithm)?.[0] ?? '512';
  const hashed = hash(`sha${bits}`, accessToken, 'buffer');
  return hashed.subarray(0, hashed.length / 2).toString('base64url');
}

/** Whether claims are missing from the id token that the account, the mapping or the restrictions need. */
export function isThin({ scopes, mapping, require }: Provider, idToken: Claims): boolean {
  const wanted = [...Object.values(mapping.profile), ...Object.values(mapping.claims), ...require.keys()];
  if (mapping.roles !== null) wanted.push(mapping.roles.claim);
  if (scopes.includes('email')) wanted.push('email');
  return wanted.some((name) => !((name.startsWith('/') ? (name.split('/')[1] ?? '') : name) in idToken));
}

/** Apple tells the name in the first answer alone, in a field of the form, and not signed: it is a name to show, no more. */
export function appleName({ kind }: Provider, answer: URLSearchParams): { name?: string } {
  const text = answer.get('user');
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
