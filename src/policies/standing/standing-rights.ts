/**
 * Checks, while a long answer or an upload is under way, whether the rights that it began with still hold. The end of a
 * token's own time does not count: work that began in time may finish. The end of a session, an account or a key does
 * count, and so does every change of what may be seen. Not here: feeds and live data, which continue with the new
 * rights.
 */
import { isDeepStrictEqual } from 'node:util';
import type { Authenticator } from '../../auth/authenticator.ts';
import type { ClientPrincipal, Principal } from '../../auth/identity/principal.ts';
import { MillraceError } from '../../kernel/errors.ts';
import type { Policies } from '../policies.ts';
import type { Scope } from '../scope.ts';

export interface RightsParts {
  readonly authenticator: Pick<Authenticator, 'onRevoked' | 'present' | 'recall'>;
  readonly policies: Policies;
}

type Scopes = readonly (Scope | null)[];

/** The rights with which an answer or an upload began. */
export interface Grants {
  readonly principal: ClientPrincipal;
  /** The header that proved the principal; undefined for an anonymous one. */
  readonly authorization: string | undefined;
  /** `Policies.generation` before the Scopes were asked for. */
  readonly generation: number;
  readonly scopes: Scopes;
  /** Asks for the same Scopes again; it may throw as `Policies.scope` does. */
  readonly again: (principal: Principal) => Scopes;
}

export class StandingRights {
  readonly #parts: RightsParts;
  readonly #grants: Grants;
  readonly #forget: () => void;
  /** `Policies.generation` when the Scopes were last compared. */
  #generation: number;
  /** True if the account, session or key of the principal may have changed since it was read. */
  #doubtful: boolean;

  constructor(parts: RightsParts, grants: Grants) {
    const { principal, authorization } = grants;
    this.#parts = parts;
    this.#grants = grants;
    this.#generation = grants.generation;
    this.#forget = parts.authenticator.onRevoked((still) => {
      this.#doubtful ||= !still(principal);
    });
    // The principal may have been revoked after its credential was verified and before this watch began.
    const recalled = authorization === undefined ? undefined : parts.authenticator.recall(authorization);
    this.#doubtful = principal.kind !== 'anonymous' && recalled !== principal;
  }

  /**
   * Checks whether the rights hold; returns without waiting while nothing has changed.
   * @throws MillraceError `policy-revoked`, `not-authenticated`, `forbidden`, `invalid-credential`, at once or as a
   *   rejection
   */
  check(): void | Promise<void> {
    if (this.#doubtful) return this.#renew();
    if (this.#parts.policies.generation !== this.#generation) this.#compare(this.#grants.principal);
  }

  /** Ends the watch. */
  end(): void {
    this.#forget();
  }

  async #renew(): Promise<void> {
    const { principal } = this.#grants;
    if (principal.kind === 'anonymous') return;
    // Cleared before the principal is read: a change during the reading sets it again.
    this.#doubtful = false;
    try {
      const now = await this.#parts.authenticator.present(principal);
      const otherPolicies = this.#parts.policies.generation !== this.#generation;
      if (otherPolicies || !isDeepStrictEqual({ ...now }, { ...principal })) this.#compare(now);
    } catch (error) {
      this.#doubtful = true;
      throw error;
    }
  }

  #compare(principal: Principal): void {
    const { generation } = this.#parts.policies;
    const { scopes, again } = this.#grants;
    const now = again(principal);
    if (!scopes.every((scope, index) => same(scope, now[index] ?? null))) {
      throw new MillraceError('policy-revoked', 'Your rights changed during the request', {
        hint: 'Send the request again',
      });
    }
    this.#generation = generation;
  }
}

/** True if two Scopes reach, show and set the same, whichever policies grant it. */
function same(a: Scope | null, b: Scope | null): boolean {
  if (a === null || b === null) return a === b;
  return isDeepStrictEqual(rightsOf(a), rightsOf(b)) && same(a.reader, b.reader);
}

function rightsOf({ grants, denied }: Scope): object {
  return { denied, grants: grants.map(({ filter, read, write, set }) => ({ filter, read, write, set })) };
}
