/**
 * Whether what was granted when a long answer or an upload began still holds: asked again while it is under way. That a
 * token's own time ends does not count, since what was begun in time may end; the end of a session, an account or a key
 * does, and every change of what may be seen. Not here: feeds and live data, which go on with the new rights.
 */
import { isDeepStrictEqual } from 'node:util';
import type { Authenticator } from '../../auth/authenticator.ts';
import type { Principal } from '../../auth/identity/principal.ts';
import { MillraceError } from '../../kernel/errors.ts';
import type { Policies } from '../policies.ts';
import type { Scope } from '../scope.ts';

export interface RightsParts {
  readonly authenticator: Pick<Authenticator, 'onRevoked' | 'present' | 'recall'>;
  readonly policies: Policies;
}

type Scopes = readonly (Scope | null)[];

/** What was granted when it began. */
export interface Grants {
  readonly principal: Principal;
  /** The header that proved the principal; undefined for a stranger. */
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
  /** The policies under which the Scopes were compared last. */
  #generation: number;
  /** Whether something that the principal rests on may have changed since it was read. */
  #doubtful: boolean;

  constructor(parts: RightsParts, grants: Grants) {
    const { principal, authorization } = grants;
    this.#parts = parts;
    this.#grants = grants;
    this.#generation = grants.generation;
    this.#forget = parts.authenticator.onRevoked((still) => {
      this.#doubtful ||= !still(principal);
    });
    // It may have ended between its proof and now.
    const recalled = authorization === undefined ? undefined : parts.authenticator.recall(authorization);
    this.#doubtful = principal.kind !== 'anonymous' && recalled !== principal;
  }

  /**
   * Asks whether the rights hold; it answers at once while nothing has changed.
   * @throws MillraceError `policy-revoked`, `not-authenticated`, `forbidden`, `invalid-credential`, at once or as a rejection
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
    // Set before it is read: a change that comes meanwhile makes it doubtful again.
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
      throw new MillraceError('policy-revoked', 'What may be seen or done here changed meanwhile', {
        hint: 'Send the request again',
      });
    }
    this.#generation = generation;
  }
}

/** Whether two Scopes reach, show and set the same, by whatever policies. */
function same(a: Scope | null, b: Scope | null): boolean {
  if (a === null || b === null) return a === b;
  return isDeepStrictEqual(rightsOf(a), rightsOf(b)) && same(a.reader, b.reader);
}

function rightsOf({ grants, denied }: Scope): object {
  return { denied, grants: grants.map(({ filter, read, write, set }) => ({ filter, read, write, set })) };
}
