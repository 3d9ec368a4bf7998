/**
 * The user that a verified identity signs in to: the one that has it, or a new one. Never one that merely has the same
 * e-mail address: an attacker who can set an address at a provider would get into that user.
 */
import { actorText } from '../../database/system-collection.ts';
import { MillraceError } from '../../lib/errors.ts';
import { registrationClosed } from '../identity/auth-errors.ts';
import { identityId } from '../identity/provider-identity.ts';
import type { User } from '../identity/user.ts';
import { findMissingClaim, mapClaims, mergeMappedRoles } from '../providers/claims.ts';
import type { Provider } from '../providers/provider.ts';
import { changeStampFromOrigin, type SessionOrigin } from '../sessions/session.ts';
import type { Users } from '../users/users.ts';
import { providerResponseInvalid } from './provider-errors.ts';
import type { VerifiedIdentity } from './verified-identity.ts';

export interface ProviderUsersDeps {
  readonly users: Users;
  readonly registration: 'open' | 'closed';
  readonly now: () => number;
}

export class ProviderUsers {
  readonly #deps: ProviderUsersDeps;

  constructor(deps: ProviderUsersDeps) {
    this.#deps = deps;
  }

  /**
   * The account that a proof signs in to, as the mapping leaves it.
   * @throws MillraceError `provider-account-not-allowed`, `registration-closed`, `email-taken`, `invalid-credentials`
   */
  async findOrCreateUser(provider: Provider, proof: VerifiedIdentity, origin: SessionOrigin): Promise<User> {
    const identity = requireAllowedIdentity(provider, proof);
    const { users } = this.#deps;
    const known = await users.byIdentity(identity);
    if (known === null) return this.#make(provider, identity, proof, origin);
    if (known.disabled) throw userDisabled();
    return provider.mapping.when === 'first' ? known : this.reapplyMapping(provider, known, proof, origin);
  }

  async #make(provider: Provider, identity: string, proof: VerifiedIdentity, origin: SessionOrigin): Promise<User> {
    const { users, registration, now } = this.#deps;
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
          identity: { id: identity, linkedAt: new Date(now()) },
        },
        { request: origin.request },
      );
    } catch (error) {
      if (!(error instanceof MillraceError)) throw error;
      // Another first sign-in of the same user may have been faster, here or in another process. The database reports
      // only one of the values that both have: the e-mail address or the identity.
      const isTaken = error.code === 'identity-taken' || error.code === 'email-taken';
      const faster = isTaken ? await users.byIdentity(identity) : null;
      if (faster !== null) return faster;
      throw error.code === 'email-taken' ? emailTaken(provider, error) : error;
    }
  }

  /**
   * Applies the mapping to claims again. Roles and claims of administrators mean something else, and only
   * administrators set them.
   */
  async reapplyMapping(
    provider: Provider,
    user: User,
    { claims }: VerifiedIdentity,
    origin: SessionOrigin,
  ): Promise<User> {
    const mapped = mapClaims(provider, claims);
    const own = { profile: { ...user.profile, ...mapped.profile } };
    const rights = { roles: mergeMappedRoles(user.roles, mapped), claims: { ...user.claims, ...mapped.claims } };
    const change = user.kind === 'admin' ? own : { ...own, ...rights };
    const isSame = Object.entries(change).every(([name, value]) => same(value, Reflect.get(user, name)));
    if (isSame) return user;
    return this.#deps.users.change(user._id, change, changeStampFromOrigin(origin, actorText(user.kind, user._id)));
  }
}

/**
 * The id of a proved identity that the provider's restrictions let in.
 * @throws MillraceError `provider-account-not-allowed`, `provider-response-invalid`
 */
export function requireAllowedIdentity(provider: Provider, { subject, claims }: VerifiedIdentity): string {
  const missing = findMissingClaim(provider, claims);
  if (missing !== null) {
    throw new MillraceError(
      'provider-account-not-allowed',
      `Your account at '${provider.name}' is not allowed to sign in here`,
      {
        hint: 'Contact the administrators of this server',
        cause: new Error(`The claim '${missing}' has none of the required values`),
      },
    );
  }
  const identity = identityId(provider.name, subject);
  if (identity === null) throw providerResponseInvalid(provider.name, 'the subject is empty or too long');
  return identity;
}

/** The provider has already authenticated the user, so this may say more than the error of a wrong password. */
export function userDisabled(): MillraceError {
  return new MillraceError('invalid-credentials', 'The user cannot sign in', {
    hint: 'An administrator of this server disabled it',
  });
}

function emailTaken({ name }: Provider, cause: Error): MillraceError {
  return new MillraceError('email-taken', 'Another user has this e-mail address', {
    hint: `Sign in with your existing method, and then link '${name}' (POST /auth/identities/${name})`,
    cause,
  });
}

function same(one: unknown, other: unknown): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}
