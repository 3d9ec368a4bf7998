/**
 * The principal that reads a feed, kept current during a long wait: when sessions, roles or keys change, it is
 * authenticated again before anything more is sent. During impersonation, both principals are kept current.
 */
import type { Authenticator } from '../../auth/authenticator.ts';
import type { RequestPrincipal } from '../../auth/identity/principal.ts';
import type { ImpersonationService, RequestPrincipals } from '../../policies/impersonation.ts';

export interface FeedPrincipal {
  /** The current principal. Throws or rejects with the authenticator's error if it is no longer valid. */
  currentPrincipal(): RequestPrincipal | Promise<RequestPrincipal>;
  end(): void;
}

export interface FeedPrincipalDeps {
  readonly authenticator: Pick<Authenticator, 'authenticate' | 'onRevoked'>;
  readonly impersonation: Pick<ImpersonationService, 'require' | 'principal'>;
}

/** @param credential the Authorization header; undefined for anonymous */
export function trackFeedPrincipal(
  { authenticator, impersonation }: FeedPrincipalDeps,
  first: RequestPrincipals,
  credential: string | undefined,
): FeedPrincipal {
  const { as } = first;
  if (credential === undefined && as === null) return { currentPrincipal: () => first.principal, end: () => undefined };
  let { principal, asker } = first;
  // The impersonated principal was read before this watch began.
  let doubtful = as !== null;
  const end = authenticator.onRevoked((still) => {
    doubtful ||= !still(principal) || !still(asker);
  });
  const again = async (): Promise<RequestPrincipal> => {
    do {
      doubtful = false;
      try {
        if (credential !== undefined) asker = await authenticator.authenticate(credential);
        principal = as === null ? asker : await impersonation.principal(asker, as);
      } catch (error) {
        doubtful = true;
        throw error;
      }
    } while (doubtful);
    return principal;
  };
  return {
    currentPrincipal: () => {
      if (doubtful || hasEnded(principal) || hasEnded(asker)) return again();
      // Policies may decide who can impersonate, and they change during the wait.
      if (as !== null) impersonation.require(asker);
      return principal;
    },
    end,
  };
}

function hasEnded(principal: RequestPrincipal): boolean {
  return principal.kind !== 'anonymous' && principal.expiresAt !== null && principal.expiresAt <= Date.now();
}
