/**
 * Checks, while a long answer or an upload is under way, whether the rights that it began with still hold. The end of a
 * token's own time does not count: work that began in time may finish. The end of a session, an account or a key does
 * count, and so does every change of what may be seen. Not here: feeds and live data, which continue with the new
 * rights.
 */
import { isDeepStrictEqual } from 'node:util';
import type { Authenticator } from '../../auth/authenticator.ts';
import type { Principal } from '../../auth/identity/principal.ts';
import { MillraceError } from '../../kernel/errors.ts';
import type { Policies } from '../policies.ts';
import type { Scope } from '../scope.ts';
import type { LookingAs, Viewing } from './looking-as.ts';
import { sameRights } from './same-rights.ts';

export interface RightsParts {
  readonly authenticator: Pick<Authenticator, 'onRevoked' | 'present' | 'recall'>;
  readonly policies: Policies;
  readonly lookingAs: Pick<LookingAs, 'principal'>;
}

type Scopes = readonly (Scope | null)[];

/** The rights with which an answer or an upload began. */
export interface Grants extends Viewing {
  /** The header that proved who asks; undefined for an anonymous one. */
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
  /** True if the account, session or key of who asks or is answered may have changed since it was read. */
  #doubtful: boolean;

  constructor(parts: RightsParts, grants: Grants) {
    const { principal, asker, as, authorization } = grants;
    this.#parts = parts;
    this.#grants = grants;
    this.#generation = grants.generation;
    this.#forget = parts.authenticator.onRevoked((still) => {
      this.#doubtful ||= !still(asker) || !still(principal);
    });
    // One of them may have been revoked after it was read and before this watch began.
    const recalled = authorization === undefined ? undefined : parts.authenticator.recall(authorization);
    this.#doubtful = as !== null || (asker.kind !== 'anonymous' && recalled !== asker);
  }

  /**
   * Checks whether the rights hold; returns without waiting while nothing has changed.
   * @throws MillraceError `policy-revoked`, `not-authenticated`, `forbidden`, `invalid-credential`, at once or as a
   *   rejection
   */
  check(): void | Promise<void> {
    const otherPolicies = this.#parts.policies.generation !== this.#generation;
    // Policies may say, too, who may look as others.
    if (this.#doubtful || (otherPolicies && this.#grants.as !== null)) return this.#renew();
    if (otherPolicies) this.#compare(this.#grants.principal);
  }

  /** Ends the watch. */
  end(): void {
    this.#forget();
  }

  async #renew(): Promise<void> {
    const { principal, asker, as } = this.#grants;
    const { authenticator, lookingAs } = this.#parts;
    // Cleared before the principals are read: a change during the reading sets it again.
    this.#doubtful = false;
    try {
      const asking = asker.kind === 'anonymous' ? asker : await authenticator.present(asker);
      const now = as === null ? asking : await lookingAs.principal(asking, as);
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
    if (!scopes.every((scope, index) => sameRights(scope, now[index] ?? null))) {
      throw new MillraceError('policy-revoked', 'Your rights changed during the request', {
        hint: 'Send the request again',
      });
    }
    this.#generation = generation;
  }
}
