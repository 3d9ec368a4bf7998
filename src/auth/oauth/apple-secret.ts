/**
 * The client secret of Apple: a JWT signed for each request with the key that Apple issued (Apple, "Creating a client
 * secret"). Pure.
 */
import { sign } from 'node:crypto';
import type { Provider } from '../providers/provider.ts';

/** It is used at once; Apple allows six months. */
const LIFETIME_S = 300;

/**
 * @param audience the issuer of Apple's id tokens
 * @param now milliseconds since 1970
 */
export function appleSecret(
  { teamId, keyId, privateKey }: NonNullable<Provider['apple']>,
  clientId: string,
  audience: string,
  now: number,
): string {
  const seconds = Math.floor(now / 1_000);
  const claims = { iss: teamId, iat: seconds, exp: seconds + LIFETIME_S, aud: audience, sub: clientId };
  const text = `${encoded({ alg: 'ES256', kid: keyId })}.${encoded(claims)}`;
  // A signature in JWS is the two numbers, not their ASN.1 form (RFC 7518 section 3.4).
  const signature = sign('sha256', Buffer.from(text), { key: privateKey, dsaEncoding: 'ieee-p1363' });
  return `${text}.${signature.toString('base64url')}`;
}

function encoded(part: object): string {
  return Buffer.from(JSON.stringify(part)).toString('base64url');
}
