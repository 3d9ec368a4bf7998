/**
 * Which account a proved identity signs in to: the one that has it, or one that its first sign-in makes. Never one that
 * merely has the same address: whoever can set an address at a provider would get into that account. Not here: proving
 * (openid.ts), and joining an identity to an account (accounts/identities.ts).
 */
import { actorText } from '../../database/system-collection.ts';
import { MillraceError } from '../../kernel/errors.ts';
import type { Users } from '../accounts/users.ts';
import { identityId } from '../identity/provider-identity.ts';
import { registrationClosed } from '../identity/refusals.ts';
import type { User } from '../identity/user.ts';
import { mapClaims, missingClaim, rolesAfter } from '../providers/claims.ts';
import type { Provider } from '../providers/provider.ts';
import { type SessionOrigin, stampOf } from '../tokens/session.ts';
import type { ProvedUser } from './proved-user.ts';
import { answerRefused } from './provider-refusal.ts';

export interface ProviderAccountsParts {
  readonly users: Users;
  readonly registration: 'open' | 'closed';
  readonly now: () => number;
}

export class ProviderAccounts {
  readonly #parts: ProviderAccountsParts;

  constructor(parts: ProviderAccountsParts) {
    this.#parts = parts;
  }

  /**
   * The account that a proof signs in to, as the mapping leaves it.
   * @throws MillraceError `provider-account-refused`, `registration-closed`, `account-exists`, `sign-in-failed`
   */
  async enter(provider: Provider, proof: ProvedUser, origin: SessionOrigin): Promise<User> {
    const identity = admittedIdentity(provider, proof);
    const { users } = this.#parts;
    const known = await users.byIdentity(identity);
    if (known === null) return this.#make(provider, identity, proof, origin);
    if (known.disabled) throw accountDisabled();
    return provider.mapping.when === 'first' ? known : this.mapAgain(provider, known, proof, origin);
  }

  async #make(provider: Provider, identity: string, proof: ProvedUser, origin: SessionOrigin): Promise<User> {
    const { users, registration, now } = this.#parts;
    if (!(provider.register ?? registration === 'open')) throw registrationClosed();
    const mapped = mapClaims(provider, proof.claims);
    const roles = [...new Set([...provider.roles, ...mapped.roles])];
    try {
      return await users.create(
        {
          kind: 'user',
          email: proof.email?.address ?? null,
          emailVerified: proof.email?.verified ?? false,
          roles,
          claims: mapped.claims,
          profile: mapped.profile,
          identity: { id: identity, joinedAt: new Date(now()) },
        },
        { request: origin.request },
      );
    } catch (error) {
      if (!(error instanceof MillraceError)) throw error;
      // Another first sign-in of the same user may have been faster, here or in another process. The database names only
      // one of the values that both have: the address or the identity.
      const isTaken = error.code === 'identity-taken' || error.code === 'unique-violation';
      const faster = isTaken ? await users.byIdentity(identity) : null;
      if (faster !== null) return faster;
      throw error.code === 'unique-violation' ? addressTaken(provider, error) : error;
    }
  }

  /** Takes from claims again what the mapping says. Roles and claims of owners mean something else and are theirs to set. */
  async mapAgain(provider: Provider, user: User, { claims }: ProvedUser, origin: SessionOrigin): Promise<User> {
    const mapped = mapClaims(provider, claims);
    const own = { profile: { ...user.profile, ...mapped.profile } };
    const rights = { roles: rolesAfter(user.roles, mapped), claims: { ...user.claims, ...mapped.claims } };
    const change = user.kind === 'owner' ? own : { ...own, ...rights };
    const isSame = Object.entries(change).every(([name, value]) => same(value, Reflect.get(user, name)));
    if (isSame) return user;
    return this.#parts.users.change(user._id, change, stampOf(origin, actorText(user.kind, user._id)));
  }
}

/**
 * The id of a proved identity that the provider's restrictions let in.
 * @throws MillraceError `provider-account-refused`, `provider-answer-refused`
 */
export function admittedIdentity(provider: Provider, { subject, claims }: ProvedUser): string {
  const missing = missingClaim(provider, claims);
  if (missing !== null) {
    throw new MillraceError('provider-account-refused', `Your account at '${provider.name}' is not admitted here`, {
      hint: 'Ask the administrators of this server which accounts they admit',
      cause: new Error(`The claim '${missing}' has none of the required values`),
    });
  }
  const identity = identityId(provider.name, subject);
  if (identity === null) throw answerRefused(provider.name, 'the subject is empty or too long');
  return identity;
}

/** Told only after the provider has proved the user, so it may say more than the error of a wrong password does. */
export function accountDisabled(): MillraceError {
  return new MillraceError('sign-in-failed', 'The account cannot sign in', {
    hint: 'An administrator of this server disabled it',
  });
}

function addressTaken({ name }: Provider, cause: Error): MillraceError {
  return new MillraceError('account-exists', 'An account with this e-mail address exists already', {
    hint: `Sign in to it as you did before, and then join '${name}' to it (POST /auth/identities/${name})`,
    cause,
  });
}

function same(one: unknown, other: unknown): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}
