/** What a provider verified of a user: the subject, the claims, the e-mail address. Pure. */
import type { Claims } from '../providers/claims.ts';
import type { ProviderTokenSet } from '../providers/provider-tokens.ts';

export interface VerifiedIdentity {
  /** The permanent id of the user at the provider. */
  readonly subject: string;
  readonly claims: Claims;
  readonly email: { readonly address: string; readonly verified: boolean } | null;
}

/** The same, and the tokens that it issued with it. */
export interface VerifiedSignIn extends VerifiedIdentity {
  readonly tokens: ProviderTokenSet;
}

/** E-mail addresses in the form of users (http/request-schemas.ts). */
const ADDRESS = /^[^\s@<>,;:"]+@[^\s@<>,;:"]+$/u;
const MAX_ADDRESS = 254;

/** The e-mail address among claims (OpenID Connect Core 1.0 section 5.1). Apple writes `email_verified` as a string. */
export function readEmailClaim(claims: Claims): VerifiedIdentity['email'] {
  const { email: address, email_verified: verified } = claims;
  if (typeof address !== 'string' || address.length > MAX_ADDRESS || !ADDRESS.test(address)) return null;
  return { address, verified: verified === true || verified === 'true' };
}
