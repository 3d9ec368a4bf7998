/** What a provider proved of a user: the subject, the claims, the address. Pure. */
import type { Claims } from '../providers/claims.ts';
import type { ProviderTokens } from '../providers/kept-tokens.ts';

export interface ProvedUser {
  /** By what the provider knows the user, for ever. */
  readonly subject: string;
  readonly claims: Claims;
  readonly email: { readonly address: string; readonly verified: boolean } | null;
}

/** The same, and the tokens that it gave with it. */
export interface ProvedSignIn extends ProvedUser {
  readonly tokens: ProviderTokens;
}

/** Addresses as accounts have them (http/schema.ts). */
const ADDRESS = /^[^\s@<>,;:"]+@[^\s@<>,;:"]+$/u;
const MAX_ADDRESS = 254;

/** The address among claims (OpenID Connect Core 1.0 section 5.1). Apple writes `email_verified` as a text. */
export function emailOf(claims: Claims): ProvedUser['email'] {
  const { email: address, email_verified: verified } = claims;
  if (typeof address !== 'string' || address.length > MAX_ADDRESS || !ADDRESS.test(address)) return null;
  return { address, verified: verified === true || verified === 'true' };
}
