/**
 * The identity of an account at a provider: the provider's name and the subject that it knows the user by. An account
 * may have one of each provider, and no two accounts share one. Pure. Not here: how a provider proves an identity.
 */

/** Longest subject (OpenID Connect Core 1.0 section 2), in bytes. */
const MAX_SUBJECT_BYTES = 255;

export interface ProviderIdentity {
  /** `google:1234`: names of providers hold no colon. */
  readonly id: string;
  readonly joinedAt: Date;
}

/** @returns null for a subject that no provider may give */
export function identityId(provider: string, subject: string): string | null {
  return subject === '' || Buffer.byteLength(subject) > MAX_SUBJECT_BYTES ? null : `${provider}:${subject}`;
}

/** The provider and the subject of an identity. */
export function identityParts({ id }: Pick<ProviderIdentity, 'id'>): { provider: string; subject: string } {
  const colon = id.indexOf(':');
  return { provider: id.slice(0, colon), subject: id.slice(colon + 1) };
}
