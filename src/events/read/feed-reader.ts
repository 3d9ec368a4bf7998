/**
 * The principal that reads a feed, kept current during a long wait: when sessions, roles or keys change, it is
 * authenticated again before anything more is shown. For an owner who looks as another principal, both are kept current.
 * Not here: what the reader may see (visible-row.ts).
 */
import type { Authenticator } from '../../auth/authenticator.ts';
import type { ClientPrincipal } from '../../auth/identity/principal.ts';
import type { LookingAs, Viewing } from '../../policies/standing/looking-as.ts';

export interface FeedReader {
  /** The principal as it is now. Throws or rejects with the authenticator's error when it is no longer valid. */
  now(): ClientPrincipal | Promise<ClientPrincipal>;
  end(): void;
}

export interface FeedReaderParts {
  readonly authenticator: Pick<Authenticator, 'authenticate' | 'onRevoked'>;
  readonly lookingAs: Pick<LookingAs, 'require' | 'principal'>;
}

/** @param credential the Authorization header; undefined for anonymous */
export function feedReader(
  { authenticator, lookingAs }: FeedReaderParts,
  first: Viewing,
  credential: string | undefined,
): FeedReader {
  const { as } = first;
  if (credential === undefined && as === null) return { now: () => first.principal, end: () => undefined };
  let { principal, asker } = first;
  // Whom an owner looks as was read before this watch began.
  let doubtful = as !== null;
  const end = authenticator.onRevoked((still) => {
    doubtful ||= !still(principal) || !still(asker);
  });
  const again = async (): Promise<ClientPrincipal> => {
    do {
      doubtful = false;
      try {
        if (credential !== undefined) asker = await authenticator.authenticate(credential);
        principal = as === null ? asker : await lookingAs.principal(asker, as);
      } catch (error) {
        doubtful = true;
        throw error;
      }
    } while (doubtful);
    return principal;
  };
  return {
    now: () => {
      if (doubtful || hasEnded(principal) || hasEnded(asker)) return again();
      // Policies may say who may look as others, and they change during the wait.
      if (as !== null) lookingAs.require(asker);
      return principal;
    },
    end,
  };
}

function hasEnded(principal: ClientPrincipal): boolean {
  return principal.kind !== 'anonymous' && principal.expiresAt !== null && principal.expiresAt <= Date.now();
}
