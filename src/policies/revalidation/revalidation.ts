/**
 * Checks, during a streamed response or an upload, whether the rights that it began with still hold. Expiry of the
 * token does not count: work that began in time may finish. The end of a session, a user or a key does count, and so
 * does every change of what may be read.
 */
import { isDeepStrictEqual } from 'node:util';
import type { Authenticator } from '../../auth/authenticator.ts';
import type { Principal } from '../../auth/identity/principal.ts';
import { MillraceError } from '../../lib/errors.ts';
import type { ImpersonationService, RequestPrincipals } from '../impersonation.ts';
import type { Policies } from '../policies.ts';
import type { Scope } from '../scope.ts';
import { sameRights } from './same-rights.ts';

export interface RevalidationDeps {
  readonly authenticator: Pick<Authenticator, 'onRevoked' | 'refreshIgnoringExpiry' | 'getCached'>;
  readonly policies: Policies;
  readonly impersonation: Pick<ImpersonationService, 'principal'>;
}

type Scopes = readonly (Scope | null)[];

/** The rights with which a response or an upload began. */
export interface RightsAtRequestStart extends RequestPrincipals {
  /** The header that authenticated the client; undefined for an anonymous one. */
  readonly authorization: string | undefined;
  /** `Policies.generation` before the Scopes were requested. */
  readonly generation: number;
  readonly scopes: Scopes;
  /** Requests the same Scopes again; it may throw as `Policies.scope` does. */
  readonly renewScopes: (principal: Principal) => Scopes;
}

export class RightsRevalidation {
  readonly #deps: RevalidationDeps;
  readonly #grants: RightsAtRequestStart;
  readonly #forget: () => void;
  /** `Policies.generation` when the Scopes were last compared. */
  #generation: number;
  /**
   * True if the user, session or key of the authenticated or effective principal may have changed since it was read.
   */
  #doubtful: boolean;

  constructor(deps: RevalidationDeps, grants: RightsAtRequestStart) {
    const { principal, asker, as, authorization } = grants;
    this.#deps = deps;
    this.#grants = grants;
    this.#generation = grants.generation;
    this.#forget = deps.authenticator.onRevoked((still) => {
      this.#doubtful ||= !still(asker) || !still(principal);
    });
    // One of them may have been revoked after it was read and before this watch began.
    const recalled = authorization === undefined ? undefined : deps.authenticator.getCached(authorization);
    this.#doubtful = as !== null || (asker.kind !== 'anonymous' && recalled !== asker);
  }

  /**
   * Checks whether the rights hold; returns synchronously while nothing has changed.
   * @throws MillraceError `policy-revoked`, `not-authenticated`, `forbidden`, `invalid-token`, at once or as a
   * rejection
   */
  check(): void | Promise<void> {
    const otherPolicies = this.#deps.policies.generation !== this.#generation;
    // Policies may also decide who may impersonate others.
    if (this.#doubtful || (otherPolicies && this.#grants.as !== null)) return this.#renew();
    if (otherPolicies) this.#compare(this.#grants.principal);
  }

  /** Ends the watch. */
  end(): void {
    this.#forget();
  }

  async #renew(): Promise<void> {
    const { principal, asker, as } = this.#grants;
    const { authenticator, impersonation } = this.#deps;
    // Cleared before the principals are read: a change during the reading sets it again.
    this.#doubtful = false;
    try {
      const requesting = asker.kind === 'anonymous' ? asker : await authenticator.refreshIgnoringExpiry(asker);
      const now = as === null ? requesting : await impersonation.principal(requesting, as);
      const otherPolicies = this.#deps.policies.generation !== this.#generation;
      if (otherPolicies || !isDeepStrictEqual({ ...now }, { ...principal })) this.#compare(now);
    } catch (error) {
      this.#doubtful = true;
      throw error;
    }
  }

  #compare(principal: Principal): void {
    const { generation } = this.#deps.policies;
    const { scopes, renewScopes } = this.#grants;
    const now = renewScopes(principal);
    if (!scopes.every((scope, index) => sameRights(scope, now[index] ?? null))) {
      throw new MillraceError('policy-revoked', 'Your rights changed during the request', {
        hint: 'Send the request again',
      });
    }
    this.#generation = generation;
  }
}
