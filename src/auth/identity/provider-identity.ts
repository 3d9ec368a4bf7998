/**
 * The identity of a user at a provider: the provider's name and its subject for the user. A user may have one of each
 * provider, and no two users share one. Pure.
 */

/** Maximum length of a subject (OpenID Connect Core 1.0 section 2), in bytes. */
const MAX_SUBJECT_BYTES = 255;

export interface ProviderIdentity {
  /** `google:1234`: names of providers contain no colon. */
  readonly id: string;
  readonly linkedAt: Date;
}

/** @returns null for a subject that no provider may issue */
export function identityId(provider: string, subject: string): string | null {
  return subject === '' || Buffer.byteLength(subject) > MAX_SUBJECT_BYTES ? null : `${provider}:${subject}`;
}

/** The provider and the subject of an identity. */
export function parseIdentityId({ id }: Pick<ProviderIdentity, 'id'>): { provider: string; subject: string } {
  const colon = id.indexOf(':');
  return { provider: id.slice(0, colon), subject: id.slice(colon + 1) };
}
