/**
 * The principal that reads a feed, kept current during a long wait: when sessions, roles or keys change, it is
 * authenticated again before anything more is shown. Not here: what the reader may see (visible-row.ts).
 */
import type { Authenticator } from '../../auth/authenticator.ts';
import type { ClientPrincipal } from '../../auth/identity/principal.ts';

export interface FeedReader {
  /** The principal as it is now. Throws or rejects with the authenticator's error when it is no longer valid. */
  now(): ClientPrincipal | Promise<ClientPrincipal>;
  end(): void;
}

/** @param credential the Authorization header; undefined for anonymous */
export function feedReader(
  authenticator: Pick<Authenticator, 'authenticate' | 'onRevoked'>,
  first: ClientPrincipal,
  credential: string | undefined,
): FeedReader {
  if (credential === undefined) return { now: () => first, end: () => undefined };
  let principal: ClientPrincipal | null = first;
  const end = authenticator.onRevoked((still) => {
    if (principal !== null && !still(principal)) principal = null;
  });
  const again = async (): Promise<ClientPrincipal> => {
    const found = await authenticator.authenticate(credential);
    principal = found;
    return found;
  };
  const ended = (): boolean => {
    if (principal === null) return true;
    return principal.kind !== 'anonymous' && principal.expiresAt !== null && principal.expiresAt <= Date.now();
  };
  return { now: () => (principal === null || ended() ? again() : principal), end };
}
